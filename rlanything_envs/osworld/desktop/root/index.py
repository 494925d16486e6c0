"""An archive's index of packages, and what a list of packages needs of it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.root.versions import satisfies, version_key

__all__ = ["Index", "Stanza", "paragraphs", "parse_index"]

_DEPENDENCY = re.compile(r"([a-z0-9][a-z0-9+.-]*)(?::[a-z0-9]+)?(?: ?\((<<|<=|=|>=|>>) ?([^ ()]+)\))?")


@dataclass(frozen=True, slots=True)
class Stanza:
    """What an index says about one version of a package."""

    name: str
    version: str
    file: str
    size: int
    sha256: str
    depends: str = ""
    provides: str = ""
    essential: bool = False
    required: bool = False


def paragraphs(text: str) -> Iterator[dict[str, str]]:
    """The paragraphs of a control file: fields by lower-case name; lines of a long field are joined by spaces."""
    fields: dict[str, list[str]] = {}
    last = ""
    for line in text.split("\n"):
        if not line.strip():
            if fields:
                yield {name: " ".join(lines) for name, lines in fields.items()}
            fields, last = {}, ""
        elif line[0] in " \t":
            if last:
                fields[last].append(line.strip())
        elif line[0] != "#":
            name, colon, value = line.partition(":")
            last = name.strip().lower() if colon else ""
            if last:
                fields[last] = [value.strip()]
    if fields:
        yield {name: " ".join(lines) for name, lines in fields.items()}


def parse_index(text: str) -> Iterator[Stanza]:
    """The packages of an index; a paragraph without name, version or file is none.

    Raises:
        DesktopError: a size is no number.
    """
    for fields in paragraphs(text):
        if not {"package", "version", "filename", "size", "sha256"} <= fields.keys():
            continue
        if not re.fullmatch("[0-9]{1,18}", fields["size"]):
            raise DesktopError(f"the index of packages has no size for {fields['package']!r:.80}")
        depends = ", ".join(fields[name] for name in ("pre-depends", "depends") if fields.get(name))
        yield Stanza(
            fields["package"],
            fields["version"],
            fields["filename"],
            int(fields["size"]),
            fields["sha256"],
            depends,
            fields.get("provides", ""),
            fields.get("essential") == "yes",
            fields.get("priority") == "required",
        )


class Index:
    """The newest version of each package, from the indexes of some suites."""

    def __init__(self, stanzas: Iterable[Stanza]) -> None:
        self.packages: dict[str, Stanza] = {}
        for stanza in stanzas:
            other = self.packages.get(stanza.name)
            if other is None or version_key(other.version) < version_key(stanza.version):
                self.packages[stanza.name] = stanza
        self._providers: dict[str, list[tuple[Stanza, str]]] = {}
        for stanza in sorted(self.packages.values(), key=lambda each: (not each.required, each.name)):
            for ((name, _, version),) in _clauses(stanza.provides):
                self._providers.setdefault(name, []).append((stanza, version))

    def closure(self, wanted: Iterable[str]) -> list[Stanza]:
        """Packages with everything that they depend on and everything essential, sorted by name.

        Where a dependency offers a choice, what is chosen already is taken, else the first that exists.

        Raises:
            DesktopError: no package has a wanted name, or meets a dependency.
        """
        chosen: dict[str, Stanza] = {}
        names = [*wanted, *(name for name, stanza in sorted(self.packages.items()) if stanza.essential)]
        waiting = deque(self._meeting([(name, "", "")], "", chosen) for name in names)
        for stanza in waiting:
            chosen[stanza.name] = stanza
        while waiting:
            stanza = waiting.popleft()
            for clause in _clauses(stanza.depends):
                found = self._meeting(clause, stanza.name, chosen)
                if found.name not in chosen:
                    chosen[found.name] = found
                    waiting.append(found)
        return sorted(chosen.values(), key=lambda each: each.name)

    def _meeting(self, clause: list[tuple[str, str, str]], whose: str, chosen: dict[str, Stanza]) -> Stanza:
        possible = [stanza for alternative in clause for stanza in self._offers(*alternative)]
        for stanza in possible:
            if stanza.name in chosen:
                return stanza
        if not possible:
            needs = " | ".join(f"{name} {relation} {version}".strip() for name, relation, version in clause)
            raise DesktopError(f"the archive has no package {needs:.200}{f', which {whose} needs' if whose else ''}")
        return possible[0]

    def _offers(self, name: str, relation: str, version: str) -> Iterator[Stanza]:
        real = self.packages.get(name)
        if real is not None and (not relation or satisfies(real.version, relation, version)):
            yield real
        for stanza, provided in self._providers.get(name, ()):
            if not relation or (provided and satisfies(provided, relation, version)):
                yield stanza


def _clauses(text: str) -> Iterator[list[tuple[str, str, str]]]:
    """Dependencies, each a list of alternatives: name, relation, version."""
    for clause in text.split(","):
        alternatives = [found.groups("") for each in clause.split("|") if (found := _DEPENDENCY.match(each.strip()))]
        if alternatives:
            yield [(name, relation, version) for name, relation, version in alternatives]
