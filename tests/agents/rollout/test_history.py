"""History windows: hand-made prompts, rows of merged turns, and the same answers with a cache and without."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from families import policy, template
from hypothesis import given, settings
from hypothesis import strategies as st
from prompted_turns import assert_learnt_once, episode_of

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.rollout.memory import memory_line
from rlanything_agents.rollout.renderer import Renderer, Turn
from rlanything_agents.rollout.rollout import rollout
from rlanything_agents.rollout.trajectory import PromptedTurn, Step
from rlanything_agents.training.samples import trajectory_samples
from rlanything_envs.llm.generator import Completion, SamplingParams
from rlanything_envs.views import get_view

ALFWORLD = "RLAnything/AlfWorld-v0"
FULL, SHORT = get_view(ALFWORLD, "full"), get_view(ALFWORLD, "short")
ROOM = "You see a cabinet 1, and a fridge 1.\n\nYour task is to: cool some apple."
STEPS = [
    Step("The cabinet may hold it.", "go to cabinet 1", "You arrive at cabinet 1. The cabinet 1 is closed.", "ok"),
    Step("Open it.", "open cabinet 1", "You open the cabinet 1. In it, you see nothing.\nIt smells.", "ok"),
    Step("Hm.", "what about the fridge?", "Nothing happens.", "unreadable"),
    Step("The fridge.", "go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed.", "ok"),
]


def renderer(name: str = "qwen2.5", history: int | None = None, thinking: str | None = None, **more: int) -> Renderer:
    config = CheckpointConfig.model_validate(
        {"checkpoint": name, "thinking": thinking, "max_tokens": 12, "context": 4096, **more}
    )
    return Renderer(template(name, thinking), SHORT if name == "small" else FULL, config, history)


def turns(made: Renderer, steps: Sequence[Step], thought: str = "") -> list[Turn]:
    return [([*made.template.encode(f"{thought}Action: {step.action}"), made.end_id], step) for step in steps]


def text(made: Renderer, ids: Sequence[int]) -> str:
    return str(made.template.tokenizer.decode(ids))


def test_a_prompt_by_hand() -> None:
    made = renderer(history=1)
    shown = text(made, made.prompt(ROOM, turns(made, STEPS)))
    assert shown == (
        "<|im_start|>system\nAnswer as an assistant does.<|im_end|>\n<|im_start|>user\n"
        f"{FULL.manual}\n\n{ROOM}\n\n"
        "Your earlier turns in short:\n"
        "1. go to cabinet 1: You arrive at cabinet 1. The cabinet 1 is closed.\n"
        "2. open cabinet 1: You open the cabinet 1. In it, you see nothing.\n"
        "3. (unreadable): Nothing happens.\n\n"
        "The message after them:\nNothing happens.<|im_end|>\n"
        "<|im_start|>assistant\nAction: go to fridge 1<|im_end|>\n"
        "<|im_start|>user\nYou arrive at fridge 1. The fridge 1 is closed.<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("history", [0, 1, 2, 3, 7])
def test_a_window_that_holds_all_turns_is_the_transcript(history: int) -> None:
    whole, made = renderer(), renderer(history=history)
    for number in range(len(STEPS) + 1):
        past = turns(made, STEPS[:number])
        same = made.prompt(ROOM, past) == whole.prompt(ROOM, past)
        assert same == (number <= history), number
        shown = text(made, made.prompt(ROOM, past))
        assert shown.count("Action: ") - FULL.manual.count("Action: ") == min(history, number)
        assert shown.count("cool some apple") == 1
        assert ("in short" in shown) == (number > history)


@pytest.mark.parametrize("thinking", ["keep", "strip"])
def test_memory_and_stripped_turns_hold_no_thoughts(thinking: str) -> None:
    made = renderer("qwen3", 2, thinking)
    shown = text(made, made.prompt(ROOM, turns(made, STEPS, "<think>Secret.</think>\n")))
    assert shown.count("Secret") == (2 if thinking == "keep" else 0)
    for step in STEPS:
        assert step.thought not in shown
    assert STEPS[2].action not in shown or thinking == "keep" or "(unreadable)" not in shown
    assert "2. open cabinet 1: You open" in shown
    assert "Action: go to fridge 1" in shown


def test_a_small_model_reads_words_that_it_knows() -> None:
    made = renderer("small", 1)
    steps = [
        Step("find apple", "go to cabinet 2", "closed", "ok"),
        Step("find apple", "open cabinet 2", "cup 1", "ok"),
        Step("", "cup <unk> <user> gibberish", "nothing", "unreadable"),
        Step("find apple", "go to gibberish <end> 2", "nothing", "impossible"),
        Step("find apple", "go to fridge 1", "closed", "ok"),
    ]
    answers = [(made.answer(step.thought, step.action) if step.command == "ok" else [4], step) for step in steps]
    shown = text(made, made.prompt("cool some apple room cabinet 2", answers))
    assert " ".join(shown.split()) == (
        "<user> cool some apple room cabinet 2 go to cabinet 2 closed open cabinet 2 cup 1 nothing "
        "go to 2 nothing nothing <answer> find apple go to fridge 1 <end> <user> closed <answer>"
    )


def test_lines_of_memory_are_short() -> None:
    long = Step("", "take " + "apple " * 99, "You " + "see a cup " * 99 + "\nand more", "ok")
    words = template("small").tokenizer
    assert len(memory_line(FULL, words, long)) == 202
    assert memory_line(SHORT, words, long) == "take" + " apple" * 23 + ":" + " a cup" * 5
    coding, desktop = get_view("RLAnything/Coding-v0", "full"), get_view("RLAnything/OSWorld-v0", "full")
    tested = Step("", "I guess.\nTEST\n```python\nprint(1)\n```", "TEST: 1 of 2 samples accepted.\nSample 1", "ok")
    assert memory_line(coding, words, tested) == "TEST: 1 of 2 samples accepted."
    pressed = Step("", "First this:\n```python\npyautogui.press('a')\n```\nDone soon.", "Screen:\n1 button", "ok")
    assert memory_line(desktop, words, pressed) == "pyautogui.press('a')"


def test_a_window_is_cut_to_what_fits_the_context() -> None:
    past = turns(renderer(history=8), STEPS * 6)
    wanted, least = (len(renderer(history=8, context=room).prompt(ROOM, past)) + 12 for room in (4096, 13))
    seen = []
    for context in (*range(wanted, least, -41), least):
        made = renderer(history=8, context=context)
        prompt = made.prompt(ROOM, past)
        assert len(prompt) + made.limit <= context
        shown = text(made, prompt)
        assert ROOM in shown
        assert shown.endswith("You arrive at fridge 1. The fridge 1 is closed.<|im_end|>\n<|im_start|>assistant\n")
        full = shown.count("<|im_start|>assistant\n") - 1
        lines = sum(line.partition(".")[0].isdigit() for line in shown.splitlines())
        seen += [] if seen[-1:] == [(full, lines)] else [(full, lines)]
        assert (f"({24 - full - lines} of your first turns are left out here.)" in shown) == (full + lines < 24)
    assert seen[0] == (8, 16)
    assert seen[-1] == (0, 0)
    assert set(seen) <= {(8, 16), (4, 20), (2, 22), (1, 23), (0, 24), (0, 12), (0, 6), (0, 3), (0, 1), (0, 0)}
    assert seen == sorted(seen, reverse=True)


@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_what_is_learnt_is_what_was_sampled_whatever_the_window(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["small", "qwen2.5", "qwen3"]))
    thinking = None if name == "small" else data.draw(st.sampled_from([None, "keep", "strip"]))
    made = renderer(name, data.draw(st.one_of(st.none(), st.integers(0, 4))), thinking)
    ids = st.lists(st.integers(5, 120), min_size=1, max_size=6)
    room, last = ("cool some apple", "nothing") if name == "small" else (ROOM, "Nothing happens.\nTurns left: 2.")
    messages = st.sampled_from(["closed", "cup 1", last])
    played: list[PromptedTurn] = []
    past: list[Turn] = []
    for _ in range(data.draw(st.integers(1, 7))):
        prompt, answer = made.prompt(room, past), data.draw(ids)
        assert not past or not made.appends or prompt[: len(played[-1].prompt_ids)] == played[-1].prompt_ids
        played.append(PromptedTurn(prompt, answer, [-1.0] * len(answer)))
        past.append(([*answer, made.end_id], Step("", *made.read(answer)[1:], data.draw(messages))))
    samples = trajectory_samples(episode_of(*played), [1.0 + number for number in range(len(played))])
    assert_learnt_once(samples, played)
    assert len(samples) == 1 or not made.appends


class Uncached:
    """Engine that reads every prompt from its beginning."""

    trainable = True

    def __init__(self, engine: Any) -> None:
        self.engine, self.prompts = engine, list[list[int]]()

    def generate(self, prompts: Sequence[Any], params: SamplingParams) -> list[list[Completion]]:
        self.prompts += [list(prompt) for prompt in prompts]
        answers: list[list[Completion]] = self.engine.generate(prompts, replace(params, keys=()))
        return answers


@pytest.mark.parametrize(("name", "thinking"), [("small", None), ("qwen2.5", None), ("qwen3", "strip")])
@pytest.mark.parametrize("history", [0, 2])
def test_greedy_answers_are_those_without_a_cache(
    name: str, thinking: str | None, history: int, envs: Any, full_envs: Any, games: Any
) -> None:
    kept = policy(name, thinking=thinking, history=history)
    fresh = replace(kept, engine=Uncached(kept.engine))
    places = envs if name == "small" else full_envs
    one, other = (
        rollout(actor, places, games(3), max_steps=6, seed=0, temperature=1e-4, constrained=name == "small")
        for actor in (kept, fresh)
    )
    for a, b in zip(one, other, strict=True):
        assert a.steps == b.steps
        assert [turn.token_ids for turn in a.turns] == [turn.token_ids for turn in b.turns]
        assert [turn.prompt_ids for turn in a.turns] == [turn.prompt_ids for turn in b.turns]
        shown = ""
        for raw, turn in zip(kept.renderer.raw(a), a.turns, strict=True):
            shown = "\n".join([*shown.split("\n")[: raw["kept"]], raw["prompt"]])
            assert shown == kept.renderer.text(turn.prompt_ids), "the record of an episode gives each prompt"
        assert all(
            abs(x - y) < 1e-3
            for turn, same in zip(a.turns, b.turns, strict=True)
            for x, y in zip(turn.logprobs, same.logprobs, strict=True)
        )
    assert max(len(turn.prompt_ids) for t in one for turn in t.turns) < 4096


def test_raw_prompts_and_answers_of_a_transcript_add_up(full_envs: Any, games: Any) -> None:
    actor = policy("qwen2.5")
    engine = Uncached(actor.engine)
    (played,) = rollout(replace(actor, engine=engine), full_envs[:1], games(1), max_steps=4, seed=0)
    shown = ""
    for raw, ids in zip(actor.renderer.raw(played), engine.prompts, strict=True):
        shown += raw["prompt"]
        assert (shown, "kept" in raw) == (actor.renderer.text(ids), False)
        shown += raw["answer"]
