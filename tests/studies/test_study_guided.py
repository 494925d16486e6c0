"""``python -m studies guided``: rewrites with critiques, right and wrong, and what is shown of them."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
from typer.testing import CliRunner

from rlanything_agents.domains.alfworld.expert import ExploringExpert
from rlanything_agents.reward_models.step_judge import StepVotes, Vote
from rlanything_envs.curriculum import LLMRewriter
from rlanything_envs.curriculum.critique import BLAME
from rlanything_envs.llm import ScriptedGenerator
from rlanything_envs.views import make_env
from rlanything_task_pools.alfworld import DOMAIN
from studies.__main__ import app
from studies.expert_episodes import played
from studies.guided import GuidedFile, guided_tables
from studies.guiding import ClumsyExpert, GuidedArm, Guiding, Player, _Following, failed_tasks, guide
from studies.plan import load_file
from studies.worker import do_work

WORDS = ("basin", "lantern")
NOTED = "WHAT A REVIEWER NOTED"
CONFIGS = Path(__file__).parents[2] / "configs" / "study"
SETTINGS: dict[str, Any] = {
    "knobs": {"rooms": ["Kitchen"], "kinds": ["heat"]},
    "drawn": 4,
    "tasks": 2,
    "groups": 3,
    "rollouts": 2,
    "max_steps": 6,
    "curriculum": {"operators": ["goal", "scene", "start"], "acceptance": "paper"},
}
MICRO = f"""
name: micro
meaning: A critique, and a wrong one.
seeds: 2
settings: {json.dumps(SETTINGS)}
players: {{expert: E., clumsy: C.}}
arms:
  random: {{meaning: By chance., critique: random}}
  truth: {{meaning: By true labels., critique: truth}}
  weakness: {{meaning: Known., critique: weakness}}
"""


def test_a_clumsy_expert_is_clumsy_in_one_stage() -> None:
    env = make_env(DOMAIN.env_id, "short")
    task = DOMAIN.generate(3, kinds=["simple"], rooms=["Kitchen"])
    flawless = played(ExploringExpert(1, 0.0), env, task, 80)
    assert flawless.success
    for weak, same in (("prepare", True), ("search", False)):
        episode = played(ClumsyExpert(1, weak), env, task, 80)  # type: ignore[arg-type]
        assert ([s.action for s in episode.steps] == [s.action for s in flawless.steps]) is same


def test_the_files_of_the_repository_are_whole(tmp_path: Path) -> None:
    file = load_file(CONFIGS / "guided.yaml", GuidedFile)
    assert set(file.arms) == {"blind", "random", "search", "judge", "truth", "flipped", "weakness"}
    llm = CONFIGS / "guided-llm.yaml"
    assert load_file(llm, GuidedFile).asks_a_model
    refused = CliRunner().invoke(app, ["guided", "--file", str(llm), "--out", str(tmp_path / "out")])
    assert refused.exit_code
    assert "--llm-model" in refused.output
    assert not (tmp_path / "out").exists()


def test_every_arm_begins_with_the_same_failed_groups(tmp_path: Path) -> None:
    arms = {name: {"meaning": "x", "critique": name} for name in ("none", "search", "judge", "flipped")}
    guide({"settings": SETTINGS, "arms": arms, "player": "clumsy", "seed": 1}, tmp_path)
    found = json.loads((tmp_path / "slots.json").read_text())
    assert set(found) == set(arms)
    assert len({len(slots) for slots in found.values()}) == 1
    assert len(found["none"]) > 0
    for name, slots in found.items():
        for slot in slots:
            assert 2 <= slot["groups"] <= 3, "it failed its first group"
            assert slot["steps"] <= slot["groups"] * 2 * 6
            assert slot["accepted"] <= slot["proposed"] <= slot["groups"]
            assert set(slot["blamed"]) <= {"", "search", "fetch", "prepare", "place"}
            if name in ("none", "search"):
                assert set(slot["blamed"]) == {"" if name == "none" else "search"}


def test_a_language_model_reads_the_critique_of_its_arm() -> None:
    settings = Guiding.model_validate({**SETTINGS, "drawn": 6, "groups": 1})
    player = Player(settings, 1, clumsy=True)
    first = failed_tasks(player, settings, 1)
    assert len(first) == 2
    asked: dict[str, list[str]] = {}
    for critique in ("none", "judge", "other"):
        prompts = asked.setdefault(critique, [])

        def answer(prompt: Any, *_: Any, prompts: list[str] = prompts) -> str:
            prompts.append(prompt[0]["content"])
            return "no"

        arm = GuidedArm.model_validate({"meaning": "x", "critique": critique, "rewriter": "llm"})
        rewriter = LLMRewriter(ScriptedGenerator(answer), attempts=1)
        slots = _Following(player, settings, 1, first, arm, rewriter).slots()
        assert [slot.discarded for slot in slots] == [1, 1]
    assert all(
        "solved 0 of 2 attempts" in prompt for prompts in asked.values() for prompt in prompts if NOTED in prompt
    )
    assert _critiques(asked["judge"]) == _critiques(asked["other"])[::-1], "two tasks swap their critiques"
    assert len(asked["other"]) > len(_critiques(asked["other"])), "the model was asked for summaries too"
    assert BLAME not in "".join(asked["none"])


def test_the_reasons_of_a_judge_reach_the_model_of_their_task_alone() -> None:
    """The summaries repeat a word that only the votes on one task have."""
    settings = Guiding.model_validate({**SETTINGS, "drawn": 6, "groups": 1})
    player = Player(settings, 1, clumsy=True)
    first = failed_tasks(player, settings, 1)
    words = {id(episode): word for word, (_, group) in zip(WORDS, first, strict=True) for episode in group}

    def judge(episodes: Any, number: int) -> Any:
        vote = {id(e): Vote(rf"The {words[id(e)]} was ignored. \boxed{{-1}}", -1, [1], [0.0]) for e in episodes}
        return [[StepVotes([1], (vote[id(e)],)) for _ in e.steps] for e in episodes]

    def answer(prompt: Any, *_: Any) -> str:
        prompts.append(prompt[0]["content"])
        found = [word for word in WORDS if f"judge: The {word} was ignored." in prompts[-1]]
        return f"It ignored the {found[0]}." if found else "no"

    player.judge = judge  # type: ignore[method-assign]
    for critique, order in (("reasons", ["basin", "lantern"]), ("other", ["lantern", "basin"]), ("judge", ["", ""])):
        prompts: list[str] = []
        arm = GuidedArm.model_validate({"meaning": "x", "critique": critique, "rewriter": "llm"})
        slots = _Following(player, settings, 1, first, arm, LLMRewriter(ScriptedGenerator(answer), attempts=1)).slots()
        read = {}
        for prompt in (prompt for prompt in prompts if NOTED in prompt):
            own = next(word for word, (task, _) in zip(WORDS, first, strict=True) if f"Goal: {task.goal} (" in prompt)
            read[own] = next((word for word in WORDS if word in _critiques([prompt])[0]), "")
        assert read == dict(zip(WORDS, order, strict=True))
        assert [slot.summaries for slot in slots] == ([[]] * 2 if critique == "judge" else [["written"] * 2] * 2)


def _critiques(prompts: list[str]) -> list[str]:
    """The critiques in the prompts of rewrites."""
    return [prompt.partition(NOTED)[2].split("\n\n")[0].partition("\n")[2] for prompt in prompts if NOTED in prompt]


def test_the_command_goes_on_and_reports(tmp_path: Path) -> None:
    file, folder = tmp_path / "guided.yaml", tmp_path / "out"
    file.write_text(MICRO)
    command = ["guided", "--file", str(file), "--out", str(folder), "--workers", "1", "--seeds", "1"]
    refused = CliRunner().invoke(app, [*command, "--players", "policy"])
    assert refused.exit_code
    assert "there is no policy; there are expert, clumsy" in refused.output
    place = folder / "runs" / "clumsy" / "seed-0"
    place.mkdir(parents=True)
    arms = {name: arm.model_dump() for name, arm in load_file(file, GuidedFile).arms.items()}
    do_work({"kind": "guided", "folder": place, "settings": SETTINGS, "arms": arms, "player": "clumsy", "seed": 0})
    slots = json.loads((place / "slots.json").read_text())
    assert {stage for slot in slots["weakness"] for stage in slot["blamed"]} == {"fetch"}
    command += ["--players", "clumsy"]
    assert CliRunner().invoke(app, command).exit_code == 0, "there is nothing left to do"
    page = (folder / "guided.md").read_text()
    assert "| truth |" in page
    assert "micro, clumsy: C." in page
    (folder / "guided.md").unlink()
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    assert (folder / "guided.md").read_text() == page
    file.write_text(MICRO.replace('"groups": 3', '"groups": 2'))
    other = CliRunner().invoke(app, command)
    assert other.exit_code
    assert "other settings" in other.output


def test_the_table_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "guided.yaml"
    file.write_text(MICRO + "  blind: {meaning: Nothing., critique: none}\n")
    empty = {"groups": 2, "discarded": 1, "blamed": []}
    rows = [
        {"player": "expert", "seed": seed, "arm": arm, "slot": slot, "steps": steps + 10 * seed, "inside": inside,
         "proposed": proposed, "accepted": accepted, **empty, "blamed": ["search", "place"] if arm == "truth" else [""]}
        for seed in range(3)
        for arm, slot, steps, inside, proposed, accepted in (
            ("random", 0, 100, True, 2, 1), ("random", 1, 300, False, 2, 0),
            ("truth", 0, 100, True, 1, 1), ("truth", 1, 200, True, 3, 1),
            ("blind", 0, 120, True, 2, 0), ("blind", 1, 280, True, 3, 1),
        )
    ]  # fmt: skip
    (table,) = guided_tables(pd.DataFrame(rows), load_file(file, GuidedFile))
    random, truth, blind = table.rows
    assert random[:5] == ("random", "12", "6", "25.0", "–")
    assert truth[:6] == ("truth", "12", "6", "50.0", "+25.0", "+30.0")
    assert blind[3:6] == ("20.0", "-5.0", "–")
    assert (random[6], truth[6], random[7][:4]) == ("50.0", "100.0", "210 ")
    assert truth[8:10] == ("-50.0", "-50.0")
    assert (random[10], truth[10]) == ("–", "50, 0, 0, 50")
