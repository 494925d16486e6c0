"""Where an iteration of the closed loop spends its time, and its generation next to plain ``generate``.

``python -m benchmarks.loop`` warms two small AlfWorld models up for a minute or two (or takes those of a run: ``--run
FOLDER``), plays a few iterations and prints two tables.

*Iteration split.* Model time is what passes inside the decoder (forward passes and their cache) and inside the
forward, loss and backward passes of an update; all the rest, sampling and the forms of answers included, is not.

*Generation.* Prompts of policy and reward model in rollouts and judging, answered in two ways that alternate within a
round, so that both meet the same machine: by the package's engine; and, as one would write it first, by ``generate``
once a turn with the whole transcript as its prompt, batched over the episodes, with its own cache inside a call and
free of forms. Plain generation is timed on every few calls and scaled up by their tokens. The engine is timed whole:
environments, forms and book-keeping included.
"""

import argparse
import os
import platform
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, cast
from unittest.mock import patch

import gymnasium as gym
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from rlanything_agents.config.load import load_config
from rlanything_agents.engines import transformers as generator_module
from rlanything_agents.engines.cache import RaggedDecoder
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.reward_models.step_reviewer import StepReviewer
from rlanything_agents.rollout.rollout import rollout
from rlanything_agents.rollout.workers import LocalWorkers
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.loop import Loop
from rlanything_agents.runs.parts import RunParts
from rlanything_agents.runs.player import Player
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.rewriting import make_curriculum, open_rewriter
from rlanything_agents.runs.warm_start import warm_start
from rlanything_agents.training.trainer import SampleTrainer
from rlanything_envs.llm.generator import Completion, SamplingParams
from rlanything_task_pools import TaskPool

MODEL_SHARE = 0.10
"""Target: at most this share of an iteration is spent outside the models."""
SPEEDUP = 10
"""Target: at least so many times plain generation."""

CONFIG = Path(__file__).resolve().parent.parent / "configs" / "quickstart.yaml"


class Clock:
    """Seconds spent in named places."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.spent: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def at(self, name: str) -> Iterator[None]:
        start = self.now()
        yield
        self.spent[name] += self.now() - start

    def around(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            with self.at(name):
                return work(*args, **kwargs)

        return timed


class TimedDecoder:
    """A decoder with timed forward passes."""

    def __init__(self, decoder: RaggedDecoder, clock: Clock, name: str) -> None:
        self._decoder = decoder
        self.append = clock.around(name, decoder.append)
        self.keep = clock.around(name, decoder.keep)
        self.running = decoder.running

    @property
    def lengths(self) -> Any:
        return self._decoder.lengths


class TimedEnv(gym.Wrapper[Any, Any, Any, Any]):
    """An environment with timed calls."""

    def __init__(self, env: gym.Env[Any, Any], clock: Clock) -> None:
        super().__init__(env)
        self.reset = clock.around("rollout: environments", env.reset)  # type: ignore[method-assign]
        self.step = clock.around("rollout: environments", env.step)  # type: ignore[method-assign]


@dataclass
class Asked:
    """Recorded calls of generators.

    Attributes:
        calls: Of each generator the prompts of each call with what was written to each.
    """

    calls: defaultdict[int, list[list[tuple[list[int], list[Completion]]]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def of(self, generator: object) -> list[list[tuple[list[int], list[Completion]]]]:
        """The calls of one."""
        return self.calls[id(generator)]

    @contextmanager
    def watching(self) -> Iterator[None]:
        """For the time of a block every call of a chat generator is kept."""
        generate = ChatGenerator.generate

        def watched(self_: ChatGenerator, prompts: Sequence[Any], params: SamplingParams) -> list[list[Completion]]:
            answers = generate(self_, prompts, params)
            self.of(self_).append(list(zip(cast(list[list[int]], list(prompts)), answers, strict=True)))
            return answers

        with patch.object(ChatGenerator, "generate", watched):
            yield


def written(call: Sequence[tuple[list[int], list[Completion]]]) -> int:
    """Tokens that were written in one call."""
    return sum(len(answer.token_ids or ()) for _, answers in call for answer in answers)


def iteration_split(
    loop: Loop, played: list[gym.Env[Any, Any]], iterations: int, now: Callable[[], float]
) -> list[dict[str, float]]:
    """Seconds of each part, one row an iteration."""
    splits: list[dict[str, float]] = []
    rows: list[dict[str, Any]] = []
    envs, learners = list(played), loop.learners
    for _ in range(iterations):
        clock = Clock(now)
        played[:] = [TimedEnv(env, clock) for env in envs]
        training_step = clock.around("update: model", SampleTrainer.training_step)

        def timed(model: PreTrainedModel, lanes: int, clock: Clock = clock) -> Any:
            name = "rollout: model" if model is learners.policy.model else "judge: model"
            return TimedDecoder(RaggedDecoder(model, lanes), clock, name)

        with (
            patch.object(generator_module, "RaggedDecoder", timed),
            patch.object(SampleTrainer, "training_step", lambda *args, step=training_step: step(*args)),
            patch("rlanything_agents.runs.progress.time.perf_counter", now),
            clock.at("iteration"),
        ):
            row = loop.iterate(rows).row
        rows.append(row)
        laps, spent = row["seconds"], clock.spent
        updating = laps["policy_update"] + laps["judge_update"]
        split = {name: spent[name] for name in ("rollout: model", "rollout: environments")}
        split["rollout: rest"] = laps["rollout"] - sum(split.values())
        split["judge: model"] = spent["judge: model"]
        split["judge: rest"] = laps["judge"] - spent["judge: model"]
        split["update: model"] = spent["update: model"]
        split["update: rest"] = updating - spent["update: model"]
        split["everything else"] = spent["iteration"] - sum(split.values())
        splits.append(split)
    played[:] = envs
    return splits


def print_split(splits: Sequence[dict[str, float]]) -> None:
    totals = [sum(split.values()) for split in splits]
    print(f"Iteration split, {len(splits)} iterations\n{'':26}{'median s':>10}{'share':>8}{'min':>8}{'max':>8}")
    for name in splits[0]:
        shares = [split[name] / total for split, total in zip(splits, totals, strict=True)]
        print_line(name, [split[name] for split in splits], shares)
    beside = [sum(s for name, s in split.items() if not name.endswith("model")) for split in splits]
    shares = [b / total for b, total in zip(beside, totals, strict=True)]
    print_line("iteration", totals, [1.0])
    print_line("outside the models", beside, shares, f"target: at most {MODEL_SHARE:.0%}")
    print()


def print_line(name: str, seconds: Sequence[float], shares: Sequence[float], note: str = "") -> None:
    print(
        f"{name:26}{median(seconds):10.2f}{median(shares):8.1%}{min(shares):8.1%}{max(shares):8.1%}   {note}".rstrip()
    )


def plain(
    calls: Sequence[list[tuple[list[int], list[Completion]]]],
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    clock: Clock,
) -> float:
    """Seconds in which ``generate`` writes as many tokens to the prompts of these calls."""
    for call in calls:
        for first in range(0, len(call), 256):
            some = call[first : first + 256]
            batch = tokenizer.pad({"input_ids": [prompt for prompt, _ in some]}, return_tensors="pt")  # on the left
            with clock.at("plain"):
                model.generate(
                    **batch,
                    do_sample=True,
                    top_k=0,
                    max_new_tokens=max(len(answer.token_ids or ()) for _, answers in some for answer in answers),
                    num_return_sequences=len(some[0][1]),
                )
    return clock.spent.pop("plain")


def generation(parts: RunParts, rounds: int, every: int, now: Callable[[], float]) -> dict[str, list[float]]:
    """Seconds of each way of writing, a number a round."""
    found: dict[str, list[float]] = defaultdict(list)
    config, learners = parts.config, parts.learners
    tasks = parts.train_tasks("pool", config.rollout.tasks)
    games = [task for task in tasks for _ in range(config.rollout.rollouts)]
    assert isinstance(parts.reviewer, StepReviewer)
    judge, template = parts.reviewer.judge, learners.judge_model.template

    for number in range(rounds):
        clock = Clock(now)
        asked = Asked()
        with asked.watching():
            with clock.at("play"):
                trajectories = rollout(
                    learners.actor, parts.envs, games, max_steps=config.rollout.max_steps, seed=number
                )
            with clock.at("judge"):
                judge.judge(trajectories[::4], votes=config.judge.votes, seed=number)
        found["play, engine"].append(clock.spent.pop("play"))
        found["judge, engine"].append(clock.spent.pop("judge"))
        for part, generator, model in (
            ("play", learners.actor.engine, learners.policy.model),
            ("judge", learners.judge_model.generator, learners.judge.model),
        ):
            calls = asked.of(generator)
            some = calls[every // 2 :: every] or calls
            share = sum(map(written, calls)) / sum(map(written, some))
            found[f"{part}, plain"].append(share * plain(some, model, template.tokenizer, clock))
            found[f"{part}, tokens"].append(sum(map(written, calls)))
    return found


def print_generation(found: dict[str, list[float]]) -> None:
    print(
        f"Generation, {len(found['play, tokens'])} rounds\n"
        f"{'':36}{'tokens/s':>10}{'times plain: median':>21}{'min':>7}{'max':>7}"
    )
    ways = ("plain", "engine")
    tokens = {part: found[f"{part}, tokens"] for part in ("play", "judge")}
    for part in ("play", "judge", "both"):
        parts = ("play", "judge") if part == "both" else (part,)
        seconds = {way: [sum(s) for s in zip(*(found[f"{p}, {way}"] for p in parts), strict=True)] for way in ways}
        total = [sum(t) for t in zip(*(tokens[p] for p in parts), strict=True)]
        for way in ways:
            ratios = [a / b for a, b in zip(seconds["plain"], seconds[way], strict=True)]
            speed = median(t / s for t, s in zip(total, seconds[way], strict=True))
            note = f"   target: at least {SPEEDUP}" if (part, way) == ("both", "engine") else ""
            print(
                f"{part + ', ' + way:36}{speed:10.0f}{median(ratios):21.1f}{min(ratios):7.1f}{max(ratios):7.1f}{note}"
            )
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=4, help="iterations that are measured, after one that is not")
    parser.add_argument("--rounds", type=int, default=3, help="comparisons with plain generate; 0 leaves them out")
    parser.add_argument("--every", type=int, default=6, help="plain generation is timed on every so many calls")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    parser.add_argument("--run", type=Path, help="a run whose warm start is taken over")
    parser.add_argument(
        "--clock", choices=["wall", "cpu"], default="wall", help="cpu: on a busy machine, with one thread"
    )
    args = parser.parse_args()
    now = time.perf_counter if args.clock == "wall" else time.process_time
    warnings.simplefilter("ignore")
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    torch.set_num_threads(args.threads)
    short = ["warm_start.demonstrations=600", "warm_start.epochs=4", "warm_start.judge_steps=2500"]
    reuse = [f"warm_start.reuse={args.run.resolve()}"] if args.run else short
    config = load_config(args.run / "config.json" if args.run else CONFIG, [f"threads={args.threads}", *reuse])
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder(Path(name))
        folder.prepare(config.model_dump(mode="json"))
        parts = RunParts.assemble(config, folder, Reporter.silent())
        warm_start(parts)
        print(
            f"Python {platform.python_version()}, torch {torch.__version__} with {args.threads} thread(s) of "
            f"{os.cpu_count()} cores, {args.clock} time, load {os.getloadavg()[0]:.1f}\n"
        )
        if args.rounds:
            print_generation(generation(parts, args.rounds, args.every, now))
        with (
            TaskPool.create(folder.pool, parts.train_tasks("pool", config.curriculum.pool_size)) as pool,
            open_rewriter(config.curriculum, folder.prompts) as rewriter,
        ):
            curriculum = make_curriculum(config, pool, rewriter)
            workers = LocalWorkers(config, parts.learners, parts.envs)
            player = Player(config.rollout, workers, parts.reviewer, curriculum, config.seed)
            loop = Loop(parts.learners, parts.reviewer, curriculum, player, used=config.used, seed=config.seed)
            print_split(iteration_split(loop, parts.envs, args.iterations + 1, now)[1:])
        print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
