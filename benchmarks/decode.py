"""Sampling speed of the transformers engine, and the effect of its parts.

``python -m benchmarks.decode`` plays AlfWorld in the short view with a small model from random weights, and then has
the same turns of the same episodes sampled in two ways that alternate, so that both meet the same machine: with what is
kept of conversations between turns and without. Then a judge votes on each step, four times, with common
beginnings of questions read once and not.
"""

import argparse
import os
import platform
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from unittest.mock import patch

import torch

from rlanything_agents.config import SmallConfig
from rlanything_agents.engines import transformers as engine
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.small import small_model, word_tokenizer
from rlanything_envs.llm import SamplingParams
from rlanything_envs.llm.choices import Form
from rlanything_envs.views import get_view, make_env
from rlanything_task_pools import get_domain

ENV = "RLAnything/AlfWorld-v0"

WAYS = {"turns: conversations kept": True, "turns: all read again": False}

JUDGED = {"judge: beginnings shared": 32, "judge: each prompt read": 2**30}


@dataclass(frozen=True)
class Turn:
    """One batch of queries: prompts, and the form and the episode of each."""

    prompts: list[list[int]]
    choices: tuple[Form, ...]
    keys: tuple[int, ...]

    def params(self, number: int, kept: bool) -> SamplingParams:
        seeds = tuple(1000 * number + key for key in self.keys)
        return SamplingParams(40, seeds=seeds, choices=self.choices, keys=self.keys if kept else ())


def play(generator: TransformersGenerator, episodes: int, turns: int) -> tuple[list[Turn], list[list[int]]]:
    """Episodes of a model that knows nothing: their turns, and their transcripts."""

    def ids(text: str) -> list[int]:
        return list(generator.tokenizer.encode(text, add_special_tokens=False))

    domain, envs, found = get_domain("alfworld"), [make_env(ENV, "short") for _ in range(episodes)], list[Turn]()
    texts, forms = dict[int, list[int]](), dict[int, Form]()
    for key, env in enumerate(envs):
        observation, info = env.reset(
            options={"task": domain.generate(key // 8)}
        )  # eight episodes a task, as in groups
        texts[key], forms[key] = ids(observation), info["choices"]
    for number in range(turns):
        live = tuple(forms)
        found.append(Turn([list(texts[key]) for key in live], tuple(forms[key] for key in live), live))
        for key, (answer,) in zip(
            live, generator.generate(found[-1].prompts, found[-1].params(number, True)), strict=True
        ):
            observation, _, terminated, truncated, info = envs[key].step(answer.text)
            texts[key] += [*(answer.token_ids or ()), *ids(observation)]
            if terminated or truncated:
                del forms[key]
            else:
                forms[key] = info["choices"]
    return found, list(texts.values())


def sample(generator: TransformersGenerator, turns: Sequence[Turn], kept: bool) -> int:
    """Have all turns sampled; tokens, those of the forms that needed no sampling included."""
    tokens = 0
    for number, turn in enumerate(turns):
        answers = generator.generate(turn.prompts, turn.params(number, kept))
        tokens += sum(len(answer.token_ids or ()) for (answer,) in answers)
    return tokens


def judged(turns: Sequence[Turn]) -> list[list[int]]:
    """A question about each step, those of an episode one after the other: what was played so far, and two words."""
    steps = defaultdict[int, list[list[int]]](list)
    for turn in turns:
        for key, prompt in zip(turn.keys, turn.prompts, strict=True):
            steps[key].append([*prompt, 4, 5])
    return [prompt for prompts in steps.values() for prompt in prompts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=64)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="cpu: on a busy machine, one thread")
    args = parser.parse_args()
    now = time.perf_counter if args.clock == "wall" else time.process_time
    torch.set_num_threads(args.threads)
    tokenizer = word_tokenizer(get_view(ENV, "short").words)
    model = small_model(tokenizer, SmallConfig())
    turns, texts = play(TransformersGenerator(model, tokenizer), args.episodes, args.turns)
    print(
        f"Python {platform.python_version()}, torch {torch.__version__} with {args.threads} thread(s), {args.clock} "
        f"time, load {os.getloadavg()[0]:.1f}; {model.num_parameters() / 1e6:.2f} M parameters, "
        f"{args.episodes} episodes of {args.turns} turns, {sum(map(len, texts)) / len(texts):.0f} tokens each\n"
    )
    seconds, tokens = defaultdict[str, list[float]](list), 0
    steps = judged(turns)
    for _ in range(args.rounds):
        for name, least in JUDGED.items():
            with patch.object(engine, "SHARED", least):
                start = now()
                TransformersGenerator(model, tokenizer).generate(list(steps), SamplingParams(4, n=4, seed=0))
                seconds[name].append(now() - start)
        for name, kept in WAYS.items():
            start = now()
            tokens = sample(TransformersGenerator(model, tokenizer), turns, kept)
            seconds[name].append(now() - start)
    print(f"{'':45}{'tokens/s':>10}{'seconds':>10}{'times the first: median':>25}{'min':>7}{'max':>7}")
    for name, spent in seconds.items():
        kind = name.partition(":")[0]
        first = next(spent for other, spent in seconds.items() if other.partition(":")[0] == kind)
        ratios = [mine / best for mine, best in zip(spent, first, strict=True)]
        speed = f"{tokens / median(spent):10.0f}" if name in WAYS else " " * 10
        print(f"{name:45}{speed}{median(spent):10.2f}{median(ratios):25.2f}{min(ratios):7.2f}{max(ratios):7.2f}")


if __name__ == "__main__":
    main()
