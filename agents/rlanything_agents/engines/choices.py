"""Forms of answers over token ids: the ids allowed next, for the tokenizer of any model.

Each text of a form is tokenised by itself, and the ids of neighbouring texts are concatenated: with a tokenizer of
bytes they decode to the text of the form, with a tokenizer of words to its words. A text may have no ids at all
(``": "``, where a tokenizer drops punctuation).

Free text (`Prose`) is sampled among the tokens of its characters and those with which the form goes on. These are
nearly the whole vocabulary, so such a token counts as free: `Place.allowed` is None there, and `Place.mask` limits the
sampling as ``top_p`` does, without a part in the log-probability.

Many turns offer the same commands, and other turns differ in a few of them. So forms are computed once, place by place
as answers reach them; and so are the parts that different forms share: the ids of each text, and the prefix tree of a
`OneOf` of texts.

llguidance 1.9.1 does not replace this module: it has no place for free text of at most some characters over the ids of
a word tokenizer, which small models have. Forms of listed texts alone took 12.1 and 12.8 s of processor time an
iteration here, and 13.6 and 14.5 s with it (``python -m benchmarks.loop --clock cpu --rounds 0 --iterations 2``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from rlanything_envs.llm.choices import Form, OneOf, Prose, Repeat, Then

__all__ = ["FormTokens", "Place", "literal_encoder"]

PLACES = 2**15
"""Maximum places of all forms that are kept for later answers, some 30 MB."""


def literal_encoder(tokenizer: PreTrainedTokenizerBase) -> Callable[[str], list[int]]:
    """Encoder of texts in which special tokens are plain text.

    It has its own tokenizer: whether special tokens are split is a state of a tokenizer, and environments render
    prompts with the shared one in other threads meanwhile.
    """
    own = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    own.no_padding()
    own.no_truncation()
    own.encode_special_tokens = True
    return lambda text: list(own.encode(text, add_special_tokens=False).ids)


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
        self.alphabet = lru_cache(maxsize=16)(self._alphabet)
        self.mask = lru_cache(maxsize=2**10)(self._mask)
        self._starts: dict[Form, Place] = {}
        self.places = 0
        """Places of `_starts` and after them."""

    def start(self, form: Form) -> Place:
        """Place before the first token of a form.

        Raises:
            ValueError: A text of the form holds the end of sequence.
        """
        if self.places > PLACES:
            self._starts, self.places = {}, 0
        if (place := self._starts.get(form)) is None:
            place = self._starts[form] = _Walk(self).place([_Step(form, None, "")])
            self.places += 1
        return place

    def _tokenise(self, text: str) -> tuple[int, ...]:
        ids = tuple(self._encode(text))
        if self.end in ids:
            raise ValueError(f"choices: {text[:80]!r} holds the end of sequence, which only the engine writes")
        return ids

    @cached_property
    def _encode(self) -> Callable[[str], list[int]]:
        return literal_encoder(self._tokenizer)

    @cached_property
    def _texts(self) -> list[str]:
        """Text of each id in the middle of a line; empty where it has none, as the marks of a chat template.

        Some tokenizers drop the blank at the beginning of a text, so each is decoded after another one.
        """
        anchor = self._tokenizer.encode("a", add_special_tokens=False)[-1:]
        pairs = [[*anchor, token] for token in range(len(self._tokenizer))]
        before = self._tokenizer.decode(anchor, clean_up_tokenization_spaces=False)
        texts: list[str] = self._tokenizer.batch_decode(pairs, clean_up_tokenization_spaces=False)
        marks = {*self._tokenizer.all_special_ids, *self._tokenizer.get_added_vocab().values()}
        return [
            "" if token in marks or not text.startswith(before) else text[len(before) :]
            for token, text in enumerate(texts)
        ]

    def _alphabet(self, characters: str, first: str) -> _Alphabet:
        return _Alphabet(self._texts, characters, first)

    def _mask(self, proses: frozenset[tuple[_Alphabet, int]], ids: tuple[int, ...]) -> NDArray[np.bool_]:
        """Mask of the tokens of free texts, each with the characters that it has left, and of further ids."""
        mask = np.zeros(len(self._texts), dtype=np.bool_)
        for alphabet, left in proses:
            mask |= (alphabet.lengths > 0) & (alphabet.lengths <= left)
        mask[list(ids)] = True
        return mask

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
        allowed: Ids that may come next, ascending; empty after the end of sequence; None within free text.
        mask: Within free text, bool array of shape (ids of the tokenizer,): whether an id may come next; else None.
        text: Text of the answer where the form is complete, else None. Of several texts with the same ids it is the
            first.
    """

    __slots__ = ("_next", "_open", "_walk", "allowed", "mask", "text")

    allowed: tuple[int, ...] | None
    mask: NDArray[np.bool_] | None

    def __init__(self, walk: _Walk, places: _Open, ended: str | None) -> None:
        self._walk, self._open, self.text = walk, places, ended
        self._next: dict[int, Place] = {}
        self.mask = None
        if len(places) == 1 and ended is None:
            ((node, _),) = places
            if isinstance(node, _Node):
                self.allowed = node.allowed
                return
        proses = frozenset((node.alphabet, node.reach) for node, _ in places if isinstance(node, _ProseNode))
        ids = {token for node, _ in places for token in node.allowed}
        self.allowed = tuple(sorted(ids | {walk.tokens.end} if ended is not None else ids))
        if proses:
            self.allowed, self.mask = None, walk.tokens.mask(proses, self.allowed)

    def admits(self, token: int) -> bool:
        """Whether a token may come next."""
        if self.mask is not None:
            return 0 <= token < len(self.mask) and bool(self.mask[token])
        return self.allowed is not None and token in self.allowed

    def after(self, token: int) -> Place:
        """Place after a further token, one that it `admits`."""
        if (place := self._next.get(token)) is None:
            place = self._step(token)
            if self.mask is None:  # hardly two free texts are the same
                self._next[token] = place
                self._walk.tokens.places += 1
        return place

    def _step(self, token: int) -> Place:
        if token == self._walk.tokens.end:
            return _Done(self)
        steps = [
            _Step(node.after(token), rest, text) for (node, rest), text in self._open.items() if node.admits(token)
        ]
        return self._walk.place(steps)


class _Done(Place):
    """Place after the end of sequence."""

    __slots__ = ()

    def __init__(self, place: Place) -> None:
        self._walk, self._open, self._next = place._walk, {}, {}
        self.allowed, self.mask, self.text = (), None, place.text


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

    def admits(self, token: int) -> bool:
        """Whether there is a child of this id."""
        return token in self._next

    def after(self, token: int) -> _Node:
        """Child of one of the `allowed` ids."""
        node = self._next[token]
        if isinstance(node, list):
            self._next[token] = node = _Node(node, self._depth + 1)
        return node


class _Alphabet:
    """Ids whose texts consist of some characters, and begin with some of them unless no id does (a tokenizer of words).

    Attributes:
        texts: Text of each id.
        lengths: Shape (ids,): characters of each id; 0 for those that hold others, or none.
        shortest: Fewest characters of an id that counts.
        longest: Maximum characters of one.
    """

    __slots__ = ("lengths", "longest", "shortest", "texts")

    def __init__(self, texts: list[str], characters: str, first: str) -> None:
        known, beginnings = frozenset(characters), frozenset(first)
        self.texts = texts
        lengths = np.array([len(text) if known.issuperset(text) else 0 for text in texts], dtype=np.int64)
        begun = np.where([text[:1] in beginnings for text in texts], lengths, 0)
        self.lengths = begun if begun.any() else lengths
        self.longest = int(self.lengths.max(initial=0))
        self.shortest = int(self.lengths[self.lengths > 0].min(initial=self.longest))


class _ProseNode:
    """Place within a free text.

    Attributes:
        alphabet: Its tokens.
        text: Its characters so far.
        later: Its tokens after the first one, before which it may not end; None where it may.
        allowed: Empty: its tokens are too many to list; see `FormTokens.mask`.
    """

    __slots__ = ("_left", "alphabet", "later", "text")

    allowed: tuple[int, ...] = ()

    def __init__(self, alphabet: _Alphabet, left: int, text: str, later: _Alphabet | None = None) -> None:
        self.alphabet, self._left, self.text, self.later = alphabet, left, text, later

    @property
    def reach(self) -> int:
        """Maximum characters of the next token."""
        return min(self._left, self.alphabet.longest)

    @property
    def open(self) -> bool:
        """Whether there is room for a further token."""
        return 0 < self.alphabet.shortest <= self._left

    def admits(self, token: int) -> bool:
        """Whether it may go on with a token."""
        return 0 <= token < len(self.alphabet.texts) and 0 < self.alphabet.lengths[token] <= self._left

    def after(self, token: int) -> _ProseNode:
        """Place after one of the tokens that it `admits`."""
        text = self.alphabet.texts[token]
        return _ProseNode(self.later or self.alphabet, self._left - len(text), self.text + text)


class _Rest:
    """Continuation of a form: the parts of a `Then` from ``at`` on, or a `Repeat` after ``at`` repetitions."""

    __slots__ = ("at", "form", "rest")

    def __init__(self, form: Then | Repeat, at: int, rest: _Rest | None) -> None:
        self.form, self.at, self.rest = form, at, rest


_Open: TypeAlias = dict[tuple[_Node | _ProseNode, _Rest | None], str]
"""Open ways through a form: node of the next token and continuation after it -> text written before."""


class _Step(NamedTuple):
    """Step without a token: a form to begin, a node, or None for a complete part; what follows; the text so far."""

    form: Form | _Node | _ProseNode | None
    rest: _Rest | None
    text: str


class _Walk:
    """All ways through one form. Equal continuations are one object, so that two ways never visit a place twice."""

    def __init__(self, tokens: FormTokens) -> None:
        self.tokens = tokens
        self._rests: dict[tuple[Form, int, _Rest | None], _Rest] = {}

    def place(self, steps: list[_Step]) -> Place:
        """Place that these steps reach without a token."""
        places: _Open = {}
        ended: str | None = None
        seen: set[tuple[object, _Rest | None]] = set()
        steps.reverse()
        while steps:
            form, rest, text = steps.pop()
            if (key := (form, rest)) in seen:
                continue
            seen.add(key)
            if form is None and rest is None:
                ended = text if ended is None else ended
            elif form is None:
                steps += self._follow(rest, text)  # type: ignore[arg-type]
            elif isinstance(form, (Then, Repeat)):
                steps.append(_Step(None, self._rest(form, 0, rest), text))
            elif isinstance(form, (Prose, _ProseNode)):
                prose = form
                if isinstance(prose, Prose):
                    later = self.tokens.alphabet(prose.characters, prose.characters) if prose.begun else None
                    prose = _ProseNode(self.tokens.alphabet(prose.characters, prose.first), prose.most, "", later)
                if prose.open:
                    places.setdefault((prose, rest), text)
                if prose.later is None or not prose.open:
                    steps.append(_Step(None, rest, text + prose.text))
            else:
                node = form if isinstance(form, _Node) else self.tokens.node(form)
                if node is None:
                    steps += [_Step(option, rest, text) for option in reversed(form.options)]  # type: ignore[union-attr]
                    continue
                if node.allowed:
                    places.setdefault((node, rest), text)
                if node.text is not None:
                    steps.append(_Step(None, rest, text + node.text))
        return Place(self, places, ended)

    def _follow(self, rest: _Rest, text: str) -> list[_Step]:
        """Steps into the next part and past it; the first alternative is the last of the list."""
        form, at = rest.form, rest.at
        if isinstance(form, Then):
            if at == len(form.parts):
                return [_Step(None, rest.rest, text)]
            return [_Step(form.parts[at], self._rest(form, at + 1, rest.rest), text)]
        steps = [_Step(form.part, self._rest(form, at + 1, rest.rest), text)] if at < form.most else []
        return [*steps, _Step(None, rest.rest, text)] if at >= form.least else steps

    def _rest(self, form: Then | Repeat, at: int, rest: _Rest | None) -> _Rest:
        key = (form, at, rest)
        if key not in self._rests:
            self._rests[key] = _Rest(form, at, rest)
        return self._rests[key]
