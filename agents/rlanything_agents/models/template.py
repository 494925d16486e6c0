"""A tokenizer's chat template turn by turn, in token ids whose boundaries are exact.

A chat is rendered by the template and tokenised once. What stands between two responses is what the template adds to a
chat when it goes on; nothing before it is rendered or tokenised again. No text of an environment, a task or a model
comes to stand for a mark of the template: marks in it are written in other characters first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import TemplateError as JinjaError
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerBase, ProcessorMixin

__all__ = ["ChatTemplate", "Message", "TemplateError"]

Message = Mapping[str, Any]
"""A role, and content: a text, or a list of parts, as ``{"type": "text", "text": str}`` or an image."""

PLACE = "XresponseX"
"""Stands for a response while the template is rendered around it."""

FIXED = {"date_string": "01 Jan 2026"}
"""What templates would take from the clock: a run that goes on tomorrow must read what it would have read today."""


class TemplateError(ValueError):
    """A chat template that cannot be used, or images that its tokens do not match."""


class ChatTemplate:
    """Renders chats for one model.

    Args:
        tokenizer: A fast tokenizer with a chat template.
        thinking: Whether the template is to let the model think, where it has a switch for that.
        processor: Has the chat template in the tokenizer's place, for models that see images.

    Attributes:
        end_id: The id that closes a response.

    Raises:
        TemplateError: There is no template, or nothing in it closes a response.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        *,
        thinking: bool = False,
        processor: ProcessorMixin | None = None,
    ) -> None:
        self._renderer = processor or tokenizer
        if not self._renderer.chat_template:
            raise TemplateError("the tokenizer has no chat template: use an instruction-tuned checkpoint")
        if not tokenizer.is_fast:
            raise TemplateError(f"{type(tokenizer).__name__} is not a fast tokenizer: convert it to tokenizer.json")
        self.tokenizer = tokenizer
        self._options = {**FIXED, "enable_thinking": thinking, "thinking": thinking}
        self._marks = {i for i, token in tokenizer.added_tokens_decoder.items() if _is_mark(token)}
        self._closing = self._after_place([*_ASKED, _said(PLACE)], opens=False)
        self.end_id = self._find_end()
        self._end = tokenizer.added_tokens_decoder[self.end_id].content
        if not self._after_place([*_ASKED, _said(PLACE), _told("on")]).startswith(self._closing):
            raise TemplateError("the chat template closes a response otherwise when the chat goes on: it cannot append")

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """Ids of a chat up to the model's next response.

        Args:
            messages: With ``role`` and ``content``, whoever wrote it.

        Raises:
            TemplateError: The template refuses such a chat.
        """
        return self.encode(self.text(messages))

    def text(self, messages: Sequence[Message]) -> str:
        """The same as text, in which marks are the template's own."""
        return self._render([self._safe(message) for message in messages])

    def between(self, text: str) -> list[int]:
        """Ids between a response that `end_id` closed and the next one, which answers this text."""
        return self.encode(self.tail(_told(text)))

    def tail(self, message: Message, *, ended: bool = True) -> str:
        """What stands between a response and the next one, which answers this message.

        Args:
            message: A user's.
            ended: Whether the response has its `end_id`; if not, it is added.
        """
        tail = self._after_place([*_ASKED, _said(PLACE), self._safe(message)])
        return tail.removeprefix(self._end) if ended else tail

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a response, without the id that closes it."""
        ended = bool(ids) and ids[-1] == self.end_id
        return str(self.tokenizer.decode(list(ids[: len(ids) - ended]), skip_special_tokens=False))

    def answer(self, text: str) -> list[int]:
        """Ids of a response of this text, closed, as a demonstration gives it."""
        return [*self.encode(self.safe(text)), self.end_id]

    def encode(self, text: str) -> list[int]:
        """Ids of a text in which marks are marks: for rendered text only."""
        return list(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def safe(self, text: str) -> str:
        """The text without surrounding blanks and with nothing in it that the tokenizer takes for a mark.

        ``<|im_end|>`` becomes ``(im_end)``.
        """
        text = text.strip()
        for _ in range(8):  # once is enough, unless a tokenizer has marks of plain words
            found = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
            places = [at for i, at in zip(found["input_ids"], found["offset_mapping"], strict=True) if i in self._marks]
            if not places:
                return text
            for begin, end in reversed(places):
                text = text[:begin] + f"({' '.join(_WORDS.findall(text[begin:end]))})" + text[end:]
        raise TemplateError(f"the tokenizer takes ordinary words for marks, such as those of {text[:80]!r}")

    def _safe(self, message: Message) -> dict[str, Any]:
        content = message["content"]
        if isinstance(content, str):
            return {"role": message["role"], "content": self.safe(content)}
        parts = [{**part, "text": self.safe(part["text"])} if "text" in part else part for part in content]
        return {"role": message["role"], "content": parts}

    def _render(self, messages: Sequence[Message], *, opens: bool = True) -> str:
        try:
            return str(
                self._renderer.apply_chat_template(
                    [dict(message) for message in messages],
                    tokenize=False,
                    add_generation_prompt=opens,
                    **self._options,
                )
            )
        except JinjaError as error:
            raise TemplateError(f"the chat template refuses a chat of user and assistant: {error}") from error

    def _after_place(self, messages: Sequence[Message], *, opens: bool = True) -> str:
        """What the template writes after the response."""
        _, place, after = self._render(messages, opens=opens).partition(PLACE)
        if not place:
            raise TemplateError("the chat template leaves out what the assistant said")
        return after

    def _find_end(self) -> int:
        """The mark with which the template closes a response, else the tokenizer's end of sequence."""
        first = self.encode(self._closing)[:1]
        if first and first[0] in self._marks:
            return first[0]
        end: int | None = self.tokenizer.eos_token_id
        if end is None:
            raise TemplateError("the chat template closes a response with no mark, and the tokenizer has no eos token")
        return end


_WORDS = re.compile(r"\w+")


def _is_mark(token: AddedToken) -> bool:
    """Special, or between brackets of some kind as ``<think>``; words and blanks may have tokens of their own too."""
    text = token.content.strip()
    return bool(text) and (token.special or not (text[0].isalnum() or text[-1].isalnum()))


def _told(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def _said(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


_ASKED = (_told("go"),)
