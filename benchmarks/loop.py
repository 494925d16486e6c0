"""Where an iteration of the closed loop spends its time, and its generation next to plain ``generate``.

``python -m benchmarks.loop`` warms two small AlfWorld models up for a minute or two (or takes those of a run: ``--run
FOLDER``), plays a few iterations and prints two tables.

*Iteration split.* Model time is what passes inside the decoder (forward passes and their cache) and inside the
forward, loss and backward passes of an update; all the rest, sampling and the automata of constrained decoding
included, is not.

*Generation.* The same episodes, written in three ways that alternate within a run, so that all meet the same machine:
the package's own; the same cache around the implementation of transformers; and, as one would write it first,
``generate`` once a step with the whole transcript as its prompt, batched over the episodes, with its own cache inside
a call and free of constraints. Plain play is timed on every few steps of the recorded episodes and scaled up.
Each of ours is timed whole: environments, constraints and book-keeping included. The judge's votes likewise, with
``num_return_sequences``.
"""

import argparse
import os
import platform
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import gymnasium as gym
import torch
from transformers import PreTrainedModel
from transformers.utils import logging as transformers_logging

from rlanything_agents.config.load import load_config
from rlanything_agents.engines import decoder as decoder_module
from rlanything_agents.engines import transformers as generator_module
from rlanything_agents.engines.cache import RaggedDecoder
from rlanything_agents.engines.decoder import Decoder, make_decoder
from rlanything_agents.rollout import rollout as rollout_module
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.loop import Loop
from rlanything_agents.runs.parts import RunParts
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.rewriting import open_rewriter
from rlanything_agents.runs.warm_start import warm_start
from rlanything_agents.training.trainer import SampleTrainer
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
    """A decoder whose forward passes are timed."""

    def __init__(self, decoder: Decoder, clock: Clock, name: str) -> None:
        self._decoder = decoder
        self.append = clock.around(name, decoder.append)
        self.keep = clock.around(name, decoder.keep)
        self.running = decoder.running

    @property
    def lengths(self) -> Any:
        return self._decoder.lengths


class TimedEnv(gym.Wrapper[Any, Any, Any, Any]):
    """An environment whose calls are timed."""

    def __init__(self, env: gym.Env[Any, Any], clock: Clock) -> None:
        super().__init__(env)
        self.reset = clock.around("rollout: environments", env.reset)  # type: ignore[method-assign]
        self.step = clock.around("rollout: environments", env.step)  # type: ignore[method-assign]


def timed(clock: Clock, name: str) -> Callable[..., Any]:
    return lambda model, lanes: TimedDecoder(make_decoder(model, lanes), clock, name)


def iteration_split(loop: Loop, iterations: int, now: Callable[[], float]) -> list[dict[str, float]]:
    """Seconds of each part, one row an iteration."""
    splits, rows = [], []
    envs = list(loop.envs)
    for _ in range(iterations):
        clock = Clock(now)
        loop.envs[:] = [TimedEnv(env, clock) for env in envs]
        training_step = clock.around("update: model", SampleTrainer.training_step)
        with (
            patch.object(decoder_module, "make_decoder", timed(clock, "rollout: model")),
            patch.object(generator_module, "make_decoder", timed(clock, "judge: model")),
            patch.object(SampleTrainer, "training_step", lambda *args, step=training_step: step(*args)),
            patch("rlanything_agents.runs.loop.time.perf_counter", now),
            clock.at("iteration"),
        ):
            row = loop.iterate(rows).metrics
        rows.append(row)
        laps, spent = row["seconds"], clock.spent
        split = {name: spent[name] for name in ("rollout: model", "rollout: environments")}
        split["rollout: rest"] = laps["rollout"] - sum(split.values())
        split["judge: model"] = spent["judge: model"]
        split["judge: rest"] = laps["judge"] - spent["judge: model"]
        split["update: model"] = spent["update: model"]
        split["update: rest"] = laps["policy_update"] + laps["judge_update"] - spent["update: model"]
        split["everything else"] = spent["iteration"] - sum(split.values())
        splits.append(split)
    loop.envs[:] = envs
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


def written(trajectory: Trajectory, end_id: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each turn among the completion tokens."""
    begin = 0
    for at, token in enumerate(trajectory.completion_ids):
        if token == end_id:
            yield begin, at + 1
        if token in trajectory.prompt_ids[-1:]:  # the word that asks for a turn
            begin = at + 1


def plain_play(parts: RunParts, trajectories: Sequence[Trajectory], every: int, clock: Clock) -> tuple[float, int, int]:
    """Write some turns of recorded episodes with ``generate``; seconds, tokens and turns."""
    turns = [list(written(t, parts.dialect.end_id)) for t in trajectories]
    tokens = count = 0
    for number in range(every // 2, max(map(len, turns)), every):
        live = [(t, spans[number]) for t, spans in zip(trajectories, turns, strict=True) if len(spans) > number]
        prompts = [t.prompt_ids + t.completion_ids[:begin] for t, (begin, _) in live]
        with clock.at("plain play"):
            generate(parts, parts.learners.policy.model, prompts, max(end - b for _, (b, end) in live), 1)
        tokens += sum(end - begin for _, (begin, end) in live)
        count += len(live)
    return clock.spent.pop("plain play"), tokens, count


def generate(parts: RunParts, model: PreTrainedModel, prompts: Sequence[list[int]], tokens: int, votes: int) -> None:
    batch = parts.dialect.tokenizer.pad({"input_ids": list(prompts)}, return_tensors="pt")  # on the left
    ends = [parts.dialect.end_id, parts.dialect.tokenizer.eos_token_id]
    model.generate(
        **batch, do_sample=True, top_k=0, max_new_tokens=tokens, num_return_sequences=votes, eos_token_id=ends
    )


def generation(parts: RunParts, rounds: int, every: int, now: Callable[[], float]) -> dict[str, list[float]]:
    """Seconds of each way of writing, a number a round."""
    found: dict[str, list[float]] = defaultdict(list)
    config, learners = parts.config, parts.learners
    tasks = parts.train_tasks("pool", config.rollout.tasks)
    games = [task for task in tasks for _ in range(config.rollout.rollouts)]

    def in_general() -> Any:
        return patch.object(decoder_module, "make_decoder", RaggedDecoder)

    def votes_in_general() -> Any:
        return patch.object(generator_module, "make_decoder", RaggedDecoder)

    for number in range(rounds):
        clock = Clock(now)
        for name, play, ask in (
            ("own", nullcontext, nullcontext),
            ("cache around transformers", in_general, votes_in_general),
        ):
            with play(), clock.at("play"):
                trajectories = rollout_module.rollout(
                    learners.policy.model,
                    parts.dialect,
                    parts.envs,
                    games,
                    max_steps=config.rollout.max_steps,
                    seed=number,
                )
            found[f"play, {name}"].append(clock.spent.pop("play"))
            with ask(), clock.at("judge"):
                learners.reward_model.judge(trajectories[::4], votes=config.judge.votes, seed=number)
            found[f"judge, {name}"].append(clock.spent.pop("judge"))
        seconds, tokens, turns = plain_play(parts, trajectories, every, clock)
        all_turns = sum(len(t.steps) for t in trajectories)
        found["play, plain"].append(seconds * all_turns / turns)
        found["tokens"].append(tokens * all_turns / turns)
        found["judge, plain"].append(plain_votes(parts, trajectories[::4], clock))
        found["votes"].append(config.judge.votes * sum(len(t.steps) for t in trajectories[::4]))
    return found


def plain_votes(parts: RunParts, trajectories: Sequence[Trajectory], clock: Clock) -> float:
    prompts = [p for t in trajectories for p in parts.dialect.judge_prompts(t.opening, t.steps)]  # type: ignore[attr-defined]
    model = parts.learners.judge.model
    for first in range(0, len(prompts), 256):
        with clock.at("plain votes"):
            generate(parts, model, prompts[first : first + 256], 3, parts.config.judge.votes)
    return clock.spent.pop("plain votes")


def print_generation(found: dict[str, list[float]]) -> None:
    print(
        f"Generation, {len(found['tokens'])} rounds\n"
        f"{'':36}{'tokens/s':>10}{'times plain: median':>21}{'min':>7}{'max':>7}"
    )
    ways = ("plain", "cache around transformers", "own")
    tokens = {"play": found["tokens"], "judge": [3 * votes for votes in found["votes"]]}
    for part in ("play", "judge", "both"):
        parts = ("play", "judge") if part == "both" else (part,)
        seconds = {way: [sum(s) for s in zip(*(found[f"{p}, {way}"] for p in parts), strict=True)] for way in ways}
        total = [sum(t) for t in zip(*(tokens[p] for p in parts), strict=True)]
        for way in ways:
            ratios = [a / b for a, b in zip(seconds["plain"], seconds[way], strict=True)]
            speed = median(t / s for t, s in zip(total, seconds[way], strict=True))
            note = f"   target: at least {SPEEDUP}" if (part, way) == ("both", "own") else ""
            print(
                f"{part + ', ' + way:36}{speed:10.0f}{median(ratios):21.1f}{min(ratios):7.1f}{max(ratios):7.1f}{note}"
            )
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=4, help="iterations that are measured, after one that is not")
    parser.add_argument("--rounds", type=int, default=3, help="comparisons with plain generate; 0 leaves them out")
    parser.add_argument("--every", type=int, default=6, help="plain play is timed on every so many steps")
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
    config = load_config(CONFIG, [f"threads={args.threads}", *reuse])
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
            loop = Loop(config, parts.learners, pool, parts.envs, rewriter)
            print_split(iteration_split(loop, args.iterations + 1, now)[1:])
        print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
