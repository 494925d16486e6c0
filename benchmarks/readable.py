"""What a language model writes, by role and domain: readable, admissible, solved; free and with structured output.

``python -m benchmarks.readable MODEL`` needs a model with a chat template: a folder, a name on the hub, or any other
name of a checkpoint. It samples with the transformers engine and prints a table, with the number of answers and 95 %
Wilson intervals:

- policy: turns on generated tasks, in the full view (AlfWorld also with the listed commands, free and as choices) and
  in the short view, free and with its choices;
- judge: votes on the steps of episodes in the short view, with the prompts of either view, and unit tests for coding
  problems;
- rewriter: proposals for the tasks, one attempt each, harder and easier by turns, with all of the domain's operators
  and with those alone that choose from lists. "Solved" is here the share of the readable proposals that the domain
  proved, and the line below the table counts the reasons of the others;
- trial: proposals for the tasks that a player solves too often or too rarely, as in a curriculum: groups of
  `ROLLOUTS` episodes outside the band ask for a rewrite, the player plays the proved candidates, and the published rule
  accepts or rejects them.

``--player`` names the checkpoint that plays the judged episodes and the trials, in the short view with choices: an
imitated policy of a run, ``RUN/stages/warm_start/policy``, of whatever size. Without it MODEL plays.
"""

import argparse
import json
import os
import platform
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.domains.supervision import get_step_supervision
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.feedback.metrics import success_rate
from rlanything_agents.models.pretrained import load_model, load_template
from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.reward_models.step_judge import StepJudge
from rlanything_agents.reward_models.step_prompts import FullStepPrompts, ShortStepPrompts
from rlanything_agents.reward_models.trials import Bench, run_tests
from rlanything_agents.reward_models.unit_tests import FORM, ChatTests, UnitTestWriter
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.rollout import Policy, rollout
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.curriculum import LLMRewriter, Request, Rewriting, Tally, Trial, get_acceptance
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams
from rlanything_envs.views import get_view, make_env
from rlanything_task_pools import Task, get_domain
from rlanything_task_pools.coding import read_payload

DOMAINS = ("alfworld", "coding", "osworld")
ROLES = ("policy", "judge", "rewriter", "trial")
BAND, ROLLOUTS = (0.2, 0.8), 8
"""Band of success rates and episodes of a group in trials, as published."""
PLAYED = {"max_tokens": 64, "context": 4096}
"""Limits of a player's answers and episodes; a small model reads no more."""
SLOTS = 64
"""Most episodes of groups that are played at once."""
UNREAD = frozenset({"too_long", "truncated", "empty", "no_json"})
"""Reasons of the rewriter for an answer that holds no proposal."""


@dataclass
class Line:
    """A line of the table: counts of answers, None where a column has no meaning."""

    role: str
    domain: str
    how: str
    answers: int
    readable: int
    admissible: int | None = None
    tried: int | None = None
    solved: int | None = None
    accepted: int | None = None
    """Readable proposals that were proved, and accepted after a trial."""
    seconds: float = 0.0
    reasons: dict[str, int] = field(default_factory=dict)

    def cells(self) -> list[str]:
        """The columns as text."""
        shares = (
            _share(self.readable, self.answers),
            _share(self.admissible, self.answers),
            _share(self.solved, self.tried),
            _share(self.accepted, self.tried),
        )
        return [self.role, self.domain, self.how, str(self.answers), *shares, f"{self.seconds:.0f}"]


def _share(count: int | None, of: int | None) -> str:
    if count is None or not of:
        return "–"
    return f"{count} of {of}: {success_rate([1] * count + [-1] * (of - count))}"


class Reader:
    """The model with its engine.

    Args:
        checkpoint: The model.
        max_tokens: Most tokens of an answer.
        context: Most tokens of an episode.
        dtype: Precision of the weights.
    """

    def __init__(self, checkpoint: str, max_tokens: int, context: int, dtype: str) -> None:
        settings = {"checkpoint": checkpoint, "max_tokens": max_tokens, "context": context, "dtype": dtype}
        self.config = CheckpointConfig.model_validate(settings)
        self.template: ChatTemplate = load_template(self.config)
        model = load_model(self.config, self.template.tokenizer, seed=0)
        self.engine = TransformersGenerator(model.eval(), self.template.tokenizer)
        self.chat = ChatGenerator(self.engine, self.template)

    def play(self, domain: str, tasks: Sequence[Task], steps: int, how: str) -> tuple[Line, list[Trajectory]]:
        """Episodes of the policy; ``how`` names view, listing and choices."""
        view = "short" if "short" in how else "full"
        listed = {"admissible": "list"} if "listed" in how else {}
        env_id, start = get_domain(domain).env_id, time.perf_counter()
        envs = [make_env(env_id, view, disable_env_checker=True, **listed) for _ in tasks]
        actor = Policy(self.chat, Renderer(self.template, get_view(env_id, view), self.config))
        episodes = rollout(actor, envs, tasks, max_steps=steps, seed=1, temperature=0.7, constrained="choices" in how)
        for env in envs:
            env.close()
        commands = [step.command for episode in episodes for step in episode.steps if step.command]
        outcomes = [episode.outcome for episode in episodes if episode.outcome is not None]
        unread, fit = commands.count("unreadable"), commands.count("ok")
        line = Line("policy", domain, how, len(commands), len(commands) - unread, fit, len(outcomes), outcomes.count(1))
        line.seconds = time.perf_counter() - start
        return line, episodes

    def groups(self, domain: str, tasks: Sequence[Task], steps: int) -> list[Tally]:
        """Outcomes of a group of episodes of each task, in the short view with its choices, at temperature 1."""
        env_id = get_domain(domain).env_id
        envs = [make_env(env_id, "short", disable_env_checker=True) for _ in range(min(SLOTS, ROLLOUTS * len(tasks)))]
        actor = Policy(self.chat, Renderer(self.template, get_view(env_id, "short"), self.config))
        played = [task for task in tasks for _ in range(ROLLOUTS)]
        episodes = rollout(actor, envs, played, max_steps=steps, seed=4) if tasks else []
        outcomes = [episode.outcome for episode in episodes]
        for env in envs:
            env.close()
        return [_tally(outcomes[at : at + ROLLOUTS]) for at in range(0, len(outcomes), ROLLOUTS)]

    def judge(
        self, domain: str, tasks: Sequence[Task], episodes: Sequence[Trajectory], how: str
    ) -> tuple[Line, list[str]]:
        """Votes on the steps of episodes; "solved" is the share of the readable ones that the true labels confirm."""
        start, supervision = time.perf_counter(), get_step_supervision(domain)
        pattern, truth = "pattern" in how, supervision.true_labels
        prompts = (
            ShortStepPrompts(self.template, supervision.judge_texts, supervision.form if pattern else None)
            if "short" in how
            else FullStepPrompts(self.template, self.config, constrained=pattern)
        )
        judged = StepJudge(self.chat, prompts, self.config.max_tokens).judge(episodes, votes=2, seed=2, temperature=0.7)
        scores, right = list[float | None](), list[bool]()
        for task, episode, steps in zip(tasks, episodes, judged, strict=True):
            labels = truth(task.payload, episode) or [0] * len(steps)
            for label, step in zip(labels, steps, strict=True):
                scores += step.scores
                right += [score == label for score in step.scores if score is not None and label]
        texts = [vote.text for steps in judged for step in steps for vote in step.votes]
        read = sum(score is not None for score in scores)
        line = Line("judge", domain, how, len(scores), read, None, len(right), sum(right))
        line.seconds = time.perf_counter() - start
        return line, texts

    def tests(self, tasks: Sequence[Task], form: bool) -> tuple[Line, list[str]]:
        """Unit tests for coding tasks; "solved" is the share of the readable ones that a correct program passes."""
        start = time.perf_counter()
        problems = [read_payload(task.payload) for task in tasks]
        writer = UnitTestWriter(self.chat, ChatTests(form=FORM if form else None), self.config.max_tokens)
        written = writer.write(problems, tests=2, seed=3, temperature=0.7)
        benches = [
            Bench(problem, (task.proof[0],), tuple(test for test in tests if test.test is not None))
            for problem, task, tests in zip(problems, tasks, written, strict=True)
        ]
        passes = np.concatenate([np.zeros(0), *(found.ravel() for found in run_tests(benches))])
        texts, how = [test.text for tests in written for test in tests], "form" if form else "free"
        line = Line("unit tests", "coding", how, len(texts), len(passes), None, len(passes), int((passes == 1).sum()))
        line.seconds = time.perf_counter() - start
        return line, texts

    def rewrite(self, domain: str, tasks: Sequence[Task], how: str) -> tuple[Line, list[str]]:
        """One proposal for each task, and the texts of the answers; ``how`` names schema and operators."""
        requests = [
            Request(task, "easier", 0.0) if number % 2 else Request(task, "harder", 1.0)
            for number, task in enumerate(tasks)
        ]
        line, _, texts = self._propose(Line("rewriter", domain, how, 0, 0), requests)
        return line, texts

    def trial(self, domain: str, tasks: Sequence[Task], player: "Reader", steps: int) -> tuple[Line, list[str]]:
        """One proposal for each task that the player solves too often or too rarely, tried by the player."""
        start, (low, high) = time.perf_counter(), BAND
        groups = list(zip(tasks, player.groups(domain, tasks, steps), strict=True))
        outside = [(task, tally) for task, tally in groups if not low < tally.accuracy < high]
        requests = [
            Request(task, "easier" if tally.accuracy <= low else "harder", tally.accuracy) for task, tally in outside
        ]
        line, rewritings, texts = self._propose(
            Line("trial", domain, "schema, lists" if domain in LISTED else "schema", 0, 0), requests
        )
        found = [
            (request, tally, rewriting.candidate)
            for request, (_, tally), rewriting in zip(requests, outside, rewritings, strict=True)
            if rewriting.candidate is not None
        ]
        tallies = player.groups(domain, [candidate for *_, candidate in found], steps)
        rule, line.accepted = get_acceptance("paper"), 0
        del line.reasons["proved"]
        for (request, parent, _), candidate in zip(found, tallies, strict=True):
            decision = rule.decide(Trial(request.direction, parent, candidate, BAND))
            line.accepted += decision.accepted
            reason = f"{'accepted' if decision.accepted else 'rejected'} ({decision.reason})"
            line.reasons[reason] = line.reasons.get(reason, 0) + 1
        line.reasons["asked for easier"] = sum(request.direction == "easier" for request in requests)
        line.seconds = time.perf_counter() - start
        return line, texts

    def _propose(self, line: Line, requests: Sequence[Request]) -> tuple[Line, list[Rewriting], list[str]]:
        """Fill a line with one proposal for each request."""
        start, generator = time.perf_counter(), _Overheard(self.chat, "schema" in line.how)
        params = SamplingParams(self.config.max_tokens, temperature=0.7)
        operators = LISTED[line.domain] if "lists" in line.how else None
        rewriter = LLMRewriter(generator, "model", attempts=1, params=params, operators=operators)
        rewritings = [rewriter.rewrite(request, np.random.default_rng(at)) for at, request in enumerate(requests)]
        reasons = [found.rejections[0].reason if found.rejections else "proved" for found in rewritings]
        line.reasons = dict(Counter(reasons))
        line.answers, line.readable = len(reasons), sum(reason not in UNREAD for reason in reasons)
        line.tried, line.solved = line.readable, line.reasons.setdefault("proved", 0)
        line.seconds = time.perf_counter() - start
        return line, rewritings, generator.texts


def _tally(outcomes: Sequence[int | None]) -> Tally:
    """Count of a group, without infrastructure failures."""
    valid = [outcome for outcome in outcomes if outcome is not None]
    return Tally(valid.count(1), len(valid))


class _Overheard:
    """Generator that keeps what it wrote, and passes the schema on or not."""

    trainable = False

    def __init__(self, generator: ChatGenerator, schema: bool) -> None:
        self._generator, self._schema = generator, schema
        self.texts: list[str] = []

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """Sample completions."""
        answers = self._generator.generate(prompts, params if self._schema else replace(params, schema=None))
        self.texts += [answer.text for samples in answers for answer in samples]
        return answers

    def update_weights(self, source: object, version: int) -> None:
        """Not used."""

    def close(self) -> None:
        """Not used."""


LISTED = {"coding": ("knob",), "osworld": ("evaluator", "hints")}
"""Operators whose proposals choose from lists, in the domains that have others too."""

LISTING = ("full, commands listed, free", "full, commands listed, choices")
WAYS = {
    "alfworld": ("full, free", *LISTING, "short, free", "short, choices"),
    "coding": ("full, free", "short, free", "short, choices"),
    "osworld": ("full, free", "short, free", "short, choices"),
}
"""How the policy plays each domain."""
JUDGED = ("full, free", "full, pattern", "short, free", "short, pattern")
"""How steps are judged."""
KNOBS: dict[str, dict[str, Any]] = {
    "coding": {"families": ["list_steps"]},
    "osworld": {"kinds": ["rename_files", "write_files", "count_lines", "edit_config"], "hints": 1},
}
"""Tasks of trials: like those of ``configs/coding-quickstart.yaml`` and ``configs/osworld-quickstart.yaml``."""


def lines(
    reader: Reader, player: Reader, roles: Iterable[str], domains: Iterable[str], tasks: int, steps: int, ways: str
) -> Iterator[tuple[Line, list[str]]]:
    """All lines, each with texts to look at."""
    for domain in domains:
        games = [get_domain(domain).generate(seed, split="valid_seen") for seed in range(tasks)]
        for how in WAYS[domain]:
            if "policy" in roles and ways in how:
                line, episodes = reader.play(domain, games, steps, how)
                yield line, [f"{step.thought} || {step.action}" for episode in episodes for step in episode.steps]
        if "judge" in roles and domain == "coding":
            for form in (False, True):
                yield reader.tests(games, form)
        elif "judge" in roles:
            _, episodes = player.play(domain, games, steps, "short, choices")
            # The simulated desktop refuses tasks that need a program which it lacks.
            played = [number for number, episode in enumerate(episodes) if episode.outcome is not None]
            for how in JUDGED:
                if ways in how:
                    yield reader.judge(domain, [games[at] for at in played], [episodes[at] for at in played], how)
        if "rewriter" in roles:
            for how in ("free", "schema", "schema, lists"):
                if ways in how and ("lists" not in how or domain in LISTED):
                    yield reader.rewrite(domain, games, how)
        if "trial" in roles:
            known = KNOBS.get(domain, {})
            games = [get_domain(domain).generate(seed, split="valid_seen", **known) for seed in range(tasks)]
            yield reader.trial(domain, games, player, steps)


def main() -> None:
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="checkpoint with a chat template")
    parser.add_argument("--roles", nargs="+", choices=ROLES, default=ROLES[:3])
    parser.add_argument("--domains", nargs="+", choices=DOMAINS, default=DOMAINS)
    parser.add_argument("--ways", default="", help="only lines whose column `how` holds this")
    parser.add_argument("--player", help="checkpoint that plays judged episodes and trials; MODEL by default")
    parser.add_argument("--tasks", type=int, default=8, help="tasks of each domain")
    parser.add_argument("--steps", type=int, default=3, help="most turns of an episode")
    parser.add_argument("--max-tokens", type=int, default=192, help="most tokens of an answer")
    parser.add_argument("--context", type=int, default=6000, help="most tokens of an episode")
    parser.add_argument("--dtype", choices=["auto", "float32", "bfloat16"], default="auto")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    parser.add_argument("--texts", type=int, default=0, help="answers to show of each line")
    parser.add_argument("--out", type=Path, help="JSON file to append the lines to, one a line")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    reader = Reader(args.model, args.max_tokens, args.context, args.dtype)
    player = Reader(args.player, dtype=args.dtype, **PLAYED) if args.player else reader
    print(
        f"{args.model}, {args.dtype}, {args.max_tokens} tokens an answer, {args.tasks} tasks, {args.steps} turns; "
        f"Python {platform.python_version()}, torch {torch.__version__}, load {os.getloadavg()[0]:.1f}\n"
    )
    print("| role | domain | how | answers | readable | admissible | solved | accepted | seconds |")
    print("|---|---|---|---:|---|---|---|---|---:|", flush=True)
    reasons = list[str]()
    for line, texts in lines(reader, player, args.roles, args.domains, args.tasks, args.steps, args.ways):
        print(f"| {' | '.join(line.cells())} |", flush=True)
        for text in texts[: args.texts]:
            print(f"    {json.dumps(text)[:400]}", flush=True)
        if line.reasons:
            counted = ", ".join(f"{reason} {count}" for reason, count in line.reasons.items())
            reasons.append(f"- {line.role}, {line.domain}, {line.how}: {counted}")
        if args.out is not None:
            with args.out.open("a") as file:
                file.write(json.dumps(asdict(line)) + "\n")
    print("\n" + "\n".join(reasons))


if __name__ == "__main__":
    main()
