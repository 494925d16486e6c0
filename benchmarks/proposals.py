"""Shares of proposals that each domain proves: those of chance, and a language model's with and without critiques.

An answer of chance is drawn from the schema that a language model gets: one part, or in a problem without knobs free
text; in coding half of the answers have words around `{problem}` beside it.

    python -m benchmarks.proposals [--tasks 100] [--domains alfworld coding osworld]

A model reads generated AlfWorld games that the exploring expert fails, and makes each easier by one proposal: without a
critique, with that of the task's own group, and with that of another task. The model is the judge too: it votes on the
last steps of a failed episode of each group, and summarises its reasons. The expert plays what is proved until the
recommended rule decides. Chance rewrites the same games.

    python -m benchmarks.proposals --model qwen2.5-coder-1.5b --tasks 16 [--threads 1]
"""

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
import yaml

from rlanything_agents.config.seeds import rng_of
from rlanything_agents.feedback.metrics import wilson
from rlanything_agents.feedback.percent import interval
from rlanything_agents.reward_models.judged_group import JudgedGroup
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.curriculum import Assignment, LLMRewriter, LLMSummariser, Request, Rewriting, task_critique
from rlanything_envs.curriculum.acceptance import RecommendedAcceptance, Trial
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, TextGenerator
from rlanything_envs.llm.schema import compact_json, example_of, form_of_schema
from rlanything_task_pools import Rejection, get_domain
from studies.guiding import PROPOSAL, SUMMARY, Guiding, LocalModel, Player, failed_tasks, tally_of

WORDS = "{problem}\nRead the constraints before you begin."
STUDY = Path(__file__).parents[1] / "configs/study/guided-llm.yaml"
"""Games and player of the model's part, and what it may change of a game."""
UNREADABLE = ("too_long", "empty", "no_json", "truncated")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=100, help="tasks of each domain, a proposal each")
    parser.add_argument("--domains", nargs="+", default=["alfworld", "coding", "osworld"])
    parser.add_argument("--model", help="a checkpoint that rewrites AlfWorld games, as in a configuration")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    (of_model if args.model else of_chance)(args)


def of_chance(args: argparse.Namespace) -> None:
    """Answers of chance in each domain."""
    for name in args.domains:
        domain, rng, found = get_domain(name), np.random.default_rng(0), Counter[str]()
        for seed in range(args.tasks):
            task = domain.generate(seed)
            proposal = example_of(domain.proposal_schema(task), rng)
            if name == "coding" and rng.random() < 0.5:
                proposal["statement"] = WORDS
            made = domain.validate(task, proposal, direction="harder", author="chance")
            found[made.reason if isinstance(made, Rejection) else "proved"] += 1
        print(f"{name}: {found['proved']} of {args.tasks} proved", flush=True)
        print("  " + ", ".join(f"{reason} {count}" for reason, count in found.most_common() if reason != "proved"))


def of_model(args: argparse.Namespace) -> None:
    """Answers of a model with each critique, and of chance."""
    settings = yaml.safe_load(STUDY.read_text(encoding="utf-8"))["settings"]
    settings |= {"tasks": args.tasks, "drawn": 100 * args.tasks, "model": args.model, "judged": 1}
    games = Games(Guiding.model_validate(settings))
    model, chance = Together(games.model.chat), Chance()
    asked = [(model, args.model, critique) for critique in games.critiques]
    for row in asked:
        games.rewrite(*row)
    model.answer()
    print("| rewriter | critique | readable | proved | accepted | rejected for |\n" + "|---" * 6 + "|")
    for row in (*asked, (chance, "chance", "none")):
        found = games.rewrite(*row)
        reasons = Counter(rejection.reason for one in found for rejection in one.rejections)
        proved = [one.candidate is not None for one in found]
        counts = (len(found) - sum(reasons[reason] for reason in UNREADABLE), sum(proved), games.accepted(found))
        cells = [interval(count / len(found), *wilson(count, len(found))) for count in counts]
        why = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
        print("| " + " | ".join([*row[1:], *cells, why]) + " |", flush=True)


class Games:
    """Generated games that the expert fails, and a model's critiques of its first groups of episodes."""

    def __init__(self, settings: Guiding) -> None:
        self.settings, self.model = settings, LocalModel(settings)
        self.player = Player(settings, 0, clumsy=False, model=self.model)
        self.failed = failed_tasks(self.player, settings, 0)
        own, summariser = list[str](), LLMSummariser(self.model.chat, name=self.model.name, params=SUMMARY)
        read = [self.player.judged(group) for _, group in self.failed]
        votes = iter(self.player.judge([episode for _, episodes in read for episode in episodes], 0))
        for slot, ((task, _), (told, episodes)) in enumerate(zip(self.failed, read, strict=True)):
            judged = JudgedGroup(Assignment(slot, task, "active"), episodes, [next(votes) for _ in episodes])
            own.append(told + task_critique(judged.judged_episodes(), summariser).text)
            print(f"Critique {slot + 1}, {time.strftime('%X')}: {own[-1]}", flush=True)
        print(f"Summaries: {dict(summariser.counts)}", flush=True)
        self.critiques = {"none": [""] * len(own), "of its group": own, "of another task": own[1:] + own[:1]}

    def rewrite(self, generator: TextGenerator, name: str, critique: str) -> list[Rewriting]:
        """One proposal for each game, with equal seeds for every critique."""
        params, operators = SamplingParams(PROPOSAL, temperature=1.0), self.settings.curriculum.operators
        rewriter = LLMRewriter(generator, name, attempts=1, operators=operators, params=params)
        requests = [
            Request(task, "easier", (tally := tally_of(group)).accuracy, critique=text, attempts=tally.n)
            for (task, group), text in zip(self.failed, self.critiques[critique], strict=True)
        ]
        return [rewriter.rewrite(request, rng_of(0, "rewrite", slot)) for slot, request in enumerate(requests)]

    def accepted(self, made: Sequence[Rewriting]) -> int:
        """Number of candidates that the recommended rule accepts, after as many groups of the expert as it wants."""
        rule, count = RecommendedAcceptance(), 0
        for slot, ((_, group), one) in enumerate(zip(self.failed, made, strict=True)):
            parent, played = tally_of(group), list[Trajectory]()
            while one.candidate is not None:
                trial = Trial("easier", parent, tally_of(played), self.settings.curriculum.band)
                if (decision := rule.decide(trial)).verdict != "more":
                    count += decision.accepted
                    break
                played += self.player.play([(slot, one.candidate)], len(played) + 1)[0]
        return count


class Together:
    """A model that answers many requests in one batch: it notes them, and answers when they come again."""

    trainable = False

    def __init__(self, chat: TextGenerator) -> None:
        self._chat = chat
        self._asked: list[tuple[Prompt, SamplingParams]] = []
        self._answers: Iterator[list[Completion]] | None = None

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """The answer, or an empty one to a request that is noted; requests come again in their order."""
        if self._answers is not None:
            return [next(self._answers) for _ in prompts]
        self._asked += [(prompt, params) for prompt in prompts]
        return [[Completion("", "stop")] for _ in prompts]

    def answer(self) -> None:
        """Answer all requests, and print the answers."""
        begun, prompts = time.perf_counter(), [prompt for prompt, _ in self._asked]
        forms = tuple(form_of_schema(params.schema or {}) for _, params in self._asked)
        seeds = tuple(params.seed or 0 for _, params in self._asked)
        answers = self._chat.generate(prompts, SamplingParams(PROPOSAL, temperature=1.0, seeds=seeds, choices=forms))
        print("\n".join(answer.text for (answer,) in answers))
        print(f"{len(prompts)} proposals, {time.perf_counter() - begun:.0f} s", flush=True)
        self._answers = iter(answers)


class Chance:
    """A generator that draws each answer from the schema."""

    trainable = False

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """One answer to each prompt."""
        rng = rng_of(params.seed or 0, "chance")
        return [[Completion(compact_json(example_of(params.schema or {}, rng)), "stop")] for _ in prompts]


if __name__ == "__main__":
    main()
