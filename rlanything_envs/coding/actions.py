"""Parser of actions in an agent's text.

Language models wrap actions in prose, headings, markdown, tags and JSON, so parsing is lenient; but where the intended
action is ambiguous, nothing is run and the answer explains what to write. All parsing is linear in the length of the
text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rlanything_envs.coding.blocks import Block, dedented, looks_like_code, read_items
from rlanything_envs.coding.tool_calls import read_call
from rlanything_envs.coding.words import Verb, Word, intended_verbs, word_of
from rlanything_envs.errors import Unreadable
from rlanything_verifiers.coding import TITLES, Language, find_tag

__all__ = ["MAX_ACTION_LENGTH", "Action", "ActionFormat", "Verb", "WrongLanguage", "brief_action", "read_action"]

MAX_ACTION_LENGTH = 131_072
"""Longest action that is read, in code points."""

ActionFormat = Literal["verbs", "code"]

_AFTER_THINKING = "</think>"
_INPUT = frozenset({"stdin", "input", "in"})
_NO_PROGRAM = _INPUT | {"output", "out", "stdout", "expected", "console", "json", "tool_call", "tool_code"}
_PLAIN = frozenset({"", "text", "txt", "plaintext"})
_INPUT_LABELS = frozenset({"stdin", "input"})
_READS = ("input", "stdin", "open(0", "read(0", "cin", "scanf", "getline", "getchar", "readline", "Scanner")
_WRITES = ("print", "stdout", "cout", "putchar", "puts(", "write(1", "console.log")
_NEEDS_FENCE = "put your program into a fenced block (```{} ... ```)"


class WrongLanguage(Unreadable):
    """The program is in a language that the task does not accept."""


@dataclass(frozen=True, slots=True)
class Action:
    """A parsed action.

    Attributes:
        verb: The action word.
        code: The program; empty for ``GIVE_UP``.
        stdin: The input of ``RUN``.
        language: The language of the program.
    """

    verb: Verb
    code: str = ""
    stdin: str = ""
    language: Language = "python"


def brief_action(text: str) -> str:
    """Nothing: an answer is prose and a program, and the first line of the message after it names the action."""
    return ""


def read_action(
    text: str,
    *,
    only_submit: bool = False,
    languages: Sequence[Language] = ("python",),
    entry_point: str | None = None,
    action_format: ActionFormat = "verbs",
) -> Action:
    """The action of a text.

    Text before ``</think>`` is skipped. With ``action_format="code"`` the last fenced block is submitted, and
    nothing else is an action. With ``"verbs"``:

    - A tool call (see `tool_calls`) comes first.
    - An action word stands at the beginning of a line: alone in any case, or in capitals before other words; markup,
      numbers, ``<action>`` and ``[ ]`` around it do not matter.
    - A program belongs to the word directly before it. The last word with a program counts; where no word has one, the
      last word that stands alone takes the program before it.
    - Of several blocks after a word the program is the last complete one: one that reads input and prints or, for a
      function, defines it. Where none is complete it is the last that is marked as a program or looks like one. So
      examples of usage and of output after a program are skipped, and a final version wins over a draft.
    - A program without an action word is submitted, unless the prose before it names other actions.
    - ``GIVE_UP`` counts where no program follows it.
    - The input of ``RUN`` is a further block, marked ``stdin`` or ``input`` or not at all.
    - Without any block, the rest of a text that begins with an action word is the program, and so is a text that begins
      as a program does.

    Args:
        text: The agent's text.
        only_submit: Only ``SUBMIT`` and ``GIVE_UP`` are action words, as there is one turn.
        languages: The languages that the task accepts; a block that names none is in the first.
        entry_point: Name of the required function, where the task requires one.
        action_format: Format of actions, see above.

    Raises:
        WrongLanguage: The program is in another language.
        Unreadable: The text holds no action.
    """
    if len(text) > MAX_ACTION_LENGTH:
        raise Unreadable(f"the message is longer than {MAX_ACTION_LENGTH} characters; send a shorter one")
    said = text.rpartition(_AFTER_THINKING)[2].replace("\r\n", "\n").replace("\r", "\n")
    if said.lstrip().startswith("<think>"):
        raise Unreadable("the message ends within its thoughts; write the action after </think>")
    reader = _Reader(tuple(languages), entry_point, only_submit)
    return reader.last_block(said) if action_format == "code" else reader.action(said)


@dataclass(slots=True)
class _Section:
    """An action word and the text after it, up to the next one."""

    word: Word | None
    blocks: list[Block]
    lines: list[str]

    def follows_its_program(self) -> Verb | None:
        """The action word where it stands alone, with no block but input after it, and is not merely a heading."""
        if (word := self.word) is None or not word.alone or word.verb == "GIVE_UP":
            return None
        if not all(word.verb == "RUN" and block.tag in _INPUT for block in self.blocks):
            return None
        return word.verb if word.capital or not any(line.strip() for line in self.lines) else None


@dataclass(frozen=True, slots=True)
class _Reader:
    languages: tuple[Language, ...]
    entry_point: str | None
    only_submit: bool

    # --- the two formats ---

    def last_block(self, text: str) -> Action:
        blocks = [item for item in read_items(text) if isinstance(item, Block)]
        if not blocks:
            raise Unreadable(f"there is no program; {self._needs_fence()}")
        return self._with_code("SUBMIT", blocks[-1])

    def action(self, text: str) -> Action:
        if (call := read_call(text)) is not None and (verb := self._allowed(call.verb)) is not None:
            if verb == "GIVE_UP":
                return Action(verb)
            inner = [item for item in read_items(call.code) if isinstance(item, Block)]
            block = self._program(inner) if inner else Block(call.language.strip().lower(), call.code)
            return self._with_code(verb, block, call.stdin if verb == "RUN" else "")
        items = read_items(text)
        sections = self._sections(items)
        last = sections[-1].word
        blocks = [item for item in items if isinstance(item, Block)]
        if last is not None and last.verb == "GIVE_UP" and not sections[-1].blocks and (last.alone or not blocks):
            return Action("GIVE_UP")
        return self._with_blocks(sections, items, blocks) if blocks else self._unfenced(sections, items)

    def _allowed(self, verb: Verb) -> Verb | None:
        """The action of a word; where only submissions are allowed, ``RUN`` and ``TEST`` submit."""
        return "SUBMIT" if self.only_submit and verb in ("RUN", "TEST") else verb

    def _sections(self, items: Sequence[str | Block]) -> list[_Section]:
        """The items by action word; the first section has none."""
        sections = [_Section(None, [], [])]
        for item in items:
            if isinstance(item, Block):
                sections[-1].blocks.append(item)
                continue
            word = word_of(item)
            if word is not None and not (self.only_submit and word.verb in ("RUN", "TEST")):
                sections.append(_Section(word, [], []))
            else:
                sections[-1].lines.append(item)
        return sections

    # --- which program, which word ---

    def _with_blocks(self, sections: list[_Section], items: Sequence[str | Block], blocks: list[Block]) -> Action:
        best, owner = 0, None
        for number, section in enumerate(sections):
            if section.word is None or section.word.verb == "GIVE_UP":
                continue
            rank = min(2, max((self._rank(block) for block in section.blocks), default=0))
            if rank >= max(best, 1):
                best, owner = rank, number
        before = sections[0].blocks
        worth = max((self._rank(block) for block in before), default=0)
        if owner is not None and (best == 2 or worth < 2):
            section, earlier = sections[owner], sections[owner - 1]
            word = section.word
            assert word is not None  # nosec B101 # for the type checker: an owner is a section with a word
            if not word.alone and earlier.word and not earlier.blocks and _differ(earlier.word, word):
                raise Unreadable(
                    f"the message names both {earlier.word.verb} and {word.verb} before the program; "
                    "write one of them on a separate line"
                )
            program = self._program(section.blocks)
            return self._with_code(word.verb, program, _stdin_of(section.blocks, program) if word.verb == "RUN" else "")
        program = self._program(before or blocks)
        for section in reversed(sections[1:]):
            if (verb := section.follows_its_program()) is not None:
                return self._with_code(verb, program, _stdin_of(section.blocks, program))
        place = next(place for place, item in enumerate(items) if item is program)
        prose = [item for item in items[:place] if isinstance(item, str)]
        intended = set() if self.only_submit else intended_verbs(prose) - {"GIVE_UP"}
        if len(intended) > 1:
            named = " and ".join(sorted(intended))
            raise Unreadable(f"the message names {named}; write one of them on a separate line before the program")
        return self._with_code(next(iter(intended), "SUBMIT"), program)

    def _program(self, blocks: Sequence[Block]) -> Block:
        """The last block of the highest rank; see `_rank`."""
        if not blocks:
            raise Unreadable(f"there is no code; {self._needs_fence()}")
        return max(reversed(blocks), key=self._rank)

    def _rank(self, block: Block) -> int:
        """Rank of a block: 4 a complete program, 3 marked as one, 2 looks like one, 1 may be one, 0 is none."""
        if not block.body.strip() or block.tag in _NO_PROGRAM:
            return 0
        if self._language(block) is None:
            return 1
        if self._is_complete(block.body):
            return 4
        return 3 if find_tag(block.tag) is not None else 2 if looks_like_code(block.body) else 1

    def _is_complete(self, code: str) -> bool:
        if (name := self.entry_point) is not None:
            return any(f"{start}{name}" in code for start in ("def ", "class ")) or f"\n{name} =" in f"\n{code}"
        return any(mark in code for mark in _READS) and any(mark in code for mark in _WRITES)

    def _language(self, block: Block) -> Language | None:
        """The language of a block; None for one that the task does not accept."""
        if (tag := find_tag(block.tag)) is not None:
            return tag.language if tag.language in self.languages else None
        if _is_cpp(block.body):
            return "cpp" if "cpp" in self.languages else None
        return self.languages[0]

    # --- an action ---

    def _with_code(self, verb: Verb, block: Block, stdin: str = "") -> Action:
        code = dedented(block.body)
        if not code.strip():
            raise Unreadable(f"there is no code; {self._needs_fence()}")
        if block.tag in _NO_PROGRAM:
            raise Unreadable(f"the block marked {block.tag} is not a program; {self._needs_fence()}")
        if (language := self._language(block)) is None:
            tag = find_tag(block.tag)
            taken = " or ".join(TITLES[name] for name in self.languages)
            raise WrongLanguage(f"this task takes {taken}; your block is {tag.title if tag else TITLES['cpp']}")
        return Action(verb, code, stdin, language)

    def _unfenced(self, sections: list[_Section], items: Sequence[str | Block]) -> Action:
        lines = [item for item in items if isinstance(item, str)]
        first = next((place for place, line in enumerate(lines) if line.strip()), None)
        word = None if first is None else word_of(lines[first])
        if first is not None and _begins_program(lines[first]):
            return self._with_code("SUBMIT", Block("", "\n".join(lines[first:])))
        if first is None or word is None or (verb := self._allowed(word.verb)) is None:
            named = [section.word.verb for section in sections if section.word is not None]
            if named:
                raise Unreadable(f"{named[-1]} has no code; {self._needs_fence()}")
            words = "SUBMIT or GIVE_UP" if self.only_submit else "RUN, TEST, SUBMIT or GIVE_UP"
            raise Unreadable(f"there is no action word; begin a line with {words}")
        code = lines[first + 1 :]
        stdin: list[str] = []
        if verb == "RUN":
            label = next((i for i, line in enumerate(code) if _is_input_label(line)), len(code))
            code, stdin = code[:label], code[label + 1 :]
        return self._with_code(verb, Block("", "\n".join(code)), "".join(f"{line}\n" for line in stdin))

    def _needs_fence(self) -> str:
        return _NEEDS_FENCE.format(self.languages[0])


def _stdin_of(blocks: Sequence[Block], program: Block) -> str:
    marked = [block.body for block in blocks if block is not program and block.tag in _INPUT]
    plain = [block.body for block in blocks if block is not program and block.tag in _PLAIN]
    return next(iter([*marked, *plain]), "")


def _differ(one: Word, other: Word) -> bool:
    return not one.alone and one.verb != other.verb


def _is_cpp(code: str) -> bool:
    """Whether unmarked code is C++; in Python a line that begins so is a comment, and there are not many such."""
    return any(line.startswith(("#include <", "#include<", "using namespace std")) for line in code[:4000].split("\n"))


def _begins_program(line: str) -> bool:
    words = line.split(None, 4)
    return (
        line.startswith(("#include <", "#include<", "#!/"))
        or (words[:1] == ["import"] and not line.startswith(" ") and line.rstrip()[-1].isalnum() and len(words) == 2)
        or (words[:1] == ["from"] and words[2:3] == ["import"])
        or (words[:1] in (["def"], ["class"]) and line.rstrip().endswith(":"))
        or (line[:1].isalpha() and "=" in line and "input()" in line)
        or (line.startswith("print(") and line.rstrip().endswith(")"))
    )


def _is_input_label(line: str) -> bool:
    return line[:40].strip(" \t#*_`>:-").lower() in _INPUT_LABELS and len(line) <= 40
