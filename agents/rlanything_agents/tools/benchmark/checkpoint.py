"""``hf:CHECKPOINT``: a causal language model with a chat template, in this process."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from transformers.utils import logging as transformers_logging

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.models.pretrained import load_model, load_template
from rlanything_agents.tools.benchmark.episode import Episode, Result, course
from rlanything_agents.tools.benchmark.errors import AgentError
from rlanything_agents.tools.benchmark.player import History, Message, Response
from rlanything_envs.llm.budget import Usage
from rlanything_envs.llm.choices import fitted
from rlanything_envs.llm.generator import SamplingParams
from rlanything_envs.llm.log import PromptLog, Record, prompt_key

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.episode import World
    from rlanything_agents.tools.benchmark.settings import ChatSettings
    from rlanything_envs.conversation import Conversation
    from rlanything_envs.llm.choices import Form

__all__ = ["CheckpointAgent"]


class CheckpointAgent:
    """Plays many episodes in step, so that the model answers all of them in one batch; a new one takes the place of one
    that has ended.

    The result of an episode depends on its own seed alone, up to the rounding of batched arithmetic.

    Args:
        checkpoint: Name of the model, as everywhere (`rlanything_agents.models.checkpoint`).
        settings: Sampling and history.
        log: File of the prompts and the answers.

    Raises:
        AgentError: There is no such model, or its tokenizer has no chat template.
        MissingExtra: The package of the model is not installed.
    """

    parallel = 16

    def __init__(self, checkpoint: str, settings: ChatSettings, log: Path) -> None:
        self.name = f"hf:{checkpoint}"
        self.settings = settings
        self.log = PromptLog(log)
        transformers_logging.disable_progress_bar()
        config = CheckpointConfig(checkpoint=checkpoint, max_tokens=1, context=2)  # `reply` knows its own limits
        try:
            self.template = load_template(config)
            self.model = load_model(config, self.template.tokenizer, seed=0)
        except CheckpointError as error:
            raise AgentError(f"{self.name} cannot be loaded: {error}") from error
        self._generator = TransformersGenerator(self.model, self.template.tokenizer)

    def check(self, episodes: Sequence[Episode]) -> None:
        """Nothing to look at."""

    def close(self) -> None:
        """Drop the cache of conversations."""
        self._generator.close()

    def play(self, world: World, episodes: Sequence[Episode], parallel: int) -> Generator[Result, None, None]:
        """Play the episodes, ``parallel`` of them in step."""
        waiting = deque(enumerate(episodes))
        live: list[_Dialogue] = []
        with contextlib.ExitStack() as stack:
            free = [stack.enter_context(world.open()) for _ in range(min(parallel, len(episodes)))]
            while waiting or live:
                while waiting and free:
                    live.append(_Dialogue(free.pop(), *waiting.popleft(), self.settings.max_history))
                for dialogue in live:
                    if dialogue.result is not None:
                        failed = dialogue.result.outcome is None  # its environment may be of no more use
                        free.append(stack.enter_context(world.open()) if failed else dialogue.conversation)
                        yield dialogue.result
                live = [dialogue for dialogue in live if dialogue.result is None]
                self._answer(live)

    def _answer(self, dialogues: Sequence[_Dialogue]) -> None:
        if not dialogues:
            return
        responses = self.reply(
            [dialogue.chat for dialogue in dialogues],
            [seed_of(dialogue.episode.seed, "turn", dialogue.turns) for dialogue in dialogues],
            [dialogue.number for dialogue in dialogues],
            [dialogue.form for dialogue in dialogues],
        )
        for dialogue, response in zip(dialogues, responses, strict=True):
            dialogue.answer(response)

    def reply(
        self,
        chats: Sequence[list[Message]],
        seeds: Sequence[int],
        keys: Sequence[int] = (),
        forms: Sequence[Form | None] = (),
    ) -> list[Response]:
        """Sample an answer to each chat with its own seed.

        Args:
            chats: Chats whose last message is the environment's.
            seeds: Seed of each answer.
            keys: Number of each chat's episode; what the model has read of an episode is not read again.
            forms: Form of each answer, None where it is free; empty if all are free.

        Raises:
            AgentError: A chat is longer than the model's context.
        """
        prompts = self.template.prompts(chats)
        longest = max(map(len, prompts))
        limit = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        if limit is not None and longest + self.settings.max_tokens > limit:
            raise AgentError(
                f"{self.name}: a chat of {longest} tokens and an answer of {self.settings.max_tokens} do not fit into "
                f"the model's {limit}: cut the history with --max-history, or the answers with --max-tokens"
            )
        greedy = self.settings.temperature == 0
        params = SamplingParams(
            self.settings.max_tokens,
            temperature=1.0 if greedy else self.settings.temperature,
            top_k=1 if greedy else 0,
            seeds=tuple(seeds),
            choices=tuple(None if form is None else fitted(form, self.settings.max_tokens) for form in forms),
            keys=tuple(keys),
        )
        responses = []
        answers = self._generator.generate(prompts, params)
        for chat, prompt, own, (answer,) in zip(chats, prompts, params.each(len(chats)), answers, strict=True):
            usage = Usage(len(prompt), len(answer.token_ids or ()))
            self.log.write(
                Record(
                    key=prompt_key(chat, own),
                    model=self.name,
                    prompt=chat,
                    text=answer.text,
                    params=own.settings,
                    finish_reason=answer.finish_reason,
                    usage=usage,
                )
            )
            responses.append(Response(answer.text, usage))
        return responses


class _Dialogue:
    """One episode of a batch, with the chat to be answered next and the form of the answer."""

    def __init__(self, conversation: Conversation, number: int, episode: Episode, history: int | None) -> None:
        self.conversation, self.number, self.episode, self.turns = conversation, number, episode, 0
        self.chat: list[Message] = []
        self.form: Form | None = None
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
            self.chat, self.form = self._history.read(turn), turn.info.get("choices")
