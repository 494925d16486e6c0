"""Other starts of a desktop task: windows that are not open, parts of the work that are done, copies of files.

The names that a start may have come from the task itself; nothing of a proposal reaches the desktop as it is written.
The start of a generated task is proved: its evaluator gives 0, and 1 after what is left of the known solution. Of an
imported task no solution is known; only windows may be closed, where the evaluator reads nothing but files.
"""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, ValidationError

from rlanything_task_pools.frozen import freeze
from rlanything_task_pools.osworld.gate import score
from rlanything_task_pools.osworld.generate import draw_state, levels, rung_of
from rlanything_task_pools.osworld.guest import FileGuest, write_file
from rlanything_task_pools.osworld.kinds import Level
from rlanything_task_pools.osworld.kinds.base import DESKTOP
from rlanything_task_pools.osworld.payload import MAX_PATH, Payload, Step, file_of
from rlanything_task_pools.task import Refused, StrictRecord

__all__ = ["Origin", "Start", "read_start", "start_of"]

PROGRAMS = frozenset(
    {"code", "gedit", "gimp", "gnome-terminal", "google-chrome", "libreoffice", "nautilus", "soffice", "thunderbird"}
)
"""Programs that a person can start from the menu; any other may be one that the set-up or the evaluator needs."""

OF_FILES = frozenset({"cache_file", "cloud_file", "list_directory", "rule", "vm_file"})
"""Getters whose value no window changes."""

Names = Annotated[tuple[Annotated[str, Field(max_length=MAX_PATH)], ...], Field(max_length=64)]


class Start(StrictRecord):
    """What is other at the start; null leaves it as it is."""

    closed: Names | None = None
    """Files and programs that the set-up opens, and that are not open."""
    done: Names | None = None
    """Files of the known solution that are there already."""
    copies: Names | None = None
    """Files of which a copy lies on the Desktop."""

    def over(self, now: "Start") -> "Start":
        """This start, with another one's where it leaves things as they are."""
        return Start(**{**now.model_dump(), **self.model_dump(exclude_none=True)})


def read_start(value: object) -> Start:
    """A start of unknown origin.

    Raises:
        Refused: ``malformed``.
    """
    try:
        return Start.model_validate(freeze(value, "start"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(["start", *(str(part)[:40] for part in first["loc"])])
        raise Refused("malformed", f"{place}: {first['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise Refused("malformed", str(error)[:400]) from None


def start_of(payload: Payload) -> Start:
    """The start that a task has now.

    Raises:
        Refused: Its source says something else.
    """
    kept = payload.source.get("start", {})
    return read_start({name: kept[name] for name in kept if name != "config"} if isinstance(kept, Mapping) else kept)


@dataclass(frozen=True, slots=True)
class Origin:
    """A task's set-up before any change of its start, and the level that decides, where its solution is known."""

    config: tuple[Step, ...]
    level: Level | None

    @classmethod
    def of(cls, payload: Payload) -> "Origin":
        """The set-up that the seed makes; of an imported task the one that was imported.

        Raises:
            Refused: ``malformed``: what was imported is not in the payload's source as it should be.
        """
        source = payload.source
        if "kind" in source:
            state, _ = draw_state(source["kind"], source["split"], source["seed"])
            return cls(levels(source["kind"], state).config, rung_of(state, payload.current))
        kept = source.get("start")
        if not isinstance(kept, Mapping):
            return cls(payload.config, None)
        try:
            steps = kept.get("config")
            return cls(tuple(map(Step.model_validate, steps if isinstance(steps, list) else ())), None)
        except ValidationError:
            raise Refused("malformed", "source.start.config: these are not set-up steps") from None

    def windows(self) -> tuple[str, ...]:
        """Files and programs that the end of the set-up opens; no later step needs them."""
        names = (_window(step) for step in self.config[self._tail() :])
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def files(self) -> dict[str, bytes]:
        """The files that the set-up stores."""
        return dict(file_of(step.parameters) for step in self.config if step.type == "write_file")

    def copied(self) -> tuple[str, ...]:
        """Files of which there may be copies: those on the Desktop."""
        return () if self.level is None else tuple(path for path in self.files() if path.startswith(f"{DESKTOP}/"))

    def parts(self) -> dict[str, str | None]:
        """The new files of the known solution, each with the file that is moved there, if it is one.

        A file that changes in place is no such part: who then follows the instruction would change it twice.
        """
        if self.level is None:
            return {}
        files, found = self.files(), dict[str, str | None]()
        gone = [path for path, data in self.level.after.items() if data is None and path in files]
        for path, data in self.level.after.items():
            if data is not None and not path.endswith("/") and path not in files:
                found[path] = next((old for old in gone if files[old] == data), None)
                gone = [old for old in gone if old != found[path]]
        return found

    def several_parts(self) -> tuple[str, ...]:
        """The new files of a solution that is more than one of them."""
        parts, files = self.parts(), self.files()
        after = {} if self.level is None else self.level.after
        changed = [path for path, data in after.items() if files.get(path) != data and path not in parts.values()]
        return tuple(parts) if len(changed) > 1 else ()

    def started(self, payload: Payload, start: Start) -> Payload:
        """A task of this origin at another start.

        Raises:
            Refused: ``unknown_window``, ``unknown_file``, ``unknown_part``: the start names what there is not;
                ``reads_windows``: an imported task's evaluator reads more than files; ``in_the_way``: a copy lies where
                the task has a file; ``already_true``, ``oracle_fails``: by the proof.
        """
        closed = _known("unknown_window", "closed", start.closed, self.windows())
        done = _known("unknown_part", "done", start.done, self.parts())
        copies = _known("unknown_file", "copies", start.copies, self.copied())
        source = {name: value for name, value in payload.source.items() if name != "start"}
        changes = {"closed": closed, "done": done, "copies": copies}
        record: dict[str, Any] = {name: list(names) for name, names in changes.items() if names}
        if not record:
            return payload.model_copy(update={"config": self.config, "source": source})
        if self.level is not None:
            stored = self._stored(self.level, done, copies)
        else:
            if not _reads_files(payload.evaluator):
                raise Refused("reads_windows", f"{payload.current} reads more than files, and no solution is known")
            stored = None
            record["config"] = [step.model_dump() for step in self.config]
        return payload.model_copy(
            update={"config": self._opened(stored, closed), "source": {**source, "start": record}}
        )

    def _stored(self, level: Level, done: tuple[str, ...], copies: tuple[str, ...]) -> tuple[Step, ...]:
        """The steps that store the files of a start, which is proved."""
        before, parts = self.files(), self.parts()
        files = dict(before)
        for path in done:
            files[path] = level.after[path] or b""
            files.pop(parts[path] or "", None)
        taken = {path.rstrip("/") for path in (*before, *level.after, *files)}
        for path in copies:
            copy = f"{DESKTOP}/old_{posixpath.basename(path)}"
            if any(other == copy or other.startswith(f"{copy}/") for other in taken):
                raise Refused("in_the_way", f"copies: the task or another copy has {copy}")
            taken.add(copy)
            files[copy] = before[path]
        guest = FileGuest(files)
        if (found := score(level.evaluator, guest)) != 0:
            raise Refused("already_true", f"start: the evaluator gives {found:g} before anything is done")
        if (found := score(level.evaluator, guest.after(level.after, level.modes))) != 1:
            raise Refused("oracle_fails", f"start: the evaluator gives {found:g} after the known solution")
        return tuple(Step.model_validate(write_file(path, data)) for path, data in files.items())

    def _opened(self, stored: tuple[Step, ...] | None, closed: tuple[str, ...]) -> tuple[Step, ...]:
        """The set-up with other files, and without the windows that are closed and the steps that activate one."""
        tail = self._tail()
        opening = self.config[tail:] if stored is None else [s for s in self.config if s.type != "write_file"]
        left = [step for step in opening if _window(step) is None or _window(step) not in closed]
        awake = [step for step in left if not (closed and step.type == "activate_window")]
        return (*(self.config[:tail] if stored is None else stored), *awake)

    def _tail(self) -> int:
        """The number of the first step of those at the end that only open windows."""
        number = len(self.config)
        while number and self.config[number - 1].type in ("activate_window", "launch", "open", "sleep"):
            number -= 1
        return number


def _window(step: Step) -> str | None:
    """The file or the program that a step opens."""
    if step.type == "open":
        path = step.parameters.get("path")
        return path if isinstance(path, str) else None
    command = step.parameters.get("command")
    words = command if isinstance(command, list) and all(isinstance(word, str) for word in command) else [""]
    known = step.type == "launch" and posixpath.basename(words[0] if words else "") in PROGRAMS
    return " ".join(words) if known else None


def _reads_files(evaluator: Mapping[str, Any]) -> bool:
    """Whether an evaluator reads nothing but files, and none that a program keeps for itself."""
    read = [evaluator.get(name) for name in ("result", "expected")]
    getters = [each for one in read for each in (one if isinstance(one, list) else [one]) if each]
    return all(
        isinstance(each, Mapping)
        and each.get("type") in OF_FILES
        and ("/." not in str(each.get("path")) or each["type"] == "cloud_file")
        for each in getters
    )


def _known(
    reason: str, field: str, names: tuple[str, ...] | None, known: Mapping[str, Any] | tuple[str, ...]
) -> tuple[str, ...]:
    """Names of a proposal in the task's order, each once."""
    wanted = set(names or ())
    if stray := wanted - set(known):
        there = ", ".join(known)[:300] or "nothing"
        raise Refused(reason, f"{field}: {min(stray)!r:.80} is none of what there is: {there}")
    return tuple(name for name in known if name in wanted)
