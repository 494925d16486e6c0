"""Coverage of task files of OSWorld: which are read, which are supported, and which need nothing from elsewhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlanything_envs.osworld.env import problem_of
from rlanything_envs.osworld.setup import UnsupportedStep
from rlanything_task_pools import TaskFormatError
from rlanything_task_pools.osworld import OSWorldTaskError, load, read_payload
from rlanything_verifiers.osworld import EvaluatorError, UnknownFunction, UnknownGetter

__all__ = ["Coverage", "coverage", "table"]

_LIVE = frozenset(
    {"googledrive", "login"}
    | {"active_tab_html_parse", "active_tab_url_parse", "url_dashPart", "active_url_from_accessTree", "active_tab_info"}
    | {"open_tabs_info", "googledrive_file", "info_from_website", "page_info", "pdf_from_url", "url_path_parse"}
    | {"gotoRecreationPage_and_get_html_content"}
)
"""Steps and getters of accounts and pages on the web."""

_LOCAL = ("localhost", "127.0.0.1")

_NOT_IN_DEBIAN = frozenset({"vscode", "vs_code", "code"})
"""Applications of OSWorld that Debian does not have."""


@dataclass
class Coverage:
    """Numbers of task files of one application.

    Attributes:
        files: Files there are.
        read: Those that are tasks in form, whatever they name.
        supported: Those whose steps, getters and metrics are all there.
        with_files: Supported ones that need files from elsewhere and nothing else; `fetch-assets` gets these once.
        offline: Supported ones that need nothing from elsewhere.
        feasible: Offline ones that can be done at all.
        debian: Feasible ones whose applications Debian has.
        refused: Why others are not supported, and how many of them.
    """

    files: int = 0
    read: int = 0
    supported: int = 0
    with_files: int = 0
    offline: int = 0
    feasible: int = 0
    debian: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Coverage) -> Coverage:
        """The numbers of both together."""
        mine, theirs = vars(self), vars(other)
        return Coverage(**{name: mine[name] + theirs[name] for name in mine})


def coverage(folder: Path) -> dict[str, Coverage]:
    """Coverage of all task files below a folder, by the name of the folder that a file lies in.

    Raises:
        OSWorldTaskError: There is no such folder.
    """
    if not folder.is_dir():
        raise OSWorldTaskError(f"{folder}: there is no such folder")
    found: dict[str, Coverage] = {}
    for path in sorted(folder.rglob("*.json")):
        found[path.parent.name] = found.get(path.parent.name, Coverage()) + _of_file(path)
    return found


def table(found: Mapping[str, Coverage]) -> str:
    """The numbers as a table in Markdown, and below it what is refused and why."""
    total = sum(found.values(), Coverage())
    names = ["files", "read", "supported", "with_files", "offline", "feasible", "debian"]
    heads = ["application", *names[:3], "only files missing", *names[4:6], "Debian has its programs"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, row in [*found.items(), ("all", total)]:
        lines.append(f"| {name} | {' | '.join(str(getattr(row, column)) for column in names)} |")
    refused = ", ".join(f"{reason} {count}" for reason, count in total.refused.most_common())
    return "\n".join([*lines, "", f"Not supported: {refused or 'none'}."])


def _of_file(path: Path) -> Coverage:
    try:
        task = load(path)
        problem_of(task)
    except (UnknownFunction, UnknownGetter) as error:
        return Coverage(files=1, read=1, refused=Counter({f"`{error.name}`"[:60]: 1}))
    except UnsupportedStep as error:
        reason = str(error).rpartition(": ")[2].partition(";")[0]
        return Coverage(files=1, read=1, refused=Counter({reason: 1}))
    except (OSWorldTaskError, TaskFormatError, EvaluatorError) as error:
        return Coverage(files=1, refused=Counter({f"{path.name} ({' '.join(str(error).split())[-80:]})": 1}))
    payload = read_payload(task.payload).model_dump()
    needs = set(_needs({"config": payload["config"], "evaluators": payload["evaluators"]}))
    offline = not needs
    feasible = offline and not task.traits.get("infeasible")
    apps = set(payload["related_apps"]) | {path.parent.name}
    return Coverage(
        files=1,
        read=1,
        supported=1,
        with_files=int(needs == {"file"}),
        offline=int(offline),
        feasible=int(feasible),
        debian=int(feasible and not apps & _NOT_IN_DEBIAN),
    )


def _needs(value: Any) -> Iterator[str]:
    """What a part of a task needs from elsewhere: ``file``, or ``web``."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _needs(item)
    elif isinstance(value, Mapping):
        kind = value.get("type")
        if kind in ("download", "cloud_file"):
            yield from ("file" for _ in _addresses(json.dumps(value)))
        elif kind not in ("rule", "rule_relativeTime"):  # an expected address is not fetched
            if isinstance(kind, str) and kind in _LIVE:
                yield "web"
            for item in value.values():
                yield from _needs(item)
    elif isinstance(value, str):
        yield from ("web" for _ in _addresses(value))


def _addresses(text: str) -> list[str]:
    """What follows the scheme of each web address in a text, except on the machine itself."""
    parts = [part for scheme in ("http://", "https://") for part in text.split(scheme)[1:]]
    return [part for part in parts if not part.startswith(_LOCAL)]
