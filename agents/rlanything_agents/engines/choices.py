"""Forms of answers over token ids: what may come next, for the tokenizer of any model.

Each text of a form is tokenised by itself, and the ids of neighbouring texts stand side by side: with a tokenizer that
works on bytes they decode to the text of the form, with one of words to its words. A text may have no ids at all
(``": "``, where a tokenizer drops punctuation).

Forms of one turn after the other differ in a few commands. So what is equal between them is worked out once: the ids of
each text, and what may come next within a `OneOf` of texts.
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
        tokenizer: Has an end of sequence, which follows a complete form.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.end: int = tokenizer.eos_token_id
        self._tokenizer = tokenizer
        # A turn offers some thirty commands, nearly all of which were offered before.
        self._ids = lru_cache(maxsize=2**16)(self._tokenise)
        self.node = lru_cache(maxsize=2**12)(self._node)

    def start(self, form: Form) -> Place:
        """The place before the first token of a form.

        Raises:
            ValueError: A text of the form holds the end of sequence.
        """
        return _Walk(self, form).place([(form, None, None)])

    def allowed(self, form: Form, ids: Sequence[int]) -> list[tuple[int, ...] | None]:
        """For each id the ids that it was chosen from; None from the first that leaves the form on.

        Args:
            form: The form of an answer.
            ids: Its tokens, chosen by another program, which may have divided the text in another way.
        """
        place, found = self.start(form), list[tuple[int, ...] | None]()
        for token in ids:
            if token not in place.allowed:
                break
            found.append(place.allowed)
            place = place.after(token)
        return found + [None] * (len(ids) - len(found))

    def _tokenise(self, text: str) -> tuple[int, ...]:
        ids = tuple(self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True))
        if self.end in ids:
            raise ValueError(f"choices: {text[:80]!r} holds the end of sequence, which only the engine writes")
        return ids

    def _node(self, form: str | OneOf) -> _Node | None:
        """Where a text, or one of several texts, begins; None if there is more than texts in it."""
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
    """How far a form has been written; never changed, so that all that have written the same share it.

    Attributes:
        allowed: Ids that may come next, ascending; empty after the end of sequence.
        text: What was written, where the form is complete, else None. Texts that no ids tell apart are the first of
            them.
    """

    __slots__ = ("_next", "_open", "_walk", "allowed", "text")

    def __init__(self, walk: _Walk, places: _Open, ended: _Text) -> None:
        self._walk, self._open, self.text = walk, places, None if ended is None else _join(ended)
        self._next: dict[int, Place] = {}
        if len(places) == 1 and ended is None:
            ((node, _),) = places
            self.allowed = node.allowed  # the same object for all that stand here: `sample_tokens` makes use of it
        else:
            ids = {token for node, _ in places for token in node.allowed}
            self.allowed = tuple(sorted(ids | {walk.tokens.end} if ended is not None else ids))

    def after(self, token: int) -> Place:
        """The place after a further token, one of `allowed`."""
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
    """After the end of sequence."""

    __slots__ = ()

    def __init__(self, place: Place) -> None:
        self._walk, self._open, self._next = place._walk, {}, {}
        self.allowed, self.text = (), place.text


class _Node:
    """A place within one of several texts.

    Attributes:
        allowed: Ids that lead on, ascending.
        text: The text that is complete here, if one is.
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
        """The place after one of `allowed`."""
        node = self._next[token]
        if isinstance(node, list):
            self._next[token] = node = _Node(node, self._depth + 1)
        return node


class _Rest:
    """What follows a part of a form: the parts of a `Then` from one on, or a `Repeat` that was written some times."""

    __slots__ = ("at", "form", "rest")

    def __init__(self, form: Then | Repeat, at: int, rest: _Rest | None) -> None:
        self.form, self.at, self.rest = form, at, rest


_Text: TypeAlias = "tuple[_Text, str] | None"
"""What was written: all but the last text, and the last."""

_Open: TypeAlias = dict[tuple[_Node, _Rest | None], _Text]
"""Where a token is read, what follows it, and what was written before."""

_Step: TypeAlias = "tuple[Form | _Node | None, _Rest | None, _Text]"
"""A form to begin, a place within texts, or None for a part that is complete; what follows; what was written."""


class _Walk:
    """All ways through one form. Equal rests are one object, so that no place is visited twice by two ways."""

    def __init__(self, tokens: FormTokens, form: Form) -> None:
        self.tokens, self._form = tokens, form  # it keeps the parts alive whose addresses name the rests
        self._rests: dict[tuple[int, int, _Rest | None], _Rest] = {}

    def place(self, steps: list[_Step]) -> Place:
        """The place where these steps lead without a token."""
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
        """The next part, and what follows it, the last of them first."""
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
