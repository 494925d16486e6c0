"""Chat template of a tokenizer, applied turn by turn, in token ids with exact boundaries.

The template renders a chat, and each part of it is tokenised once. The text between two responses is the text that the
template adds when a chat goes on; nothing before it is rendered or tokenised again. Special tokens in untrusted text
(of an environment, a task or a model) are escaped before tokenisation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import TemplateError as JinjaError
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerBase

from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.models.image_reader import ImageReader
from rlanything_envs.message import Content, Image, images_of

__all__ = ["ChatTemplate", "Message"]

Message = Mapping[str, Any]
"""Message of a chat: ``role``, and ``content``, a text or a tuple of texts and images (`rlanything_envs.message`)."""

PLACEHOLDER = "XresponseX"
"""Placeholder of a response while the template is rendered around it."""

FIXED = {"date_string": "01 Jan 2026"}
"""Fixed values for variables that templates take from the clock: a run that continues tomorrow must read the same
text as today."""


class ChatTemplate:
    """Renderer of chats for one model.

    Args:
        tokenizer: Fast tokenizer with a chat template.
        thinking: Whether the model thinks before it answers, where the template has a switch for that.
        images: Reader of the images of a model that sees; None for a model that reads text alone.

    Attributes:
        end_id: Id of the special token that closes a response.
        images: The same.

    Raises:
        CheckpointError: There is no template, the tokenizer is not a fast one, no special token closes a response, or
            the template changes an earlier response when the chat goes on.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, *, thinking: bool = False, images: ImageReader | None = None
    ) -> None:
        if not tokenizer.chat_template:
            raise CheckpointError("the tokenizer has no chat template: use an instruction-tuned checkpoint")
        if not tokenizer.is_fast:
            raise CheckpointError(f"{type(tokenizer).__name__} is not a fast tokenizer: convert it to tokenizer.json")
        self.tokenizer, self.images = tokenizer, images
        self._options = {**FIXED, "enable_thinking": thinking, "thinking": thinking}
        self._marks = {i for i, token in tokenizer.added_tokens_decoder.items() if _is_mark(token)}
        self._closing = self._after_response([*_OPENING, _assistant(PLACEHOLDER)], opens=False)
        self.end_id = self._find_end()
        self._end = tokenizer.added_tokens_decoder[self.end_id].content
        self._lead = self._closing.partition(self._end)[0] if self._end in self._closing else ""
        if not self._after_response([*_OPENING, _assistant(PLACEHOLDER), _user("on")]).startswith(self._closing):
            raise CheckpointError(
                "the chat template closes a response otherwise when the chat goes on: it cannot append"
            )

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """Ids of a chat up to the model's next response, with as many placeholders of each image as it has tokens.

        Args:
            messages: Messages with ``role`` and ``content``; their content is untrusted.

        Raises:
            CheckpointError: The template refuses such a chat, or it holds an image and the model reads text alone.
        """
        return self.prompts([messages])[0]

    def prompts(self, chats: Sequence[Sequence[Message]]) -> list[list[int]]:
        """Ids of several chats, each as `prompt` gives them, with one call of the tokenizer.

        Raises:
            CheckpointError: The template refuses one of the chats.
        """
        every = self._encode([self._render(chat) for chat in self._safe(chats)])
        return [
            self._expanded(ids, [image for message in chat for image in images_of(message["content"])])
            for ids, chat in zip(every, chats, strict=True)
        ]

    def text(self, messages: Sequence[Message]) -> str:
        """Text of a chat up to the model's next response; all special tokens in it are the template's own."""
        return self._render(self._safe([messages])[0])

    def between(self, content: Content) -> list[int]:
        """Ids between a response that `end_id` closed and the next response, which answers the user's ``content``."""
        chat = [*_OPENING, _assistant(PLACEHOLDER), *self._safe([[_user(content)]])[0]]
        ids = self.encode(self._after_response(chat).removeprefix(self._lead + self._end))
        return self._expanded(ids, images_of(content))

    def decode(self, ids: Sequence[int]) -> str:
        """Text of a response without the id that closes it."""
        ended = bool(ids) and ids[-1] == self.end_id
        return str(self.tokenizer.decode(list(ids[: len(ids) - ended]), skip_special_tokens=False))

    def answer(self, text: str) -> list[int]:
        """Ids of a response with this text, closed by `end_id`, for a demonstration."""
        return [*self.encode(self.safe(text) + self._lead), self.end_id]

    def encode(self, text: str) -> list[int]:
        """Ids of a text whose special tokens are not escaped; for rendered text only."""
        return self._encode([text])[0]

    def safe(self, text: str) -> str:
        """Strip a text and escape every special token in it: ``<|im_end|>`` becomes ``(im_end)``.

        Raises:
            CheckpointError: The tokenizer treats ordinary words as special tokens, and no escape removes them.
        """
        return self._all_safe([text])[0]

    def _expanded(self, ids: list[int], images: Sequence[Image]) -> list[int]:
        return ids if self.images is None else self.images.expanded(ids, images)

    def _encode(self, texts: list[str]) -> list[list[int]]:
        return list(self.tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]) if texts else []

    def _all_safe(self, texts: Sequence[str]) -> list[str]:
        """See `safe`."""
        texts = [text.strip() for text in texts]
        unsafe = list(range(len(texts)))
        for _ in range(8):  # once is enough, unless a tokenizer has special tokens of plain words
            some = [texts[at] for at in unsafe]
            ids = self._encode(some)
            unsafe = [at for at, found in zip(unsafe, ids, strict=True) if not self._marks.isdisjoint(found)]
            if not unsafe:
                return texts
            for at in unsafe:
                texts[at] = self._escaped(texts[at])
        raise CheckpointError(
            f"the tokenizer takes ordinary words for marks, such as those of {texts[unsafe[0]][:80]!r}"
        )

    def _escaped(self, text: str) -> str:
        encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        spans = list(zip(encoded["input_ids"], encoded["offset_mapping"], strict=True))
        for token, (begin, end) in reversed(spans):
            if token in self._marks:
                text = text[:begin] + f"({' '.join(_WORDS.findall(text[begin:end]))})" + text[end:]
        return text

    def _safe(self, chats: Sequence[Sequence[Message]]) -> list[list[dict[str, Any]]]:
        """The chats with all texts in them escaped.

        Raises:
            CheckpointError: A message calls a tool, is the result of a call, or holds an image, and the model is blind.
        """
        for chat in chats:
            for message in chat:
                if message["role"] == "tool" or "tool_calls" in message:
                    raise CheckpointError(
                        "a chat has tool calls, and models act in text here: play it without tools, or train with "
                        "another trainer (docs/howto/tools.md)"
                    )
                if self.images is None and images_of(message["content"]):
                    raise CheckpointError("a chat holds an image, and the model reads text alone: choose one that sees")
        chats = [[{**message, "content": _joined(message["content"])} for message in chat] for chat in chats]
        texts = [text for chat in chats for message in chat for text in _texts(message["content"])]
        safe = iter(self._all_safe(texts))

        def content(given: Any) -> Any:
            if isinstance(given, str):
                return next(safe)
            return [
                {"type": "text", "text": next(safe)} if isinstance(part, str) else {"type": "image"} for part in given
            ]

        return [
            [{"role": message["role"], "content": content(message["content"])} for message in chat] for chat in chats
        ]

    def _render(self, messages: Sequence[Message], *, opens: bool = True) -> str:
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    [dict(message) for message in messages],
                    tokenize=False,
                    add_generation_prompt=opens,
                    **self._options,
                )
            )
        except (JinjaError, ValueError) as error:
            raise CheckpointError(f"the chat template refuses a chat of user and assistant: {error}") from error

    def _after_response(self, messages: Sequence[Message], *, opens: bool = True) -> str:
        """Text that the template writes after the response."""
        _, placeholder, after = self._render(messages, opens=opens).partition(PLACEHOLDER)
        if not placeholder:
            raise CheckpointError("the chat template leaves out the assistant's response")
        return after

    def _find_end(self) -> int:
        """Id of the special token with which the template closes a response, else the tokenizer's end of sequence."""
        if first := next((token for token in self.encode(self._closing) if token in self._marks), None):
            return first
        end: int | None = self.tokenizer.eos_token_id
        if end is None:
            raise CheckpointError(
                "the chat template closes a response with no mark, and the tokenizer has no eos token"
            )
        return end


_WORDS = re.compile(r"\w+")


def _is_mark(token: AddedToken) -> bool:
    """Whether an added token is special, or in brackets of some kind as ``<think>``; words and blanks can be added
    too."""
    text = token.content.strip()
    return bool(text) and (token.special or not (text[0].isalnum() or text[-1].isalnum()))


def _texts(content: Content) -> list[str]:
    """Texts of the content of a message."""
    return [content] if isinstance(content, str) else [part for part in content if isinstance(part, str)]


def _joined(content: Content) -> Content:
    """Content with neighbouring texts in one, in which a mark cannot hide; a text alone is a plain string."""
    if isinstance(content, str):
        return content
    parts: list[Any] = []
    for part in content:
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        else:
            parts.append(part)
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else tuple(parts)


def _user(content: Content) -> dict[str, Any]:
    return {"role": "user", "content": content}


def _assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


_OPENING = (_user("go"),)
