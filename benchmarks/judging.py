"""What a language model knows as a reward model before it is trained: its answers against the truth.

An expert with a share of random moves plays generated AlfWorld games. The model reads each episode in the full view,
and gives after each turn a chance of success (``forecasts``) or a vote on the step (``votes``). It does not see the
outcome. The same measures of free rules stand beside it, on the same episodes. Process accuracy compares votes with the
planner's step labels. Intervals are 95 %, bootstrapped over the episodes.

    python -m benchmarks.judging smollm2-135m [--answers votes] [--episodes 32]

With ``tests`` it writes two unit tests for each of as many generated problems, which run on the correct program and on
the wrong ones. The examples of the statements are the free rule. Intervals are over the problems.

With a pool and the folder of a benchmark on it they choose among the programs of each problem: the one that passes most
of four tests, of several one at random. Beside them choose the examples of the statement, length, chance and the truth.

    python -m benchmarks.judging qwen2.5-coder-1.5b --answers tests --choose POOL FOLDER
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers.utils import logging as transformers_logging

from rlanything_agents.config import RunConfig
from rlanything_agents.domains.alfworld.expert import ExploringExpert
from rlanything_agents.domains.supervision import get_step_supervision, get_supervision
from rlanything_agents.feedback.metrics import judge_quality, quality_intervals
from rlanything_agents.feedback.percent import interval, percent
from rlanything_agents.reward_models.judged_group import score_matrix
from rlanything_agents.reward_models.trials import Bench, run_tests
from rlanything_agents.reward_models.unit_tests import ChatTests, WrittenTest
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.coding.actions import read_action
from rlanything_envs.errors import Unreadable
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams
from rlanything_envs.views import make_env
from rlanything_task_pools import Task, TaskPool, get_domain
from rlanything_task_pools.coding import Payload, read_payload
from rlanything_verifiers.coding import Test
from studies.expert_episodes import played
from studies.language_models import opened
from studies.search import best_of
from studies.statistics import estimate, points

TESTS = 4
"""Tests of each problem that choose among its programs."""
WRITTEN = {"ut": "right: the correct program passes", "detect": "and every wrong one fails"}
FIRST, TURNS, MISTAKES = 20_000_000, 20, 0.2
"""First generator seed, as of the panels of a run; turns of an episode; share of the expert's random moves, with which
it solves about half of its games."""
SHOWN = {
    "outcome_auc": "outcome AUC",
    "mid_auc": "mid-episode AUC",
    "calibration": "calibration error",
    "process_balanced": "process accuracy, balanced",
}


def main() -> None:
    """Print a table of the model and of free rules."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="as `reward_model.checkpoint` in a configuration")
    parser.add_argument("--answers", choices=["forecasts", "votes", "tests"], default="forecasts")
    parser.add_argument("--episodes", type=int, default=32)
    parser.add_argument("--max-tokens", type=int, default=320, help="of an answer; a reason has fewer characters")
    parser.add_argument("--choose", nargs=2, type=Path, metavar=("POOL", "FOLDER"), help="of a benchmark, with tests")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    transformers_logging.disable_progress_bar()
    if args.choose:
        choose(args)
    elif args.answers == "tests":
        judge_tests(args)
    else:
        judge_steps(args)


def judge_steps(args: argparse.Namespace) -> None:
    """Judge episodes of games, and print a table."""
    supervision = get_step_supervision("alfworld")
    tasks, episodes = games(args.episodes)
    labels = [np.array(supervision.true_labels(task.payload, e)) for task, e in zip(tasks, episodes, strict=True)]
    outcomes = [int(episode.outcome or -1) for episode in episodes]
    solved, steps = outcomes.count(1), sum(map(len, labels))
    print(f"{len(episodes)} episodes, {solved} solved, {steps} steps, {np.mean(np.concatenate(labels) == 1):.0%} right")
    print("| judge | readable | " + " | ".join(SHOWN.values()) + " | seconds |\n" + "|---" * (len(SHOWN) + 3) + "|")
    heuristic = [np.array([[label.score] for label in supervision.heuristic_labels(e)], float) for e in episodes]
    rules = {
        "heuristic labels": heuristic,
        "turns that remain": [1 - 2 * np.arange(1, len(own) + 1)[:, None] / TURNS for own in labels],
    }
    for name, scores in rules.items():
        show(name, scores, labels, outcomes)
    config = settings_of(args, "alfworld", args.answers, votes=1)
    judge, begun, scores = supervision.reviewer(config, opened(config.reward_model)).judge, time.perf_counter(), []
    for number, episode in enumerate(episodes):  # one at a time: a batch of several would need their keys and values
        found = judge.judge([episode], votes=1, seed=number, temperature=config.judge.temperature)
        scores.append(score_matrix(found[0]))
        print(f"{number + 1} of {len(episodes)} episodes, {time.perf_counter() - begun:.0f} s; the last answer:")
        print(found[0][-1].votes[0].text, flush=True)
    show(f"{args.checkpoint}, {args.answers}", scores, labels, outcomes, time.perf_counter() - begun)


def judge_tests(args: argparse.Namespace) -> None:
    """Judge written unit tests, and print a table."""
    domain, config = get_domain("coding"), settings_of(args, "coding", "votes", votes=2)
    tasks = [domain.generate(FIRST + number, split="valid_seen") for number in range(args.episodes)]
    reviewer = get_supervision("coding").reviewer(config, opened(config.reward_model))
    panel = [{"payload": task.payload, "correct": task.proof[0]} for task in tasks]
    model = reviewer.writer.generator
    print("| writer | tests | readable | " + " | ".join(WRITTEN.values()) + " | seconds |\n" + "|---" * 6 + "|")
    for name, generator in (("the examples", Examples(tasks)), (f"{args.checkpoint}, tests", model)):
        reviewer.writer.generator, begun = generator, time.perf_counter()
        found = reviewer.measure(panel)
        cells = [interval(found[key], *found[f"{key}_interval"]) for key in WRITTEN]
        cells = [name, str(found["tests"]), percent(1 - found["unreadable"]), *cells]
        print("| " + " | ".join([*cells, f"{time.perf_counter() - begun:.0f}"]) + " |", flush=True)


def choose(args: argparse.Namespace) -> None:
    """Choose among the programs of a benchmark by written tests and by free rules, and print a table."""
    pool, folder = args.choose
    attempts: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((folder / "episodes").glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        attempts.setdefault(record["task_id"], []).append(record)
    with TaskPool.open(pool) as tasks:
        problems = [read_payload(tasks.task(task).payload) for task in attempts]
    programs = [
        tuple(program_of(record["turns"][-1]["action"], problem) for record in records)
        for problem, records in zip(problems, attempts.values(), strict=True)
    ]
    config = settings_of(args, "coding", "votes", votes=TESTS)
    writer = get_supervision("coding").reviewer(config, opened(config.reward_model)).writer
    written = [tuple(tests) for tests in writer.write(problems, tests=TESTS, seed=0)]
    none = Completion("", "stop")
    examples = [tuple(WrittenTest(none, Test(test.stdin, test.stdout)) for test in one.public) for one in problems]
    scores = {}
    for name, tests in (("its own tests", written), ("the examples", examples)):
        passes = run_tests([Bench(*bench) for bench in zip(problems, programs, tests, strict=True)])
        scores[name] = np.stack([np.nansum(each, axis=1) for each in passes], axis=1)
    solved = np.array([[record["outcome"] == 1 for record in records] for records in attempts.values()], float).T
    lengths = np.array([list(map(len, each)) for each in programs], float).T
    readable = sum(test.test is not None for tests in written for test in tests)
    print(f"{solved.size} programs for {len(problems)} problems, {readable} of {TESTS * len(problems)} tests readable")
    print("| the program chosen by | solves |\n|---|---|")
    for name, chance in best_of(solved, lengths, scores, budget=int(lengths.sum())).items():
        print(f"| {name} | {points(estimate(chance.tolist()))} |", flush=True)


def program_of(answer: str, problem: Payload) -> str:
    """The program in an answer; empty without one."""
    try:
        return read_action(answer, only_submit=True, languages=problem.languages, entry_point=problem.entry_point).code
    except Unreadable:
        return ""


class Examples:
    """A generator that gives the examples of the statements as tests."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.problems = [read_payload(task.payload) for task in tasks]

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """As many examples of each problem as tests are asked for; fewer where it has fewer."""
        writer = ChatTests()
        return [
            [Completion(writer.written(test.stdin, test.stdout), "stop") for test in problem.public[: params.n]]
            for problem in self.problems
        ]


def settings_of(args: argparse.Namespace, domain: str, answers: str, votes: int) -> RunConfig:
    """Settings of a run whose reward model is the checkpoint."""
    return RunConfig.model_validate(
        {
            "name": "judging",
            "domain": domain,
            "environment": {"view": "full"},
            "policy": {"checkpoint": args.checkpoint},
            "reward_model": {"checkpoint": args.checkpoint, "max_tokens": args.max_tokens, "context": 4096},
            "judge": {"answers": answers, "votes": votes},
            "rollout": {"max_steps": TURNS},
        }
    )


def games(count: int) -> tuple[list[Task], list[Trajectory]]:
    """Generated games, and the episode of the clumsy expert in each."""
    domain = get_domain("alfworld")
    env = make_env(domain.env_id, "short")
    tasks = [domain.generate(FIRST + number, split="valid_seen") for number in range(count)]
    return tasks, [played(ExploringExpert(n, MISTAKES), env, task, TURNS) for n, task in enumerate(tasks)]


def show(name: str, scores: list[Any], labels: list[Any], outcomes: list[int], seconds: float | None = None) -> None:
    """Print a row."""
    quality = judge_quality(scores, labels, outcomes).to_dict()
    limits = quality_intervals(scores, labels, outcomes, seed=0)
    cells = [name, percent(1 - (quality["unparsable"] or 0))]
    for key in SHOWN:
        share = quality[key]
        cells.append("–" if share is None else interval(share, *limits[key]) if key in limits else percent(share))
    print("| " + " | ".join([*cells, "–" if seconds is None else f"{seconds:.0f}"]) + " |", flush=True)


if __name__ == "__main__":
    main()
