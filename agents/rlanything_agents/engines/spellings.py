"""Ids that vLLM's structured outputs allow at each token of an answer, computed from the form of the answer alone.

A grammar of vLLM is one of texts: it allows every id whose bytes go on with the text so far, so ``go to`` + `` `` +
``bed`` as well as the tokenizer's own ``go`` + `` to`` + `` bed``. Its log-probabilities are over these ids. A trainer
has to normalise over the same ones, so they are computed again here: the form becomes an automaton over bytes, made
state by state, and an id is allowed if its bytes lead to a state. Marks of a chat template count as their texts, as
they do there; the ends of a sequence are allowed where the form may end, and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import TypeAlias, cast

import numpy as np
from transformers import PreTrainedTokenizerBase
from transformers.convert_slow_tokenizer import bytes_to_unicode

from rlanything_envs.llm.choices import Form, OneOf, Prose, Repeat, Then

__all__ = ["Spellings"]

FORMS = 512
"""Maximum forms whose states are kept for later answers."""

SETS = 128
"""Maximum sets of free text of which equal ones are one object, some 2 MB each for a vocabulary of 50,000."""


class Spellings:
    """Ids that spell forms, for one tokenizer.

    Args:
        tokenizer: Tokenizer of the model.
        stops: Ids that may follow a complete form.

    Attributes:
        texts: Bytes of each id; none for an end of a sequence.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, stops: Iterable[int]) -> None:
        self.stops = frozenset(stops)
        self.texts = [b"" if at in self.stops else text for at, text in enumerate(token_bytes(tokenizer))]
        self._ids: dict[bytes, list[int]] = {}
        for at, text in enumerate(self.texts):
            if text:
                self._ids.setdefault(text, []).append(at)
        self._beginnings = {text[:end] for text in self._ids for end in range(1, len(text) + 1)}
        self.longest = max(map(len, self._ids))
        self._order = sorted(self._ids, key=len, reverse=True)
        padded = b"".join(text.ljust(self.longest, b"\0") for text in self._order)
        self._letters = np.frombuffer(padded, dtype=np.uint8).reshape(len(self._order), self.longest)
        lengths = np.array([len(text) for text in self._order])
        self._reaching = [int((lengths > column).sum()) for column in range(self.longest)]
        self._automaton = lru_cache(maxsize=FORMS)(_Automaton)
        self._equal: dict[tuple[int, ...], tuple[int, ...]] = {}

    def allowed(self, form: Form, ids: Sequence[int]) -> list[tuple[int, ...]]:
        """Ids that were allowed at each position of an answer, ascending; none from the first id on that is not one.

        Args:
            form: Form of the answer.
            ids: Ids of the answer.
        """
        automaton, allowed = self._automaton(form), list[tuple[int, ...]]()
        state: _State | None = automaton.start
        for token in ids:
            if state is None or not 0 <= token < len(self.texts):
                break
            after = state.after_all(self.texts[token]) if self.texts[token] else None
            if after is None and not (state.accepts and token in self.stops):
                break
            allowed.append(self._allowed(automaton, state))
            state = after
        return allowed + [()] * (len(ids) - len(allowed))

    def _reach(self, form: bytes | Prose, at: int) -> int:
        # States that differ in the rest of a free text alone allow the same ids while it is longer than any of them.
        return min(form.most - at, self.longest) if isinstance(form, Prose) and at >= form.begun else at

    def _allowed(self, automaton: _Automaton, state: _State) -> tuple[int, ...]:
        key = frozenset((id(form), self._reach(form, at), id(rest)) for form, at, rest in state.places)
        if (found := automaton.sets.get((key, state.accepts))) is None:
            free = any(isinstance(form, Prose) for form, _, _ in state.places)
            texts = self._of_all(state) if free else self._of_few(state)
            listed = {token for text in texts for token in self._ids[text]} | (self.stops if state.accepts else set())
            found = tuple(sorted(listed))
            if free:  # they are long, and often equal
                if len(self._equal) >= SETS:
                    self._equal.clear()
                found = self._equal.setdefault(found, found)
            automaton.sets[key, state.accepts] = found
        return found

    def _of_few(self, state: _State) -> list[bytes]:
        """Texts of ids that lead on from a state with few ways, by following these."""
        texts, ways = list[bytes](), [(b"", state)]
        while ways:
            written, state = ways.pop()
            for byte in state.letters():
                more = written + bytes((byte,))
                if more in self._beginnings and (after := state.after(byte)) is not None:
                    ways.append((more, after))
                    if more in self._ids:
                        texts.append(more)
        return texts

    def _of_all(self, state: _State) -> list[bytes]:
        """Texts of ids that lead on from a state with many ways, by following all ids at once."""
        states: list[_State] = [state]
        numbers: dict[int, int] = {id(state): 0}
        at = np.zeros(len(self._order), dtype=np.int64)
        for column, count in enumerate(self._reaching):
            now, letters = at[:count].copy(), self._letters[:count, column]
            for number in np.unique(now[now >= 0]).tolist():
                here = np.flatnonzero(now == number)
                table = np.full(256, -1)
                for byte in np.unique(letters[here]).tolist():
                    if (after := states[number].after(byte)) is not None:
                        if id(after) not in numbers:
                            numbers[id(after)] = len(states)
                            states.append(after)
                        table[byte] = numbers[id(after)]
                at[here] = table[letters[here]]
        return [self._order[row] for row in np.flatnonzero(at >= 0).tolist()]


_Place: TypeAlias = "tuple[bytes | Form, int, _Place] | None"
"""A form, how much of it is written, and the place after it; None at the end. Equal places are one object."""

_Open: TypeAlias = "tuple[bytes | Prose, int, _Place]"
"""Place within a text or a free text."""


class _State:
    """Places that a text may have reached.

    Attributes:
        places: Those at which a text or free text goes on.
        accepts: Whether the form may end here.
    """

    __slots__ = ("_automaton", "_next", "accepts", "places")

    def __init__(self, automaton: _Automaton, places: tuple[_Open, ...], accepts: bool) -> None:
        self._automaton, self.places, self.accepts = automaton, places, accepts
        self._next: dict[int, _State | None] = {}

    def letters(self) -> set[int]:
        """Bytes with which the form goes on."""
        found = set[int]()
        for form, at, _ in self.places:
            found |= {form[at]} if isinstance(form, bytes) else _letters(form, not at)
        return found

    def after(self, byte: int) -> _State | None:
        """State after a further byte; None if the form does not go on with it."""
        if byte not in self._next:
            self._next[byte] = self._automaton.after(self.places, byte)
        return self._next[byte]

    def after_all(self, text: bytes) -> _State | None:
        """State after several bytes."""
        state: _State | None = self
        for byte in text:
            if state is None:
                return None
            state = state.after(byte)
        return state


class _Automaton:
    """The states of one form."""

    def __init__(self, form: Form) -> None:
        self._form = form  # keeps the parts alive whose addresses are keys
        self._places: dict[tuple[int, int, int], _Place] = {}
        self._texts: dict[str, bytes] = {}
        self._states: dict[tuple[frozenset[int], bool], _State] = {}
        self.sets: dict[tuple[frozenset[tuple[int, int, int]], bool], tuple[int, ...]] = {}
        start = self._state([self._place(form, 0, None)])
        assert start is not None  # nosec B101 # for the type checker: each form has a text
        self.start = start

    def after(self, places: tuple[_Open, ...], byte: int) -> _State | None:
        """State after a further byte at one of some places."""
        reached = list[_Place]()
        for form, at, rest in places:
            if form[at] == byte if isinstance(form, bytes) else byte in _letters(form, not at):
                reached.append(self._place(form, at + 1, rest))
        return self._state(reached)

    def _place(self, form: bytes | Form, at: int, rest: _Place) -> _Place:
        if isinstance(form, str):
            form = self._texts.setdefault(form, form.encode())
        return self._places.setdefault((id(form), at, id(rest)), (form, at, rest))

    def _state(self, places: list[_Place]) -> _State | None:
        """State of the places that these reach without a byte; None if there are none."""
        open_places, accepts, seen = list[_Open](), False, set[int]()
        while places:
            place = places.pop()
            if id(place) in seen:
                continue
            seen.add(id(place))
            if place is None:
                accepts = True
                continue
            form, at, rest = place
            if isinstance(form, bytes | Prose):
                most = len(form) if isinstance(form, bytes) else form.most
                if at < most and (isinstance(form, bytes) or form.characters):
                    open_places.append(cast("_Open", place))
                if at == most or (isinstance(form, Prose) and at >= form.begun):
                    places.append(rest)
            elif isinstance(form, OneOf):
                places += [self._place(option, 0, rest) for option in form.options]
            elif isinstance(form, Then):
                last = at == len(form.parts)
                places.append(rest if last else self._place(form.parts[at], 0, self._place(form, at + 1, rest)))
            elif isinstance(form, Repeat):
                if at < form.most:
                    places.append(self._place(form.part, 0, self._place(form, at + 1, rest)))
                if at >= form.least:
                    places.append(rest)
        if not open_places and not accepts:
            return None
        key = frozenset(map(id, open_places)), accepts
        if key not in self._states:
            self._states[key] = _State(self, tuple(open_places), accepts)
        return self._states[key]


@cache
def _letters(form: Prose, beginning: bool) -> frozenset[int]:
    return frozenset((form.first if beginning else form.characters).encode())


def token_bytes(tokenizer: PreTrainedTokenizerBase) -> list[bytes]:
    """Bytes that each id stands for, as vLLM's grammars read them."""
    names: list[str] = tokenizer.convert_ids_to_tokens([*range(len(tokenizer))])
    decoder = json.dumps(json.loads(tokenizer.backend_tokenizer.to_str())["decoder"])
    if '"ByteLevel"' in decoder:
        table = {letter: byte for byte, letter in bytes_to_unicode().items()}
        return [
            bytes(table[letter] for letter in name) if all(letter in table for letter in name) else name.encode()
            for name in names
        ]
    if '"ByteFallback"' in decoder:
        pieces = {f"<0x{byte:02X}>": bytes((byte,)) for byte in range(256)}
        return [pieces.get(name, name.replace("\u2581", " ").encode()) for name in names]
    return [name.encode() for name in names]
