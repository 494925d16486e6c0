"""How fast the transformers engine samples, and what its parts are worth.

``python -m benchmarks.decode`` plays AlfWorld in the short view with a small model from random weights, and then has
the same turns of the same episodes sampled in four ways that alternate, so that all meet the same machine: with the
forward pass of `rlanything_agents.engines.lean` and with that of transformers, with what is kept of conversations
between turns and without. Then a judge is asked about each step, four times, with common beginnings of questions read
once and not. The last lines compare a forward and backward pass of a training batch: `lean.wanted_logits`, and
transformers with its fused attention and the head at the wanted places alone.
"""

import argparse
import os
import platform
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from statistics import median
from unittest.mock import patch

import torch
from tokenizers import pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from rlanything_agents.config import SmallConfig
from rlanything_agents.engines import lean
from rlanything_agents.engines import transformers as engine
from rlanything_agents.engines.cache import RaggedDecoder
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.small import small_model, word_tokenizer
from rlanything_envs.llm import SamplingParams
from rlanything_envs.llm.choices import Form
from rlanything_envs.views import get_view, make_env
from rlanything_task_pools import get_domain

ENV = "RLAnything/AlfWorld-v0"

WAYS = {
    "turns: lean, conversations kept": (False, True),
    "turns: transformers' forward, conversations kept": (True, True),
    "turns: lean, all read again": (False, False),
    "turns: transformers' forward, all read again": (True, False),
}

JUDGED = {
    "judge: lean, beginnings shared": (False, 32),
    "judge: transformers' forward, shared": (True, 32),
    "judge: lean, each prompt read": (False, 2**30),
    "judge: transformers' forward, each read": (True, 2**30),
}


@dataclass(frozen=True)
class Turn:
    """What is asked at once: prompts, the form of each answer, the episode of each."""

    prompts: list[list[int]]
    choices: tuple[Form, ...]
    keys: tuple[int, ...]

    def params(self, number: int, kept: bool) -> SamplingParams:
        seeds = tuple(1000 * number + key for key in self.keys)
        return SamplingParams(40, seeds=seeds, choices=self.choices, keys=self.keys if kept else ())


def make_tokenizer() -> PreTrainedTokenizerFast:
    """The words of the short view; what stands between them has no ids."""
    words = {part for word in get_view(ENV, "short").words for part in word.split()}
    tokenizer = word_tokenizer(sorted(words))
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(":", "removed"), pre_tokenizers.WhitespaceSplit()]
    )
    return tokenizer


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


def passes(model: Qwen3ForCausalLM, rows: Sequence[list[int]], every: int) -> Iterator[tuple[str, Callable[[], None]]]:
    """Forward and backward passes of one batch, whose every so many-th token is learnt from."""
    width = max(map(len, rows))
    ids = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    wanted = torch.zeros_like(ids, dtype=torch.bool)
    for place, row in enumerate(rows):
        wanted[place, len(row) // 4 : len(row) : every] = True

    def ours() -> torch.Tensor:
        return lean.wanted_logits(model, ids, wanted)

    def theirs() -> torch.Tensor:
        hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
        logits: torch.Tensor = model.lm_head(hidden[wanted])
        return logits

    def learn(logits: Callable[[], torch.Tensor]) -> None:
        model.zero_grad()
        logits().log_softmax(-1)[:, 0].mean().backward()

    yield "training: lean", lambda: learn(ours)
    yield "training: transformers with sdpa", lambda: learn(theirs)


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
    tokenizer = make_tokenizer()
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
        for name, (general, least) in JUDGED.items():
            with (
                patch.object(engine, "make_decoder", RaggedDecoder) if general else nullcontext(),
                patch.object(engine, "SHARED", least),
            ):
                start = now()
                TransformersGenerator(model, tokenizer).generate(list(steps), SamplingParams(4, n=4, seed=0))
                seconds[name].append(now() - start)
        for name, (general, kept) in WAYS.items():
            with patch.object(engine, "make_decoder", RaggedDecoder) if general else nullcontext():
                start = now()
                tokens = sample(TransformersGenerator(model, tokenizer), turns, kept)
                seconds[name].append(now() - start)
        for name, work in passes(model, texts[:16], 3):
            start = now()
            for _ in range(4):
                work()
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
