"""Episodes of one iteration, from the run's file to the form that a page shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from statistics import fmean
from typing import Any

from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.runs.stored.lines import unpacked_lines
from rlanything_agents.runs.stored.values import integer, mapping, number, readable, sequence
from rlanything_envs.verdict import command_of

__all__ = ["CHUNK", "brief", "read_chunk", "read_episode", "read_index"]

CHUNK = 8
"""Episodes in one resource; as many as a group of the paper."""
MAX_TURNS = 2_000
MAX_JUDGEMENTS = 256
MAX_PROMPT = 100_000
"""Characters that are shown of what a turn adds to its prompt."""


def read_episode(n: int, line: bytes) -> dict[str, Any]:
    """Parse the episode of a line: its turns with votes, reward and advantage, and unit tests of the reward model.

    Raises:
        RunFolderError: The line is not the JSON of an episode.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RunFolderError(f"not JSON ({str(error)[:80]})") from None
    if not isinstance(record, dict) or not isinstance(record.get("turns"), list):
        raise RunFolderError("not the record of an episode: it has no turns")
    outcome = record.get("outcome")
    return {
        "n": n,
        "slot": integer(record.get("slot"), -1),
        "role": readable(record.get("role"), 40),
        "goal": readable(record.get("goal"), 10_000),
        "task": readable(record.get("task_id"), 200),
        "outcome": outcome if outcome in (1, -1) and not isinstance(outcome, bool | float) else None,
        "error": readable(record.get("error"), 10_000),
        "score": number(record.get("score")),
        "opening": readable(record.get("opening")),
        "screen": "",
        "turns": [_turn(mapping(turn)) for turn in record["turns"][:MAX_TURNS]],
        "tests": [_test(mapping(test)) for test in sequence(record.get("tests"), MAX_JUDGEMENTS)],
        "verdicts": {
            readable(name, 80): integer(count) for name, count in list(mapping(record.get("verdicts")).items())[:20]
        },
    }


def _turn(turn: Mapping[str, Any]) -> dict[str, Any]:
    scores = sequence(turn.get("votes"), MAX_JUDGEMENTS)
    texts = sequence(turn.get("judgements"), MAX_JUDGEMENTS)
    return {
        "thought": readable(turn.get("thought")),
        "action": readable(turn.get("action")),
        "observation": readable(turn.get("observation")),
        "command": command_of(turn),
        "prompt": readable(turn.get("prompt"), MAX_PROMPT),
        "kept": integer(turn.get("kept"), -1),
        "answer": readable(turn.get("answer"), MAX_PROMPT),
        "votes": [{"score": number(score), "text": readable(text)} for score, text in zip_longest(scores, texts)],
        "reward": number(turn.get("reward")),
        "advantage": number(turn.get("advantage")),
        "screen": "",
    }


def _test(test: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "stdin": readable(test.get("stdin"), 4_000),
        "stdout": readable(test.get("stdout"), 4_000),
        "complaint": readable(test.get("complaint"), 2_000),
        "reward": number(test.get("reward")),
    }


def brief(episode: Mapping[str, Any]) -> dict[str, Any]:
    """The episode as an entry of a list."""
    turns = episode["turns"]
    rewards = [turn["reward"] for turn in turns if turn["reward"] is not None]
    advantages = [turn["advantage"] for turn in turns if turn["advantage"] is not None]
    votes = [score for turn in turns for vote in turn["votes"] if (score := vote["score"]) is not None]
    return {
        "n": episode["n"],
        "slot": episode["slot"],
        "role": episode["role"],
        "goal": episode["goal"][:300],
        "task": episode["task"],
        "outcome": episode["outcome"],
        "score": episode["score"],
        "turns": len(turns),
        "reward": _mean(rewards),
        "advantage": _mean(advantages),
        "votes": _mean(votes),
        "last": turns[-1]["action"][:120] if turns else "",
    }


def _mean(values: list[float]) -> float | None:
    """Mean to three digits; None without values, or where they are too large to add up."""
    try:
        return round(fmean(values), 3) if values else None
    except OverflowError:
        return None


def read_index(folder: SafeFolder, name: str) -> dict[str, Any]:
    """List the episodes of a file, with the problems of its unreadable lines.

    Raises:
        FileNotFoundError, RunFolderError: The folder has no such file.
    """
    episodes: list[dict[str, Any]] = []
    problems: list[str] = []
    for episode in _episodes(folder, name, problems):
        episodes.append(brief(episode))  # noqa: PERF401 (the problems are complete when the episodes are)
    return {"episodes": episodes, "problems": problems[:20]}


def read_chunk(folder: SafeFolder, name: str, chunk: int) -> dict[str, Any]:
    """Read a chunk: at most `CHUNK` complete episodes, from number ``CHUNK * chunk`` on.

    Raises:
        FileNotFoundError, RunFolderError: The folder has no such file.
    """
    problems: list[str] = []
    wanted = range(CHUNK * chunk, CHUNK * (chunk + 1))
    return {"episodes": list(_episodes(folder, name, problems, wanted)), "problems": problems}


def _episodes(
    folder: SafeFolder, name: str, problems: list[str], wanted: range | None = None
) -> Iterator[dict[str, Any]]:
    """The readable episodes of a file; a message about each other line is appended to ``problems``."""
    with folder.open(name) as file:
        try:
            for n, line in unpacked_lines(file):
                if wanted is not None and n >= wanted.stop:
                    return
                if wanted is not None and n not in wanted:
                    continue
                if line is None:
                    problems.append(f"episode {n} of {name}: too long to be shown")
                    continue
                try:
                    yield read_episode(n, line)
                except RunFolderError as error:
                    problems.append(f"episode {n} of {name}: {error}")
        except RunFolderError as error:
            problems.append(f"{name}: {error}")
