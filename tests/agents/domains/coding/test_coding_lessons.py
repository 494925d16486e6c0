"""The warm start of the coding models: what is shown is right where it says so, and wrong as often as asked for."""

from types import SimpleNamespace
from typing import Any

import families
import pytest

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.domains.coding.lessons import INPUTS, CodingLessons, payload_of
from rlanything_agents.domains.coding.short_tests import ShortTests
from rlanything_agents.models.small import word_tokenizer
from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.reward_models.unit_tests import FORM, ChatTests
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.training.imitation import Row
from rlanything_envs.coding.actions import read_action
from rlanything_envs.coding.list_words import words_of
from rlanything_envs.llm.choices import matches
from rlanything_envs.llm.generator import Completion
from rlanything_envs.views import get_view, make_env
from rlanything_task_pools import get_domain
from rlanything_task_pools.coding import read_payload
from rlanything_task_pools.coding.generate import sketch, statement_of
from rlanything_verifiers.coding import run_program

COUNT = 60
VIEW = get_view("RLAnything/Coding-v0", "short")
TEMPLATE = ChatTemplate(word_tokenizer(VIEW.words))
RENDERER = Renderer(TEMPLATE, VIEW, CheckpointConfig(checkpoint="small"))


def lessons(seed: int = 0, family: str = "list_steps", **warm_start: Any) -> tuple[CodingLessons, Any]:
    warm = {"demonstrations": COUNT, "judge_steps": COUNT, **warm_start}
    knobs = {"curriculum": {"knobs": {"families": [family]}}}
    config = RunConfig.model_validate({"name": "x", "domain": "coding", "seed": seed, "warm_start": warm, **knobs})
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


@pytest.mark.parametrize("mistakes", [None, 1.0])
def test_in_the_full_view_programs_solve_the_task_and_tests_can_be_read(mistakes: float | None) -> None:
    tasks = [get_domain("coding").generate(seed) for seed in range(2)]
    full = get_view("RLAnything/Coding-v0", "full")
    template = families.template("qwen3")
    warm = {"demonstrations": 2, "judge_steps": 6, "label_noise": 0.0, "mistakes": mistakes}
    model = {"checkpoint": "any"}
    settings = {"name": "x", "domain": "coding", "policy": model, "reward_model": model, "warm_start": warm}
    school: Any = SimpleNamespace(
        config=RunConfig.model_validate(settings),
        reporter=Reporter.silent(),
        envs=[make_env("RLAnything/Coding-v0", "full")],
        actor=SimpleNamespace(renderer=Renderer(template, full, CheckpointConfig(checkpoint="any"))),
        judge_model=SimpleNamespace(template=template),
        train_tasks=lambda purpose, count: tasks[:count],
    )
    env = school.envs[0]
    for row, task in zip(CodingLessons().policy(school), tasks, strict=True):
        action = school.actor.renderer.read(response(row))[1]
        assert action.startswith("The program reads")
        observation, _ = env.reset(options={"task": task})
        assert row.ids[: len(row.ids) - sum(row.learnt)] == school.actor.renderer.opening(observation)
        assert env.step(action)[4]["outcome"] == (1 if mistakes is None else -1)
    rows = CodingLessons().judge(school)
    known = {
        (str(test.stdin.split()), str(test.stdout.split())) for t in tasks for test in read_payload(t.payload).hidden
    }
    assert len(rows) == 6
    for row in rows:
        text = template.decode(response(row))
        assert matches(FORM, text)
        test = ChatTests().read_test(Completion(text, "stop"))
        assert (str(test.stdin.split()), str(test.stdout.split())) in known


def test_problems_outside_the_language_teach_nothing() -> None:
    teacher, parts = lessons(family="grid_paths", demonstrations=3)
    assert teacher.policy(parts) == []
