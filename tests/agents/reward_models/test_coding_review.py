"""A group of real episodes, tests by a scripted reward model: what both sides learn from it."""

import dataclasses
import json
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from families import template

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.domains.coding.short_tests import ShortTests
from rlanything_agents.reward_models.judge_model import JudgeModel
from rlanything_agents.reward_models.unit_test_reviewer import (
    ProgramGroup,
    UnitTestReviewer,
    hidden_verdicts,
    submission,
)
from rlanything_agents.reward_models.unit_tests import FORM, ChatTests, WrittenTest
from rlanything_agents.rollout.queries import QueriesAtEnd
from rlanything_agents.rollout.trajectory import Step, Trajectory, outcome_of
from rlanything_envs import registration  # noqa: F401  (registers the environments)
from rlanything_envs.coding import messages
from rlanything_envs.curriculum import Assignment, LLMSummariser
from rlanything_envs.llm import ScriptedGenerator
from rlanything_envs.llm.generator import Completion
from rlanything_envs.views import get_view
from rlanything_task_pools import Task
from rlanything_task_pools.coding import DOMAIN, make_task, read_payload

RIGHT = "a, b = map(int, input().split())\nprint(a + b)\n"
MINUS = "a, b = map(int, input().split())\nprint(a - b)\n"
NAN = float("nan")
ANSWERS = (
    "Input: 5 0\nOutput: 5",  # right, but both wrong programs below pass it too, as far as they can
    "Input: 1 2\nOutput: 3",  # right, and catches MINUS
    "Input: 1 2\nOutput: -1",  # agrees with MINUS
    "I cannot think of one.",
)


class Scripted(ScriptedGenerator):
    """Gives each prompt these answers, in their order."""

    trainable = True

    def __init__(self, answers: tuple[str, ...]) -> None:
        super().__init__(lambda prompt, k: Completion(answers[k], "stop", [1], [4 + k], [-0.5]))


@pytest.fixture(scope="module")
def task() -> Task:
    fields = {
        "statement": "Sum\n\nPrint the sum of two integers.\n\nInput\nTwo integers.\n",
        "public": [],
        "hidden": [{"stdin": "1 2\n", "stdout": "3\n"}, {"stdin": "2 0\n", "stdout": "2\n"}],
        "wrong": [MINUS],
    }
    return make_task(read_payload(fields), (RIGHT,))


def episode(task: Task, action: str, **arguments: object) -> Trajectory:
    """One turn in the real environment."""
    env = gym.make("RLAnything/Coding-v0", **{**get_view("RLAnything/Coding-v0", "short").arguments, **arguments})
    opening, info = env.reset(options={"task": task})
    observation, reward, _, _, info = env.step(action)
    outcome, error = outcome_of(info)
    steps = (Step("", action, observation),)
    return Trajectory(task.id, "", opening, steps, outcome, error, float(reward), [1], [2], [0], [-0.1], [None])


def submit(code: str) -> str:
    return f"SUBMIT\n```python\n{code}```"


def reviewer(**changes: object) -> UnitTestReviewer:
    feedback = {"lam": 0.0, "policy_band": None, "judge_band": None}
    tree = {"name": "x", "domain": "coding", "judge": {"votes": 4, "train": True}, "feedback": feedback, **changes}
    model = JudgeModel(Scripted(ANSWERS), template("llama3"), CheckpointConfig(checkpoint="none"))
    return UnitTestReviewer(RunConfig.model_validate(tree), model, ChatTests())


def ask(judge: UnitTestReviewer, assignments: list[Assignment], played: list[list[Trajectory]]) -> list[ProgramGroup]:
    asking = QueriesAtEnd(judge.writer.generator, judge.params(1))
    for assignment, episodes in zip(assignments, played, strict=True):
        asking.add(judge.queries(assignment, episodes))
    return judge.collate(assignments, played, asking.answers())


def program_of(trajectory: Trajectory, **arguments: Any) -> str:
    return submission(trajectory, read_payload(DOMAIN.generate(0).payload), arguments).code


@pytest.fixture(scope="module")
def played(task: Task) -> list[Trajectory]:
    return [episode(task, action) for action in (submit(RIGHT), submit(MINUS), "I give up, sorry.", submit(RIGHT))]


@pytest.fixture(scope="module")
def group(task: Task, played: list[Trajectory]) -> ProgramGroup:
    (group,) = ask(reviewer(), [Assignment(slot=0, role="active", task=task)], [played])
    return group


def test_programs_are_read_from_episodes(played: list[Trajectory]) -> None:
    assert [program_of(t) for t in played] == [RIGHT, MINUS, "", RIGHT]
    hostile = [dataclasses.replace(t, opening=t.opening + messages.LAST_BLOCK) for t in played]
    assert [program_of(t) for t in hostile] == [RIGHT, MINUS, "", RIGHT], "a statement does not choose the format"
    assert [t.outcome for t in played] == [1, -1, -1, 1]
    assert [t.score for t in played] == [1.0, 0.5, 0.0, 1.0]


def test_the_program_is_the_one_that_the_environment_ran(task: Task) -> None:
    last = episode(task, f"```python\n{RIGHT}```\n```python\nprint(3)\n```", action_format="code")
    assert (program_of(last, action_format="code"), last.outcome) == ("print(3)\n", -1)
    first = episode(task, f"```python\n{RIGHT}```\n```python\nprint(3)\n```")
    assert (program_of(first), first.outcome) == (RIGHT, 1)
    tried = episode(task, f"TEST\n```python\n{RIGHT}```", max_turns=2)
    assert program_of(tried) == ""


def test_a_query_brings_the_form_of_its_answers(task: Task, played: list[Trajectory]) -> None:
    feedback = {"lam": 0.0, "policy_band": None, "judge_band": None, "teach_format": True}
    judge, assignment = reviewer(feedback=feedback), Assignment(slot=0, role="active", task=task)
    wrong = played[1:3]
    for constrained, found in ((False, [None]), (True, [])):
        judge.writer.style = ChatTests(constrained)
        forms = [query.form for query in judge.queries(assignment, wrong)]
        assert forms == found, "a form cannot be missed, so no format is left to teach where no program is correct"
    assert [query.form for query in judge.queries(assignment, played)] == [FORM]


def test_every_program_runs_on_every_test(group: ProgramGroup) -> None:
    assert group.correct.tolist() == [1, 0, 0, 1]
    assert group.passes.tolist() == [[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 0, 0]]
    np.testing.assert_array_equal(group.scores()[1], [[1, -1, 1, np.nan]])


def test_both_sides_learn(group: ProgramGroup) -> None:
    """Tests: +1 (the empty program fails), +2, -1, 0 for none. Programs: 1, .5, 0, 1."""
    review = reviewer().review([group])
    assert review.feedback[0].test_rewards.tolist() == [1, 2, -1, 0]
    shares = np.array([1, 0.5, 0, 1])
    ((*advantages,),) = review.advantages
    assert np.concatenate(advantages) == pytest.approx((shares - shares.mean()) / shares.std())
    rows = review.samples(np.random.default_rng(0))
    assert [(row.completion_ids, round(row.advantages[0], 6)) for row in rows] == [
        ([4 + k], round((reward - 0.5) / np.sqrt(1.25), 6)) for k, reward in enumerate((1, 2, -1, 0))
    ]
    stats = review.stats()
    assert (stats["accuracy"], stats["unparsable_rate"], stats["test_reward"]) == (0.5, 0.25, 0.5)
    json.dumps(stats)


def test_a_limit_thins_the_tests(group: ProgramGroup) -> None:
    rows = reviewer(judge={"votes": 4, "steps": 2, "train": True}).review([group]).samples(np.random.default_rng(0))
    assert len(rows) == 2
    still = reviewer(judge={"votes": 4, "train": False}, feedback={"lam": 0.1})
    assert still.review([group]).samples(np.random.default_rng(0)) == []


def test_quality_against_the_policys_programs(group: ProgramGroup) -> None:
    quality = reviewer().quality([group], np.random.default_rng(0))
    assert quality == {"ut": 0.5, "detect": 0.25, "unreadable": 0.25, "tests": 4, "tasks": 1}


def test_infrastructure_failures_are_no_rewards(task: Task, played: list[Trajectory], group: ProgramGroup) -> None:
    """A program the judge failed on, and a test the generator failed on."""
    lost = dataclasses.replace(played[1], outcome=None, score=0.0)
    tests = [
        *group.tests[:3],
        WrittenTest(Completion("", "error", [1], [9], [0.0]), None, "down"),
    ]
    passes = group.passes.copy()
    passes[:, 3] = NAN
    masked = ProgramGroup(group.assignment, [played[0], lost, *played[2:]], tests, passes)
    review = reviewer().review([masked])
    found = review.feedback[0]
    assert np.isnan(found.rewards[1])
    assert found.policy[1] == 0
    assert found.test_rewards[:3].tolist() == [1, 1, 0]
    assert np.isnan(found.test_rewards[3])
    rows = review.samples(np.random.default_rng(0))
    assert [9] not in [row.completion_ids for row in rows]
    assert review.stats()["masked"] == review.stats()["masked_tests"] == 1


def test_a_masked_overlong_episode_is_no_program(played: list[Trajectory], group: ProgramGroup) -> None:
    """Programs of 1, .5, 0 and 1 of the hidden tests; without the second, which was cut off: mean 2/3."""
    cut = dataclasses.replace(played[1], overlong=True)
    shorter = dataclasses.replace(group, trajectories=[played[0], cut, *played[2:]])
    for overlong, rewards in (("fail", [1, 0.5, 0, 1]), ("mask", [1, NAN, 0, 1])):
        config = {"lam": 0.0, "policy_band": None, "judge_band": None, "overlong": overlong}
        review = reviewer(feedback=config).review([shorter])
        assert review.feedback[0].rewards.tolist() == pytest.approx(rewards, nan_ok=True)
        known = np.array(rewards)
        expected = np.nan_to_num((known - np.nanmean(known)) / np.nanstd(known))
        assert review.feedback[0].policy == pytest.approx(expected)
    assert review.stats()["masked"] == 1


def test_credit_of_single_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="all steps share the reward of the program"):
        reviewer(feedback={"credit": "gigpo"})


def test_records_are_json_with_every_test(group: ProgramGroup) -> None:
    records = reviewer().review([group]).records(0, 3)
    assert json.loads(json.dumps(records)) == records
    assert [record["outcome"] for record in records] == [1, -1, -1, 1]
    turn = records[1]["turns"][0]
    assert turn["votes"] == [1, -1, 1, None]
    assert turn["judgements"][1] == "'1 2\\n' gives '3\\n' (reward +2)"
    assert "no pair" in turn["judgements"][3]
    assert [test["reward"] for test in records[1]["tests"]][:2] == [1, 2]
    assert records[1]["tests"][1] == {"stdin": "1 2\n", "stdout": "3\n", "complaint": "", "reward": 2}
    assert "no pair" in records[1]["tests"][3]["complaint"]


def test_verdicts_are_those_the_answer_to_a_submission_counts(played: list[Trajectory]) -> None:
    answer = messages.submitted(["AC", "WA", "TLE", "AC", "RE"])
    step = dataclasses.replace(played[0].steps[-1], observation=answer)
    submitted = dataclasses.replace(played[0], steps=(*played[0].steps[:-1], step))
    assert hidden_verdicts(submitted) == {
        "accepted": 2,
        "wrong answer": 1,
        "over the limit of processor time": 1,
        "runtime error": 1,
    }
    assert hidden_verdicts(dataclasses.replace(played[0], steps=())) == {}


def test_a_critique_shows_the_nearest_wrong_program(group: ProgramGroup) -> None:
    made = reviewer().review([group]).critique(0)
    assert made.text.startswith("On average a program passes 62 % of the hidden tests.\n")
    assert "".join(f"\n| {line}" for line in MINUS.splitlines()) in made.text
    assert (made.author, made.solved, made.attempts) == ("scripted", 2, 4)


def test_a_summary_of_programs_reads_the_written_tests(group: ProgramGroup) -> None:
    """The tests are what the reward model wrote: those that a program fails come first."""
    prompts: list[str] = []

    def answer(prompt: Any, *_: Any) -> str:
        prompts.append(prompt[0]["content"])
        return "It added where it had to multiply."

    summariser = LLMSummariser(ScriptedGenerator(answer), name="m")
    made = reviewer().review([group]).critique(0, summariser)
    assert made.author == "m"
    assert "2 of 2 failed attempts: It added where it had to multiply." in made.text
    read = [line for prompt in prompts for line in prompt.splitlines() if line.startswith("   judge: ")]
    assert any(line.startswith("   judge: the program fails the test ") for line in read)
    assert any(line.startswith("   judge: the program passes the test ") for line in read)


def test_a_panel_measures_against_the_generators_programs(task: Task, played: list[Trajectory]) -> None:
    judge = reviewer()
    panel = json.loads(json.dumps(judge.panel(played[:1], [task])))
    result = judge.measure(panel)
    assert (result["ut"], result["detect"], result["tests"], result["tasks"]) == (0.5, 0.25, 4, 1)
    assert result["ut_interval"] == (0.5, 0.5)
    assert judge.measured_on(result) == "4 tests for 1 held-out tasks"


def test_groups_without_a_correct_program_need_no_tests(task: Task, played: list[Trajectory]) -> None:
    sparing = reviewer(judge={"votes": 4, "train": True, "scope": "useful"})
    assignments = [Assignment(slot=n, role="active", task=task) for n in range(2)]
    lost, won = ask(sparing, assignments, [played[1:3], played[:2]])
    assert (len(lost.tests), len(won.tests)) == (0, 4)
    assert not sparing.review([lost, won]).feedback[0].judge.size
    (unread,) = ask(reviewer(judge={"votes": 0}, feedback="masked"), assignments[:1], [played])
    assert not unread.tests, "a reward model without votes is not asked"


def test_rounding_is_no_advantage(group: ProgramGroup) -> None:
    alike = [
        dataclasses.replace(group, trajectories=[dataclasses.replace(t, score=score) for t in group.trajectories])
        for score in (0.7, 0.6)
    ]
    review = reviewer(feedback="pooled").review(alike)
    assert [found.policy_kept for found in review.feedback] == [False, False]


def test_a_generated_task_in_the_short_view() -> None:
    """What the reward model reads is the task, and its hidden tests stay hidden."""
    task = DOMAIN.generate(3, families="list_steps", levels={"steps": 1, "size": 8})
    (message,) = ShortTests().test_prompt(read_payload(task.payload))
    assert message["content"].startswith("* ")
    assert message["content"].split()[-1] != "solved"
    assert not any(test.stdin.strip() in message["content"] for test in read_payload(task.payload).hidden)
