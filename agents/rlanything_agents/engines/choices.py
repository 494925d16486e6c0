"""Forms of answers over token ids: the ids allowed next, for the tokenizer of any model.

Each text of a form is tokenised by itself, and the ids of neighbouring texts are concatenated: with a tokenizer of
bytes they decode to the text of the form, with a tokenizer of words to its words. A text may have no ids at all
(``": "``, where a tokenizer drops punctuation).

The forms of successive turns differ in a few commands. So the parts that they share are computed once: the ids of each
text, and the prefix tree of a `OneOf` of texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

from transformers import PreTrainedTokenizerBase

from rlanything_envs.llm.choices import Form, OneOf, Repeat, Then

__all__ = ["FormTokens", "Place"]


class FormTokens:
    """Forms over the ids of one tokenizer.

    Args:
        tokenizer: Tokenizer with an end of sequence, which follows a complete form.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.end: int = tokenizer.eos_token_id
        self._tokenizer = tokenizer
        # A turn offers some thirty commands, and earlier turns have offered nearly all of them.
        self._ids = lru_cache(maxsize=2**16)(self._tokenise)
        self.node = lru_cache(maxsize=2**12)(self._node)

    def start(self, form: Form) -> Place:
        """Place before the first token of a form.

        Raises:
            ValueError: A text of the form holds the end of sequence.
        """
        return _Walk(self, form).place([(form, None, None)])

    def allowed(self, form: Form, ids: Sequence[int]) -> list[tuple[int, ...] | None]:
        """Allowed ids at each position of an answer; None from the first id on that leaves the form.

        Args:
            form: Form of the answer.
            ids: Ids of the answer from another engine, which may have tokenised the text in another way.
        """
        place, allowed = self.start(form), list[tuple[int, ...] | None]()
        for token in ids:
            if token not in place.allowed:
                break
            allowed.append(place.allowed)
            place = place.after(token)
        return allowed + [None] * (len(ids) - len(allowed))

    def _tokenise(self, text: str) -> tuple[int, ...]:
        ids = tuple(self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True))
        if self.end in ids:
            raise ValueError(f"choices: {text[:80]!r} holds the end of sequence, which only the engine writes")
        return ids

    def _node(self, form: str | OneOf) -> _Node | None:
        """Root of the prefix tree of a text or of several texts; None if an option is not a plain text."""
        options: list[tuple[tuple[int, ...], str]] = []
        for option in (form,) if isinstance(form, str) else form.options:
            if isinstance(option, str):
                options.append((self._ids(option), option))
            elif isinstance(option, Then) and all(isinstance(part, str) for part in option.parts):
                texts: list[str] = list(option.parts)  # type: ignore[arg-type]
                options.append((tuple(token for text in texts for token in self._ids(text)), "".join(texts)))
            else:
                return None
        return _Node(options, 0)


class Place:
    """Position within a form after some ids; immutable, so that all answers with the same ids share it.

    Attributes:
        allowed: Ids that may come next, ascending; empty after the end of sequence.
        text: Text of the answer where the form is complete, else None. Of several texts with the same ids it is the
            first.
    """

    __slots__ = ("_next", "_open", "_walk", "allowed", "text")

    def __init__(self, walk: _Walk, places: _Open, ended: _Text) -> None:
        self._walk, self._open, self.text = walk, places, None if ended is None else _join(ended)
        self._next: dict[int, Place] = {}
        if len(places) == 1 and ended is None:
            ((node, _),) = places
            self.allowed = node.allowed  # one object for all answers here: `sample_tokens` relies on its identity
        else:
            ids = {token for node, _ in places for token in node.allowed}
            self.allowed = tuple(sorted(ids | {walk.tokens.end} if ended is not None else ids))

    def after(self, token: int) -> Place:
        """Place after a further token, one of `allowed`."""
        if token not in self._next:
            self._next[token] = self._step(token)
        return self._next[token]

    def _step(self, token: int) -> Place:
        if token == self._walk.tokens.end:
            return _Done(self)
        steps = [(node.after(token), rest, text) for (node, rest), text in self._open.items() if token in node.allowed]
        if len(steps) == 1 and steps[0][0].text is None:
            node, rest, text = steps[0]
            return Place(self._walk, {(node, rest): text}, None)
        return self._walk.place([(node, rest, text) for node, rest, text in steps])


class _Done(Place):
    """Place after the end of sequence."""

    __slots__ = ()

    def __init__(self, place: Place) -> None:
        self._walk, self._open, self._next = place._walk, {}, {}
        self.allowed, self.text = (), place.text


class _Node:
    """Node of the prefix tree of several texts.

    Attributes:
        allowed: Ids of its children, ascending.
        text: Text that is complete here, if there is one.
    """

    __slots__ = ("_depth", "_next", "allowed", "text")

    def __init__(self, options: Iterable[tuple[tuple[int, ...], str]], depth: int) -> None:
        self._depth = depth
        self._next: dict[int, _Node | list[tuple[tuple[int, ...], str]]] = {}
        self.text: str | None = None
        for option in options:
            ids, text = option
            if len(ids) > depth:
                self._next.setdefault(ids[depth], []).append(option)  # type: ignore[union-attr]
            elif self.text is None:
                self.text = text
        self.allowed = tuple(sorted(self._next))

    def after(self, token: int) -> _Node:
        """Child of one of the `allowed` ids."""
        node = self._next[token]
        if isinstance(node, list):
            self._next[token] = node = _Node(node, self._depth + 1)
        return node


class _Rest:
    """Continuation of a form: the parts of a `Then` from ``at`` on, or a `Repeat` after ``at`` repetitions."""

    __slots__ = ("at", "form", "rest")

    def __init__(self, form: Then | Repeat, at: int, rest: _Rest | None) -> None:
        self.form, self.at, self.rest = form, at, rest


_Text: TypeAlias = "tuple[_Text, str] | None"
"""Texts written so far, as a linked list: all but the last text, and the last text."""

_Open: TypeAlias = dict[tuple[_Node, _Rest | None], _Text]
"""Open ways through a form: node of the next token and continuation after it -> texts written before."""

_Step: TypeAlias = "tuple[Form | _Node | None, _Rest | None, _Text]"
"""Step without a token: a form to begin, a node, or None for a complete part; the continuation; the texts so far."""


class _Walk:
    """All ways through one form. Equal continuations are one object, so that two ways never visit a place twice."""

    def __init__(self, tokens: FormTokens, form: Form) -> None:
        self.tokens, self._form = tokens, form  # keeps the parts alive whose addresses are keys of the continuations
        self._rests: dict[tuple[int, int, _Rest | None], _Rest] = {}

    def place(self, steps: list[_Step]) -> Place:
        """Place that these steps reach without a token."""
        places: _Open = {}
        ended: _Text = None
        seen: set[tuple[int, _Rest | None]] = set()
        steps.reverse()
        while steps:
            form, rest, text = steps.pop()
            if (key := (id(form), rest)) in seen:
                continue
            seen.add(key)
            if form is None and rest is None:
                ended = text or (None, "") if ended is None else ended
            elif form is None:
                steps += self._follow(rest, text)  # type: ignore[arg-type]
            elif isinstance(form, (Then, Repeat)):
                steps.append((None, self._rest(form, 0, rest), text))
            else:
                node = form if isinstance(form, _Node) else self.tokens.node(form)
                if node is None:
                    steps += [(option, rest, text) for option in reversed(form.options)]  # type: ignore[union-attr]
                    continue
                if node.allowed:
                    places.setdefault((node, rest), text)
                if node.text is not None:
                    steps.append((None, rest, (text, node.text)))
        return Place(self, places, ended)

    def _follow(self, rest: _Rest, text: _Text) -> list[_Step]:
        """Steps into the next part and past it; the first alternative is the last of the list."""
        form, at = rest.form, rest.at
        if isinstance(form, Then):
            if at == len(form.parts):
                return [(None, rest.rest, text)]
            return [(form.parts[at], self._rest(form, at + 1, rest.rest), text)]
        steps: list[_Step] = [(form.part, self._rest(form, at + 1, rest.rest), text)] if at < form.most else []
        return [*steps, (None, rest.rest, text)] if at >= form.least else steps

    def _rest(self, form: Then | Repeat, at: int, rest: _Rest | None) -> _Rest:
        key = (id(form), at, rest)
        if key not in self._rests:
            self._rests[key] = _Rest(form, at, rest)
        return self._rests[key]


def _join(text: _Text) -> str:
    parts: list[str] = []
    while text is not None:
        text, last = text
        parts.append(last)
    return "".join(reversed(parts))
