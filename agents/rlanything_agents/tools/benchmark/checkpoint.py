"""``hf:PATH``: a causal language model with a chat template, from a local folder."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, LogitsProcessor, LogitsProcessorList
from transformers.utils import logging as transformers_logging

from rlanything_agents.config.seeds import seed_of
from rlanything_agents.tools.benchmark.agent import History, Message, Response
from rlanything_agents.tools.benchmark.episode import Episode, Result, course
from rlanything_agents.tools.benchmark.errors import AgentError
from rlanything_envs.llm.budget import Usage

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.episode import World
    from rlanything_agents.tools.benchmark.settings import ChatSettings
    from rlanything_envs.conversation import Conversation

__all__ = ["CheckpointAgent"]


class CheckpointAgent:
    """Plays many episodes in step, so that the model answers all of them in one batch.

    The result of an episode depends on its own seed alone, up to the rounding of batched arithmetic.

    Args:
        path: Folder that `transformers` loads; code in it is not run.
        settings: Sampling and history.

    Raises:
        AgentError: The folder holds no such model, or its tokenizer has no chat template.
    """

    parallel = 16

    def __init__(self, path: str, settings: ChatSettings) -> None:
        self.name = f"hf:{path}"
        self.settings = settings
        transformers_logging.disable_progress_bar()
        if not Path(path).is_dir():
            raise AgentError(f"{self.name}: there is no such folder; download the model first, and name its folder")
        try:
            self.tokenizer: Any = AutoTokenizer.from_pretrained(path, local_files_only=True, padding_side="left")
            self.model: Any = AutoModelForCausalLM.from_pretrained(path, local_files_only=True)
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise AgentError(f"{self.name} cannot be loaded: {error}") from error
        if not self.tokenizer.chat_template:
            raise AgentError(f"{self.name}: its tokenizer has no chat template; use an instruction-tuned model")
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self.model.to("cuda" if torch.cuda.is_available() else "cpu").eval()

    def check(self, episodes: Sequence[Episode]) -> None:
        """Nothing to look at."""

    def close(self) -> None:
        """Nothing to free."""

    def play(self, world: World, episodes: Sequence[Episode], parallel: int) -> Generator[Result, None, None]:
        """Play chunks of ``parallel`` episodes, one chunk after the other, all episodes of a chunk in step."""
        with contextlib.ExitStack() as stack:
            conversations = [stack.enter_context(world.open()) for _ in range(min(parallel, len(episodes)))]
            for first in range(0, len(episodes), parallel):
                chunk = episodes[first : first + parallel]
                yield from self._in_batch(
                    [_Dialogue(c, e, self.settings.max_history) for c, e in zip(conversations, chunk, strict=False)]
                )

    def _in_batch(self, dialogues: list[_Dialogue]) -> Generator[Result, None, None]:
        while dialogues:
            yield from (dialogue.result for dialogue in dialogues if dialogue.result is not None)
            dialogues = [dialogue for dialogue in dialogues if dialogue.result is None]
            if dialogues:
                seeds = [seed_of(dialogue.episode.seed, "turn", dialogue.turns) for dialogue in dialogues]
                responses = self.reply([dialogue.chat for dialogue in dialogues], seeds)
                for dialogue, response in zip(dialogues, responses, strict=True):
                    dialogue.answer(response)

    @torch.inference_mode()
    def reply(self, chats: Sequence[list[Message]], seeds: Sequence[int]) -> list[Response]:
        """Sample an answer to each chat with its own seed.

        Raises:
            AgentError: A chat is longer than the model's context.
        """
        ids = [self._ids(chat) for chat in chats]
        longest, limit = max(map(len, ids)), getattr(self.model.config, "max_position_embeddings", None)
        if limit is not None and longest + self.settings.max_tokens > limit:
            raise AgentError(
                f"{self.name}: a chat of {longest} tokens and an answer of {self.settings.max_tokens} do not fit into "
                f"the model's {limit}: cut the history with --max-history, or the answers with --max-tokens"
            )
        batch = self.tokenizer.pad({"input_ids": ids}, return_tensors="pt").to(self.model.device)
        noise = LogitsProcessorList(
            [_GumbelNoise(seeds, self.settings.temperature)] if self.settings.temperature else []
        )
        written = self.model.generate(
            **batch,
            generation_config=self._generation_config(),
            logits_processor=noise,
            max_new_tokens=self.settings.max_tokens,
        )[:, longest:].tolist()
        return [self._response(prompt, row) for prompt, row in zip(ids, written, strict=True)]

    def _ids(self, chat: list[Message]) -> list[int]:
        return list(self.tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)["input_ids"])

    def _generation_config(self) -> GenerationConfig:
        """Greedy decoding of the logits after `_GumbelNoise`; the checkpoint's own sampling settings are ignored."""
        own = self.model.generation_config
        end = own.eos_token_id if own.eos_token_id is not None else self.tokenizer.eos_token_id
        return GenerationConfig(do_sample=False, eos_token_id=end, pad_token_id=self.tokenizer.pad_token_id)

    def _response(self, prompt: list[int], row: list[int]) -> Response:
        ends = self._generation_config().eos_token_id
        stops = set(ends if isinstance(ends, list) else [ends])
        length = next((i + 1 for i, token in enumerate(row) if token in stops), len(row))
        text = self.tokenizer.decode(row[:length], skip_special_tokens=True)
        return Response(text, Usage(len(prompt), length))


class _Dialogue:
    """One episode of a batch, with the chat to be answered next."""

    def __init__(self, conversation: Conversation, episode: Episode, history: int | None) -> None:
        self.episode, self.turns = episode, 0
        self.chat: list[Message] = []
        self.result: Result | None = None
        self._history, self._course = History(history), course(conversation, episode, counts=True)
        self._go_on(None)

    def answer(self, response: Response) -> None:
        """Send an answer to the latest message."""
        self._history.wrote(response.text)
        self.turns += 1
        self._go_on(response)

    def _go_on(self, response: Response | None) -> None:
        try:
            turn = next(self._course) if response is None else self._course.send(response)
        except StopIteration as end:
            self.result = end.value
        else:
            self.chat = self._history.read(turn)


class _GumbelNoise(LogitsProcessor):  # type: ignore[misc]
    """Sampling by the Gumbel-max trick, with an RNG stream per row, so that rows are independent of one another.

    The argmax of ``logits / temperature + Gumbel noise`` is a sample at that temperature.
    """

    def __init__(self, seeds: Sequence[int], temperature: float) -> None:
        self._streams = [np.random.default_rng(seed) for seed in seeds]
        self._temperature = temperature

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        noise = np.stack([stream.gumbel(size=scores.shape[1]) for stream in self._streams])
        return scores / self._temperature + torch.from_numpy(noise).to(scores.device, scores.dtype)
