"""Desktops for training: the expert, heuristic labels, the truth, what a judge reads, demonstrations."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rlanything_agents.config import CheckpointConfig, ConfigError, RunConfig, SmallConfig
from rlanything_agents.domains.lessons import demonstrate, judge_rows
from rlanything_agents.domains.osworld import labels as osworld_labels
from rlanything_agents.domains.osworld.belief import Belief
from rlanything_agents.domains.osworld.expert import DesktopExpert
from rlanything_agents.domains.osworld.plan import plan
from rlanything_agents.domains.osworld.supervision import SUPERVISION
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.small import small_model, word_tokenizer
from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.reward_models.judge_model import JudgeModel
from rlanything_agents.reward_models.step_prompts import ShortStepPrompts
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.rollout import Policy, rollout
from rlanything_agents.rollout.trajectory import Step, Trajectory
from rlanything_envs.views import get_view, make_env
from rlanything_task_pools import Task

Desktops = Callable[..., list[Task]]
VIEW = get_view("RLAnything/OSWorld-v0", "short")
TEMPLATE = ChatTemplate(word_tokenizer(VIEW.words))
CONFIG = CheckpointConfig(checkpoint="small", max_tokens=32, context=4096)
RENDERER = Renderer(TEMPLATE, VIEW, CONFIG)


def episode(env: gym.Env[str, str], task: Task, seed: int = 0, mistakes: float = 0.1) -> tuple[Trajectory, float]:
    """An expert's episode, and its last reward."""
    expert = DesktopExpert(seed, mistakes)
    observation, info = env.reset(options={"task": task})
    opening, message, steps = observation, info["message"], list[Step]()
    while True:
        move = expert.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(move.action)
        steps.append(Step(move.thought, move.action, observation, message=str(info.get("message", ""))))
        if terminated or truncated:
            return trajectory(steps, opening, message), float(reward)


def trajectory(steps: list[Step], opening: str = "", message: str = "") -> Trajectory:
    return Trajectory("t", "", opening, tuple(steps), 1, "", 0.0, [1], [], [], [], [], message=message)


@pytest.mark.parametrize("split", ["train", "valid_unseen"])
def test_a_faultless_expert_solves_tasks(small: gym.Env[str, str], desktops: Desktops, split: str) -> None:
    """Every level of every kind, with hints and without, in words that training never uses, too."""
    for task in desktops(16, split=split):
        played, reward = episode(small, task, mistakes=0)
        assert reward == 1, (task.goal, played.steps)
        assert len(played.steps) <= 11


def test_an_expert_mends_its_mistakes(small: gym.Env[str, str], desktops: Desktops) -> None:
    played = [episode(small, task, seed, mistakes=0.3) for seed, task in enumerate(desktops(16))]
    assert sum(reward == 1 for _, reward in played) >= 10
    assert any(len(t.steps) > 8 and reward == 1 for t, reward in played)


def test_demonstrations_are_learnt_without_their_mistakes(small: gym.Env[str, str], desktops: Desktops) -> None:
    rows = demonstrate(SUPERVISION.expert, RENDERER, small, desktops(8), max_steps=15, seed=0)
    assert len(rows) >= 6
    tokenizer = TEMPLATE.tokenizer
    begin_id = tokenizer.convert_tokens_to_ids("<answer>")
    skipped = 0
    for row in rows:
        ids, learnt = np.array(row.ids), np.array(row.learnt)
        assert tokenizer.unk_token_id not in row.ids
        for begin, stop in zip(
            np.flatnonzero(ids == begin_id) + 1, np.flatnonzero(ids == TEMPLATE.end_id) + 1, strict=True
        ):
            assert learnt[begin:stop].all() or not learnt[begin:stop].any()
            skipped += not learnt[begin]
        assert not learnt[ids == begin_id].any()
    assert skipped > 0


# --- judging ---


def test_texts_of_a_judge_do_not_look_ahead(small: gym.Env[str, str], desktops: Desktops) -> None:
    for task in desktops(8):
        played, _ = episode(small, task)
        texts = SUPERVISION.judge_texts(played)
        assert len(texts) == len(played.steps)
        first = trajectory(list(played.steps[:2]), played.opening, played.message)
        assert SUPERVISION.judge_texts(first) == texts[:2]
        prompts = [TEMPLATE.prompt([{"role": "user", "content": text}]) for text in texts]
        assert max(map(len, prompts)) < 256
        assert all(TEMPLATE.tokenizer.unk_token_id not in prompt for prompt in prompts)
        assert len(SUPERVISION.heuristic_labels(played)) == len(played.steps)


def test_the_truth_is_the_evaluators(small: gym.Env[str, str], desktops: Desktops) -> None:
    (task,) = desktops(1)
    played, _ = episode(small, task, mistakes=0)
    right = [step.action for step in played.steps]
    other = "click 2" if right[0] == "click 1" else "click 1"
    cases = {
        (*right,): [1, 1, 1, 1],
        (other, *right): [-1, 1, 1, 1, 1],
        (right[0], right[1], "press escape", *right): [1, 1, -1, 1, 1, 1, 1],
        (right[0], "done"): [1, -1],
        (*right[:2], "type <1> enter", "done"): [1, 1, -1, -1],
        ("dance", *right[:1]): [-1, 1],
        (): [],
    }
    for actions, labels in cases.items():
        judged = [Step("<none> <none>", action, "") for action in actions]
        assert SUPERVISION.true_labels(task.payload, trajectory(judged)) == labels, actions


def test_steps_of_a_faultless_expert_are_right(small: gym.Env[str, str], desktops: Desktops) -> None:
    for task in desktops(16):
        played, _ = episode(small, task, mistakes=0)
        assert set(SUPERVISION.true_labels(task.payload, played)) == {1}, task.goal


def test_nothing_is_known_of_steps_where_the_expert_knows_no_way(
    small: gym.Env[str, str], desktops: Desktops, monkeypatch: pytest.MonkeyPatch
) -> None:
    (task,) = desktops(1)
    played, _ = episode(small, task, mistakes=0)
    monkeypatch.setattr(osworld_labels, "plan", lambda belief: [("<none>", "fail")])
    assert SUPERVISION.true_labels(task.payload, trajectory(list(played.steps[:2]))) == [0, 0]


def test_heuristic_labels_are_often_right_and_sometimes_wrong(small: gym.Env[str, str], desktops: Desktops) -> None:
    """They agree with the truth on most steps, and take a click for the right one whose thought names it."""
    agree = []
    for seed, task in enumerate(desktops(8)):
        played, _ = episode(small, task, seed, mistakes=0.4)
        truth, labels = SUPERVISION.true_labels(task.payload, played), SUPERVISION.heuristic_labels(played)
        agree += [label.score == t for label, t in zip(labels, truth, strict=True)]
    assert np.mean(agree) > 0.8
    (task,) = desktops(1)
    played, _ = episode(small, task, mistakes=0)
    other = "click 2" if played.steps[0].action == "click 1" else "click 1"
    click, done = Step(f"<2> {other[-1]}", other, "same"), Step("<none> <none>", "done", "same")
    judged = trajectory([click, click, done], played.opening, played.message)
    assert [label.reason for label in SUPERVISION.heuristic_labels(judged)] == ["progress", "repeated", "early"]
    assert SUPERVISION.true_labels(task.payload, judged) == [-1, -1, -1]


def test_judge_lessons_have_noise(small: gym.Env[str, str], desktops: Desktops) -> None:
    size = SmallConfig(hidden_size=16, layers=1, heads=2, intermediate_size=32)
    model = small_model(TEMPLATE.tokenizer, size)
    engine = ChatGenerator(TransformersGenerator(model, TEMPLATE.tokenizer), TEMPLATE)
    played = rollout(Policy(engine, RENDERER), [small], desktops(4), max_steps=6, seed=0)
    assert all(len(t.steps) <= 6 and t.outcome is not None for t in played)
    assert SUPERVISION.form is not None
    prompts = ShortStepPrompts(TEMPLATE, SUPERVISION.judge_texts, SUPERVISION.form)
    judge = JudgeModel(engine, TEMPLATE, CONFIG)
    clean, flipped = (
        judge_rows(SUPERVISION.heuristic_labels, prompts, judge, played, steps=20, label_noise=noise, seed=0)
        for noise in (0.0, 1.0)
    )
    assert len(clean) == 20 or len(clean) == sum(len(t.steps) for t in played)
    assert all(one.ids[-2] != other.ids[-2] for one, other in zip(clean, flipped, strict=True))


# --- plans from where things went wrong ---


def test_a_plan_starts_from_what_is_done() -> None:
    belief = Belief(
        "Task: x\nuse the terminal to create the file <1> in the folder <2> with two lines : <3> , then <4> .\nterminal"
    )
    write = ["type echo <3> > desktop/ <2> / <1> enter", "type echo <4> >> desktop/ <2> / <1> enter"]
    assert [command for _, command in plan(belief)] == [*write, "done"]
    belief.update(write[0], "same")
    assert [command for _, command in plan(belief)] == [write[1], "done"]
    belief.update("type echo <1> > desktop/ <2> / <1> enter", "same")
    assert [command for _, command in plan(belief)] == [*write, "done"], "what is wrong is written anew"
    belief.update("type echo", "same")
    assert plan(belief)[0][1] == "press return", "what stands on the prompt goes first"


def test_a_task_of_no_known_pattern_has_no_plan() -> None:
    assert plan(Belief("Task: dance\ndance\nfiles")) == [("<none>", "fail")]
    assert plan(Belief("")) == [("<none>", "fail")]


def test_lessons_in_the_full_view_are_refused() -> None:
    model = {"checkpoint": "any", "lessons": True}
    config = RunConfig.model_validate({"name": "x", "domain": "osworld", "policy": model, "reward_model": model})
    school: Any = SimpleNamespace(config=config)
    for lesson in (SUPERVISION.lessons.policy, SUPERVISION.lessons.judge):
        with pytest.raises(ConfigError, match="to short, or leave"):
            lesson(school)


@pytest.mark.slow
def test_the_same_commands_solve_tasks_on_a_real_desktop(desktops: Desktops) -> None:
    from rlanything_envs.osworld.desktop import DesktopError, MissingPackages

    env = make_env("RLAnything/OSWorld-v0", "short", max_turns=15, backend="bwrap")
    try:
        for task in desktops(8):
            try:
                played, reward = episode(env, task, mistakes=0)
            except MissingPackages as error:
                pytest.skip(str(error))
            except DesktopError as error:
                if "made no sandbox" in str(error):
                    pytest.skip(str(error))
                raise
            assert reward == 1, (task.goal, played)
    finally:
        env.close()
