"""What a language model writes, by role and domain: readable, admissible, solved; free and with structured output.

``python -m benchmarks.readable MODEL`` needs a model with a chat template: a folder, a name on the hub, or any other
name of a checkpoint. It samples with the transformers engine and prints a table, with the number of answers and 95 %
Wilson intervals:

- policy: turns on generated tasks, in the full view (AlfWorld also with the listed commands, free and as choices) and
  with the choices of the short view;
- judge: votes on the steps of those full-view episodes, and unit tests for coding problems;
- rewriter: proposals for the tasks, one attempt each, harder and easier by turns, with all of the domain's operators
  and with those alone that choose from lists. "Solved" is here the share of the readable proposals that the domain
  proved, and the line below the table counts the reasons of the others.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

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
from rlanything_agents.reward_models.step_prompts import FullStepPrompts
from rlanything_agents.reward_models.trials import Bench, run_tests
from rlanything_agents.reward_models.unit_tests import FORM, ChatTests, UnitTestWriter
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.rollout import Policy, rollout
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.curriculum import LLMRewriter, Request
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams
from rlanything_envs.views import get_view, make_env
from rlanything_task_pools import Task, get_domain
from rlanything_task_pools.coding import read_payload

DOMAINS = ("alfworld", "coding", "osworld")
ROLES = ("policy", "judge", "rewriter")
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
    seconds: float = 0.0
    reasons: dict[str, int] = field(default_factory=dict)

    def cells(self) -> list[str]:
        """The columns as text."""
        shares = (
            _share(self.readable, self.answers),
            _share(self.admissible, self.answers),
            _share(self.solved, self.tried),
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

    def judge(self, domain: str, tasks: Sequence[Task], episodes: Sequence[Trajectory], pattern: bool) -> Line:
        """Votes on the steps of episodes; "solved" is the share of the readable ones that the true labels confirm."""
        start = time.perf_counter()
        prompts = FullStepPrompts(self.template, self.config, constrained=pattern)
        judged = StepJudge(self.chat, prompts, self.config.max_tokens).judge(episodes, votes=2, seed=2, temperature=0.7)
        truth = get_step_supervision(domain).true_labels
        scores, right = list[int](), list[bool]()
        for task, episode, steps in zip(tasks, episodes, judged, strict=True):
            labels = truth(task.payload, episode)
            for at, step in enumerate(steps):
                scores += step.scores
                right += [score == labels[at] for score in step.scores if score and labels is not None]
        how = "free" if not pattern else "pattern"
        line = Line("judge", domain, how, len(scores), sum(map(bool, scores)), None, len(right), sum(right))
        line.seconds = time.perf_counter() - start
        return line

    def tests(self, tasks: Sequence[Task], form: bool) -> Line:
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
        texts, how = [test for tests in written for test in tests], "form" if form else "free"
        line = Line("unit tests", "coding", how, len(texts), len(passes), None, len(passes), int((passes == 1).sum()))
        line.seconds = time.perf_counter() - start
        return line

    def rewrite(self, domain: str, tasks: Sequence[Task], how: str) -> tuple[Line, list[str]]:
        """One proposal for each task, and the texts of the answers; ``how`` names schema and operators."""
        start, generator = time.perf_counter(), _Overheard(self.chat, "schema" in how)
        params = SamplingParams(self.config.max_tokens, temperature=0.7)
        operators = LISTED[domain] if "lists" in how else None
        rewriter = LLMRewriter(generator, "model", attempts=1, params=params, operators=operators)
        line = Line("rewriter", domain, how, 0, 0, None, 0, 0)
        for number, task in enumerate(tasks):
            harder = number % 2 == 0
            request = Request(task, "harder" if harder else "easier", 1.0 if harder else 0.0)
            found = rewriter.rewrite(request, np.random.default_rng(number))
            reason = found.rejections[0].reason if found.rejections else "proved"
            line.answers += 1
            line.reasons[reason] = line.reasons.get(reason, 0) + 1
            if reason not in UNREAD:
                line.readable += 1
        line.tried, line.solved = line.readable, line.reasons.get("proved", 0)
        line.seconds = time.perf_counter() - start
        return line, generator.texts


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

WAYS = {
    "alfworld": ("full, free", "full, commands listed, free", "full, commands listed, choices", "short, choices"),
    "coding": ("full, free", "short, choices"),
    "osworld": ("full, free", "short, choices"),
}
"""How the policy plays each domain."""


def lines(
    reader: Reader, roles: Iterable[str], domains: Iterable[str], tasks: int, steps: int, ways: str
) -> Iterator[tuple[Line, list[str]]]:
    """All lines, each with texts to look at."""
    for domain in domains:
        games = [get_domain(domain).generate(seed, split="valid_seen") for seed in range(tasks)]
        played: list[Trajectory] = []
        for how in WAYS[domain]:
            judged = "judge" in roles and domain != "coding" and how == "full, free"
            if ("policy" in roles and ways in how) or judged:
                line, episodes = reader.play(domain, games, steps, how)
                played = episodes if judged else played
                texts = [f"{step.thought} || {step.action}" for episode in episodes for step in episode.steps]
                if "policy" in roles:
                    yield line, texts
        if "judge" in roles:
            for form in (False, True):
                yield (
                    (reader.tests(games, form) if domain == "coding" else reader.judge(domain, games, played, form)),
                    [],
                )
        if "rewriter" in roles:
            for how in ("free", "schema", "schema, lists"):
                if ways in how and ("lists" not in how or domain in LISTED):
                    yield reader.rewrite(domain, games, how)


def main() -> None:
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="checkpoint with a chat template")
    parser.add_argument("--roles", nargs="+", choices=ROLES, default=ROLES)
    parser.add_argument("--domains", nargs="+", choices=DOMAINS, default=DOMAINS)
    parser.add_argument("--ways", default="", help="only lines of policy and rewriter whose name holds this")
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
    print(
        f"{args.model}, {args.dtype}, {args.max_tokens} tokens an answer, {args.tasks} tasks, {args.steps} turns; "
        f"Python {platform.python_version()}, torch {torch.__version__}, load {os.getloadavg()[0]:.1f}\n"
    )
    print("| role | domain | how | answers | readable | admissible | solved | seconds |")
    print("|---|---|---|---:|---|---|---|---:|", flush=True)
    reasons = list[str]()
    for line, texts in lines(reader, args.roles, args.domains, args.tasks, args.steps, args.ways):
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
