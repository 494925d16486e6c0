"""``hf:CHECKPOINT``: a causal language model with a chat template, in this process."""

from __future__ import annotations

import contextlib
import time
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
from rlanything_agents.tools.benchmark.agent import Lockstep
from rlanything_agents.tools.benchmark.episode import Episode, Result, course
from rlanything_agents.tools.benchmark.errors import BenchmarkError, Outgrown
from rlanything_agents.tools.benchmark.pace import Pace
from rlanything_agents.tools.benchmark.player import History, Message, Response
from rlanything_agents.tools.benchmark.settings import MOST, tokens_for
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.llm.budget import Usage
from rlanything_envs.llm.generator import SamplingParams, SeenPrompt
from rlanything_envs.llm.log import PromptLog, Record, prompt_key
from rlanything_envs.message import images_of

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.episode import World
    from rlanything_agents.tools.benchmark.settings import ChatSettings
    from rlanything_envs.conversation import Conversation
    from rlanything_envs.llm.choices import Form

__all__ = ["CheckpointAgent"]


class CheckpointAgent(Lockstep):
    """Plays many episodes in step, so that the model answers all of them in one batch; a new one takes the place of one
    that has ended.

    The result of an episode depends on its own seed alone, up to the rounding of batched arithmetic.

    Args:
        checkpoint: Name of the model, as everywhere (`rlanything_agents.models.checkpoint`).
        settings: Sampling and history.
        log: File of the prompts and the answers. The seconds of an answer are those of its whole batch, which it waited
            for.
        turns: Maximum turns of an episode, for which answers are sized where ``settings`` do not say how long they are.

    Raises:
        BenchmarkError: There is no such model, its tokenizer has no chat template, or no answer fits into its context.
        MissingExtra: The package of the model is not installed.
    """

    parallel = 16

    def __init__(self, checkpoint: str, settings: ChatSettings, log: Path, turns: int) -> None:
        self.name = f"hf:{checkpoint}"
        self.log = PromptLog(log)
        transformers_logging.disable_progress_bar()
        config = CheckpointConfig(checkpoint=checkpoint, max_tokens=1, context=2)  # `reply` knows its own limits
        try:
            self.template = load_template(config)
            self.model = load_model(config, self.template.tokenizer, seed=0)
        except CheckpointError as error:
            raise BenchmarkError(f"{self.name} cannot be loaded: {error}") from error
        self.sees = self.template.images is not None
        self._generator = TransformersGenerator(self.model, self.template.tokenizer)
        shape = self.model.config.get_text_config()
        self.context: int | None = getattr(shape, "max_position_embeddings", None)
        read = turns if settings.max_history is None else min(turns, settings.max_history + 1)
        self.settings = settings.sized(MOST if self.context is None else tokens_for(self.context, read))
        if self.context is not None and self.settings.answer_tokens >= self.context:
            raise BenchmarkError(
                f"{self.name}: answers of {self.settings.answer_tokens} tokens leave no room for a chat in the model's "
                f"context of {self.context}: lower --max-tokens"
            )
        self.pace = Pace(self.model, turns)

    def progress(self) -> str:
        """How fast it plays, and how long the rest may take; another thread may ask."""
        return str(self.pace)

    def close(self) -> None:
        """Drop the cache of conversations."""
        self._generator.close()

    def play(self, world: World, episodes: Sequence[Episode], parallel: int) -> Generator[Result, None, None]:
        """Play the episodes, ``parallel`` of them in step."""
        waiting = deque(enumerate(episodes))
        live: list[_Dialogue] = []
        self.pace.begin()
        with contextlib.ExitStack() as stack:
            free = [stack.enter_context(world.open()) for _ in range(min(parallel, len(episodes)))]
            while waiting or live:
                while waiting and free:
                    live.append(_Dialogue(free.pop(), *waiting.popleft(), self.settings))
                for dialogue in live:
                    if dialogue.result is not None:
                        failed = dialogue.result.outcome is None  # its environment may be of no more use
                        free.append(stack.enter_context(world.open()) if failed else dialogue.conversation)
                        yield dialogue.result
                live = [dialogue for dialogue in live if dialogue.result is None]
                playing = sum(self.pace.most - dialogue.turns for dialogue in live)
                self.pace.left = playing + self.pace.most * len(waiting)
                self._answer(live)

    def _answer(self, dialogues: Sequence[_Dialogue]) -> None:
        if not dialogues:
            return
        prompts = self.template.prompts([dialogue.chat for dialogue in dialogues])
        fitting: list[tuple[_Dialogue, list[int]]] = []
        for dialogue, prompt in zip(dialogues, prompts, strict=True):
            if self.context is not None and len(prompt) + self.settings.answer_tokens > self.context:
                dialogue.fail(self._too_long(len(prompt), dialogue.turns))
            else:
                fitting.append((dialogue, prompt))
        if not fitting:
            return
        live = [dialogue for dialogue, _ in fitting]
        responses = self.reply(
            [dialogue.chat for dialogue in live],
            [seed_of(dialogue.episode.seed, "turn", dialogue.turns) for dialogue in live],
            [dialogue.number for dialogue in live],
            [dialogue.form for dialogue in live],
            [prompt for _, prompt in fitting],
        )
        for dialogue, response in zip(live, responses, strict=True):
            dialogue.answer(response)

    def _too_long(self, tokens: int, turns: int) -> Outgrown | InfrastructureError:
        """Failure of an episode whose next answer does not fit; before its first answer it is not the agent's."""
        told = (
            f"a chat of {tokens} tokens and an answer of {self.settings.answer_tokens} do not fit into the model's "
            f"context of {self.context}"
        )
        if turns:
            return Outgrown("overlong", told)
        return InfrastructureError(f"{told}: lower --max-tokens, or take a model with a longer context")

    def reply(
        self,
        chats: Sequence[list[Message]],
        seeds: Sequence[int],
        keys: Sequence[int] = (),
        forms: Sequence[Form | None] = (),
        prompts: Sequence[list[int]] | None = None,
    ) -> list[Response]:
        """Sample an answer to each chat with its own seed.

        Args:
            chats: Chats whose last message is the environment's.
            seeds: Seed of each answer.
            keys: Number of each chat's episode; what the model has read of an episode is not read again.
            forms: Form of each answer, None where it is free; empty if all are free.
            prompts: Token ids of the chats, if they are known.
        """
        prompts = self.template.prompts(chats) if prompts is None else prompts
        params = SamplingParams(
            self.settings.answer_tokens,
            temperature=self.settings.divisor,
            seeds=tuple(seeds),
            choices=tuple(forms),
            keys=tuple(keys),
        )
        begun = time.perf_counter()
        seen = [[image for message in chat for image in images_of(message["content"])] for chat in chats]
        answers = self._generator.generate([SeenPrompt.of(*pair) for pair in zip(prompts, seen, strict=True)], params)
        seconds = time.perf_counter() - begun
        responses = []
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
                    seconds=round(seconds, 3),
                )
            )
            responses.append(Response(answer.text, usage))
        self.pace.answered(sum(len(answer.token_ids or ()) for (answer,) in answers), len(chats))
        return responses


class _Dialogue:
    """One episode of a batch, with the chat to be answered next and the form of the answer."""

    def __init__(self, conversation: Conversation, number: int, episode: Episode, settings: ChatSettings) -> None:
        self.conversation, self.number, self.episode, self.turns = conversation, number, episode, 0
        self.chat: list[Message] = []
        self.form: Form | None = None
        self.result: Result | None = None
        self._history = History(settings.max_history, settings.images)
        self._course = course(conversation, episode, counts=True)
        self._go_on(None)

    def answer(self, response: Response) -> None:
        """Send an answer to the latest message."""
        self._history.wrote(response.text)
        self.turns += 1
        self._go_on(response)

    def fail(self, failure: Exception) -> None:
        """End the episode by a failure in place of an answer."""
        try:
            self._course.throw(failure)
        except StopIteration as end:
            self.result = end.value

    def _go_on(self, response: Response | None) -> None:
        try:
            turn = next(self._course) if response is None else self._course.send(response)
        except StopIteration as end:
            self.result = end.value
        else:
            self.chat, self.form = self._history.read(turn), turn.info.get("choices")
