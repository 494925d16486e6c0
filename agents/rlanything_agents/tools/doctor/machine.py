"""Checks of this machine: packages, memory, disk, GPU, sandbox, desktop, data, environments, and what these allow. A
missing optional part is a warning.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import gymnasium as gym

from rlanything_agents.engines.shared_memory import LARGER, memory_of_machine, room
from rlanything_envs.osworld.desktop import DesktopError
from rlanything_envs.osworld.desktop.doctor import Finding, examine
from rlanything_task_pools import PoolError, domain_names, get_domain
from rlanything_verifiers.installed import DISTRIBUTION, install

__all__ = ["examine_environments", "examine_machine", "human", "ready"]

LEAST_DISK = 2 << 30
LEAST_MEMORY = 2 << 30
"""Bytes below which the quickstart may fail."""
LEAST_SHARED = 1 << 30
"""Bytes that a container's shared memory does not have by default, and weights of SmolLM2 and its judge need."""
EXTRAS = "extras"
"""Topic of the finding that lists the complete extras."""
_DEVELOPMENT = ("dev", "docs")
"""Extras that only work on the library needs."""


def examine_machine(desktop: bool = True) -> Iterator[Finding]:
    """Run all checks of the machine.

    Args:
        desktop: Also start a desktop for a moment.
    """
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        _python, _extras, _memory, _shared_memory, _disk, _gpu, _sandbox, _games, lambda: _desktop(desktop),
    )  # fmt: skip
    for check in checks:
        yield from check()


def _python() -> Iterator[Finding]:
    yield Finding("python", True, f"{platform.python_version()} on {platform.platform()}, {os.cpu_count()} processors")
    try:
        yield Finding(DISTRIBUTION, True, version(DISTRIBUTION))
    except PackageNotFoundError:
        yield Finding(DISTRIBUTION, False, "it can be imported, but is not installed: no domain is known", install())


def _extras() -> Iterator[Finding]:
    """Whether each extra is complete, by the requirements in the metadata of the installed package."""
    from packaging.requirements import Requirement

    needed: dict[str, list[Requirement]] = defaultdict(list)
    try:
        texts = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return
    extras = sorted({text.partition("extra == ")[2].strip(" \"')(") for text in texts if "extra == " in text})
    for requirement in map(Requirement, texts):
        marker = requirement.marker
        for extra in [""] if marker is None else extras:
            if marker is None or marker.evaluate({"extra": extra}):
                needed[extra].append(requirement)
    complete, incomplete = list[str](), list[str]()
    for extra, requirements in sorted(needed.items()):
        absent, wrong = [], []
        for requirement in requirements:
            try:
                found = version(requirement.name)
            except PackageNotFoundError:
                absent.append(requirement.name)
            else:
                if not requirement.specifier.contains(found, prereleases=True):
                    wrong.append(f"{requirement.name} {found} is not {requirement.specifier}")
        topic = f"extra {extra}" if extra else "core packages"
        remedy = install(*[extra] * bool(extra))
        if wrong:
            yield Finding(topic, False, "; ".join(wrong), remedy)
        elif absent and not extra:
            yield Finding(topic, False, f"not installed: {' '.join(sorted(set(absent)))}", remedy)
        elif extra:
            (incomplete if absent else complete).append(extra)
        else:
            yield Finding(topic, True, f"{len(requirements)} packages")
    yield Finding(EXTRAS, True, " ".join(complete) or "none")
    if useful := [extra for extra in incomplete if extra not in _DEVELOPMENT]:
        yield Finding("missing extras", None, " ".join(useful), install(*useful))


def _memory() -> Iterator[Finding]:
    if (memory := memory_of_machine()) is None:
        yield Finding("memory", None, "unknown on this system")
        return
    free, total = memory
    message = f"{human(free)} of {human(total)} free"
    yield Finding(
        "memory", True if free >= LEAST_MEMORY else None, message, "" if free >= LEAST_MEMORY else "end something"
    )


def _shared_memory() -> Iterator[Finding]:
    """Room for weights on their way to vLLM; `train --dry-run` compares it with the models of a run."""
    free = room()
    good = free is not None and free >= LEAST_SHARED
    message = "none that this user can write to" if free is None else f"{human(free)} free"
    remedy = "" if good else f"{LARGER}: weights for vLLM go through the disk otherwise"
    yield Finding("shared memory", good or None, message, remedy)


def _disk() -> Iterator[Finding]:
    free = shutil.disk_usage(Path.cwd()).free
    if not os.access(Path.cwd(), os.W_OK):
        yield Finding("disk", None, f"{Path.cwd()} cannot be written to", "change to a folder that can be")
    else:
        remedy = "" if free >= LEAST_DISK else "make room: a run of the quickstart takes some 40 MB"
        yield Finding("disk", True if free >= LEAST_DISK else None, f"{human(free)} free in {Path.cwd()}", remedy)


def _gpu() -> Iterator[Finding]:
    if importlib.util.find_spec("torch") is None:
        yield Finding("gpu", None, "torch is not installed", install("train"))
        return
    import torch

    if torch.cuda.is_available():
        names = ", ".join(torch.cuda.get_device_name(k) for k in range(torch.cuda.device_count()))
        yield Finding("gpu", True, f"torch {torch.__version__}: {names}")
    else:
        yield Finding("gpu", True, f"torch {torch.__version__} sees none; small models need none")


def _sandbox() -> Iterator[Finding]:
    from rlanything_verifiers.coding.sandbox import Sandbox, SandboxError, available_tiers
    from rlanything_verifiers.coding.sandbox.tier import SAFE

    tiers = available_tiers()
    best = next((tier for tier in SAFE if tiers[tier] is None), None)
    for tier in SAFE:
        if (reason := tiers[tier]) is None:
            yield Finding(f"sandbox {tier}", True, "programs can be judged in it")
        else:
            yield Finding(f"sandbox {tier}", None, reason)
    if best is None:
        yield Finding(
            "sandbox",
            False,
            "no safe sandbox works here",
            'use the docker backend of the coding environment (backend="docker"), or Linux with user namespaces',
        )
        return
    try:
        with Sandbox(1) as sandbox:
            sandbox.require("cpp")
    except SandboxError as error:
        yield Finding("programs in C++", None, str(error))
    else:
        yield Finding("programs in C++", True, "g++ compiles in the sandbox")


def _games() -> Iterator[Finding]:
    from rlanything_task_pools.alfworld.official import DATA_VARIABLE, find_games, how_to_get

    if not os.environ.get(DATA_VARIABLE):
        yield Finding("official games", True, f"${DATA_VARIABLE} is not set: generated games only")
        return
    for split in ("train", "valid_seen", "valid_unseen"):
        try:
            yield Finding(f"games {split}", True, f"{len(find_games(split=split))} official games")
        except PoolError as error:
            yield Finding(f"games {split}", False, str(error), how_to_get())


def _desktop(start: bool) -> Iterator[Finding]:
    """Parts that desktops lack on this machine; all of them are optional."""
    for finding in examine(start):
        topic = finding.topic if "desktop" in finding.topic else f"desktop {finding.topic}"
        yield Finding(topic, finding.good or None, finding.said, finding.remedy)


ARGUMENTS: Mapping[str, Mapping[str, Any]] = {"osworld": {"knobs": {"kinds": ["edit_text"]}}}
"""Arguments with which an environment starts fast: in a text editor, and not in an office program."""
ANSWERS = 3
"""Steps of the known solution that are played."""


def examine_environments() -> Iterator[Finding]:
    """Begin an episode in the environment of every installed domain, and play the first steps of its solution.

    A desktop that is not there is optional, as in `examine_machine`.
    """
    for name in domain_names():
        try:
            yield Finding(f"play {name}", True, _played(name))
        except DesktopError as error:
            yield Finding(f"play {name}", None, str(error).splitlines()[0][:300], "rlanything desktop install")
        except Exception as error:  # any error is one that the user would get
            message = f"{type(error).__name__}: {error}"
            yield Finding(f"play {name}", False, message.splitlines()[0][:300], f"rlanything play {name}")


def _played(name: str) -> str:
    from rlanything_agents.domains.solutions import solution_of
    from rlanything_envs.conversation import Conversation

    domain = get_domain(name)
    with Conversation(domain.env_id, **ARGUMENTS.get(name, {})) as conversation:
        conversation.env = _Spaces(conversation.env)
        turn = conversation.start(seed=0)
        source = getattr(conversation.env.unwrapped, "source", None)
        follow = solution_of(source.find(turn.info["task_id"])) if source is not None else None
        given: list[str] = []
        while follow is not None and not turn.done and len(given) < ANSWERS and (answer := follow(given)) is not None:
            turn = conversation.answer(answer)
            given.append(answer)
    end = "won" if turn.won else "lost" if turn.done else "running"
    played = f"{turn.info.get('task_id', '?')}: {len(given)} steps of its solution played, {end}"
    return f"{played}; all observations and actions are in their spaces"


class _Spaces(gym.Wrapper[Any, Any, Any, Any]):
    """Refuses an observation or an action outside of its declared space."""

    def reset(self, **given: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = super().reset(**given)
        return self._checked(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if not self.action_space.contains(action):
            raise ValueError(f"the action {action!r:.80} is not in {self.action_space!r:.80}")
        observation, *rest = super().step(action)
        return self._checked(observation), *rest

    def _checked(self, observation: Any) -> Any:
        if not self.observation_space.contains(observation):
            raise ValueError(f"an observation is not in {self.observation_space!r:.80}")
        return observation


_PARTS = {
    "AlfWorld": ("play alfworld",),
    "Coding": ("play coding",),
    "OSWorld": ("bwrap desktop", "play osworld"),
    "training": ("extra train",),
    "models behind an address": ("extra llm",),
    "vLLM": ("extra vllm",),
}
"""Uses of the library, and the topics that must be good for each."""


def ready(findings: Iterable[Finding]) -> tuple[list[str], list[str]]:
    """Uses of the library that this machine is ready for, and those that lack something.

    A use without a finding (its check was left out) is in neither list.
    """
    good: dict[str, bool] = {}
    for finding in findings:
        if finding.topic == EXTRAS:
            good.update({f"extra {name}": True for name in finding.said.split()})
        elif finding.topic == "missing extras":
            good.update({f"extra {name}": False for name in finding.said.split()})
        else:
            good[finding.topic] = finding.good is True
    known = {use: [good[topic] for topic in topics if topic in good] for use, topics in _PARTS.items()}
    return (
        [use for use, states in known.items() if states and all(states)],
        [use for use, states in known.items() if states and not all(states)],
    )


def human(size: float) -> str:
    """Bytes as text: ``14.2 GiB``."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} GiB"
