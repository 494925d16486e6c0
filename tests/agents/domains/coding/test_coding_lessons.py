"""The warm start of the coding models: what is shown is right where it says so, and wrong as often as asked for."""

from types import SimpleNamespace
from typing import Any

import pytest

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.domains.coding.lessons import INPUTS, CodingLessons, payload_of
from rlanything_agents.domains.coding.short_tests import ShortTests
from rlanything_agents.models.small import word_tokenizer
from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.training.imitation import Row
from rlanything_envs.coding.actions import read_action
from rlanything_envs.coding.list_words import words_of
from rlanything_envs.llm.generator import Completion
from rlanything_envs.views import get_view
from rlanything_task_pools.coding.generate import sketch, statement_of
from rlanything_verifiers.coding import run_program

COUNT = 60
VIEW = get_view("RLAnything/Coding-v0", "short")
TEMPLATE = ChatTemplate(word_tokenizer(VIEW.words))
RENDERER = Renderer(TEMPLATE, VIEW, CheckpointConfig(checkpoint="small"))


def lessons(seed: int = 0, family: str = "list_steps", **warm_start: Any) -> tuple[CodingLessons, Any]:
    warm = {"knobs": {"families": [family]}, "demonstrations": COUNT, "judge_steps": COUNT, **warm_start}
    config = RunConfig.model_validate({"name": "x", "domain": "coding", "seed": seed, "warm_start": warm})
    return CodingLessons(), SimpleNamespace(
        config=config,
        reporter=Reporter.silent(),
        actor=SimpleNamespace(renderer=RENDERER),
        judge_model=SimpleNamespace(template=TEMPLATE),
        seed=lambda *path: seed_of(seed, *path),
    )


def response(row: Row) -> list[int]:
    return [token for token, learnt in zip(row.ids, row.learnt, strict=True) if learnt]


def problems(purpose: str, count: int) -> list[Any]:
    return [sketch(seed_of(0, purpose, number), families=["list_steps"]) for number in range(count)]


def programs(rows: list[Row]) -> list[str]:
    return [read_action(RENDERER.read(response(row))[1]).code for row in rows]


@pytest.mark.parametrize(("mistakes", "fewest", "most"), [(0.0, COUNT, COUNT), (1.0, 0, 12), (0.5, 18, 42)])
def test_programs_are_wrong_as_often_as_asked_for(mistakes: float, fewest: int, most: int) -> None:
    teacher, parts = lessons(mistakes=mistakes)
    rows = teacher.policy(parts)
    right = [
        source.split() == problem.reference.split()
        for source, problem in zip(programs(rows), problems("demonstrations", COUNT), strict=True)
    ]
    assert fewest <= sum(right) <= most
    for row, problem in zip(rows, problems("demonstrations", COUNT), strict=True):
        assert row.ids[: len(row.ids) - sum(row.learnt)] == RENDERER.opening(" ".join(words_of(statement_of(problem))))


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_tests_have_the_output_of_a_program(noise: float) -> None:
    teacher, parts = lessons(label_noise=noise)
    rows = teacher.judge(parts)
    assert len(rows) > COUNT - 10
    reference = {
        tuple(TEMPLATE.prompt(ShortTests().test_prompt(payload_of(problem)))): problem.reference
        for problem in problems("judge", COUNT // INPUTS)
    }
    right = 0
    for row in rows:
        prompt = tuple(row.ids[: len(row.ids) - sum(row.learnt)])
        test = ShortTests().read_test(Completion(TEMPLATE.decode(response(row)), "stop"))
        right += run_program(reference[prompt], test.stdin).stdout.decode().split() == test.stdout.split()
    assert right == len(rows) if noise == 0 else right < len(rows) * 0.7


def test_lessons_depend_on_the_seed_alone() -> None:
    teacher, parts = lessons(seed=1, mistakes=0.5)
    assert teacher.policy(parts) == teacher.policy(parts) != CodingLessons().policy(lessons(2)[1])
    assert teacher.judge(parts) == teacher.judge(parts)


def test_problems_outside_the_language_teach_nothing() -> None:
    teacher, parts = lessons(family="grid_paths", demonstrations=3)
    assert teacher.policy(parts) == []
