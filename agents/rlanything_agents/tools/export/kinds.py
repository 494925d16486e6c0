"""Kinds of rows of an exported data set, with the types of their columns.

A chat begins with the environment's manual, where it has one, and its first message; an answer is thought and action
as the full view of the environment writes them. The message after the last answer is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from rlanything_agents.runs.stored.episodes import StoredEpisode, StoredTurn
from rlanything_envs.views import View

if TYPE_CHECKING:
    from datasets import Features

__all__ = ["KINDS", "Group", "Kind", "Row", "chat"]

Row = dict[str, Any]
Group = Sequence[tuple[int, StoredEpisode]]
"""The episodes of one task in one iteration, each with its number in the iteration."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of rows.

    Attributes:
        meaning: Description of a row.
        columns: Name -> type and description; types are Arrow's names, ``messages``, ``turns``, or a list of a type as
            ``[string]``.
        rows: Function from a group and the environment's full view to rows.
        has_outcome: Whether a row belongs to one episode, and so to a solved or a failed one.
    """

    meaning: str
    columns: Mapping[str, tuple[str, str]]
    rows: Callable[[Group, View], Iterator[Row]]
    has_outcome: bool = True

    def features(self) -> Features:
        """Columns as types of ``datasets``."""
        from datasets import Features

        return Features({name: _feature(kind) for name, (kind, _) in self.columns.items()})


def _feature(kind: str) -> Any:
    from datasets import List, Value

    if kind.startswith("["):
        return List(Value(kind[1:-1]))
    if kind == "messages":
        return List({"role": Value("string"), "content": Value("string")})
    return List({name: _feature(inner) for name, (inner, _) in _TURN.items()}) if kind == "turns" else Value(kind)


def _episodes(group: Group, view: View) -> Iterator[Row]:
    for number, episode in group:
        yield {
            **_head(number, episode),
            "error": episode.error,
            "opening": episode.opening,
            "turns": [_turn(turn) for turn in episode.turns],
        }


def _turns(group: Group, view: View) -> Iterator[Row]:
    for number, episode in group:
        for k, turn in enumerate(episode.turns):
            yield {**_head(number, episode), "turn": k, **_turn(turn)}


def _judgements(group: Group, view: View) -> Iterator[Row]:
    for number, episode in group:
        for k, turn in enumerate(episode.turns):
            for v, (text, vote) in enumerate(zip_longest(turn.judgements, turn.votes)):
                shown = {"thought": turn.thought, "action": turn.action, "observation": turn.observation}
                judged = {"number": v, "judgement": text or "", "vote": vote}
                yield {**_head(number, episode), "turn": k, **shown, **judged, "reward": turn.reward}


def _preferences(group: Group, view: View) -> Iterator[Row]:
    """Pairs of the n-th solved and the n-th failed episode of a group, while there are both."""
    won = [episode for _, episode in group if episode.outcome == 1 and episode.turns]
    lost = [episode for _, episode in group if episode.outcome == -1 and episode.turns]
    for better, worse in zip(won, lost, strict=False):
        yield {
            **_task(better),
            "prompt": chat(better, view)[:1],
            "chosen": chat(better, view)[1:],
            "rejected": chat(worse, view)[1:],
            "chosen_score": better.score,
            "rejected_score": worse.score,
        }


def _sft(group: Group, view: View) -> Iterator[Row]:
    for number, episode in group:
        if episode.outcome == 1 and episode.turns:
            yield {**_head(number, episode), "messages": chat(episode, view)}


def _task(episode: StoredEpisode) -> Row:
    return {
        "iteration": episode.iteration,
        "slot": episode.slot,
        "role": episode.role,
        "task_id": episode.task_id,
        "goal": episode.goal,
    }


def _head(number: int, episode: StoredEpisode) -> Row:
    return {**_task(episode), "episode": number, "outcome": episode.outcome, "score": episode.score}


def _turn(turn: StoredTurn) -> Row:
    return {
        "thought": turn.thought,
        "action": turn.action,
        "observation": turn.observation,
        "judgements": list(turn.judgements),
        "votes": list(turn.votes),
        "reward": turn.reward,
        "advantage": turn.advantage,
    }


def chat(episode: StoredEpisode, view: View) -> list[Row]:
    """The messages of an episode, those of the user and of the assistant in turn, the assistant's last."""
    shown = f"{view.manual}\n\n{episode.opening}" if view.manual else episode.opening
    messages: list[Row] = []
    for turn in episode.turns:
        answer = view.write(turn.thought, turn.action)
        messages += [{"role": "user", "content": shown}, {"role": "assistant", "content": answer}]
        shown = turn.observation
    return messages


_TASK = {
    "iteration": ("int32", "iteration of the loop, from 1"),
    "slot": ("int32", "slot of the task pool"),
    "role": ("string", "why the task was played: active, candidate or root"),
    "task_id": ("string", "hash of the task's content"),
    "goal": ("string", "the goal of the task, in words"),
}
_HEAD = {
    **_TASK,
    "episode": ("int32", "number of the episode in its iteration, from 0"),
    "outcome": ("int8", "1 won, -1 lost, null where the infrastructure failed"),
    "score": ("float32", "the environment's score at the end"),
}
_TURN = {
    "thought": ("string", "what the agent thought"),
    "action": ("string", "what it did"),
    "observation": ("string", "what the environment answered"),
    "judgements": ("[string]", "judgements of the reward model, one text per vote"),
    "votes": ("[float32]", "its votes: 1, -1, or null for one that cannot be read"),
    "reward": ("float32", "outcome and votes integrated; null where the infrastructure failed"),
    "advantage": ("float32", "the reward, standardised over the episodes of the task"),
}

KINDS: dict[str, Kind] = {
    "episodes": Kind(
        "an episode with all its turns",
        {
            **_HEAD,
            "error": ("string", "what failed, where the infrastructure did"),
            "opening": ("string", "the first message of the environment"),
            "turns": ("turns", "its turns, with the columns of `turns`"),
        },
        _episodes,
    ),
    "turns": Kind(
        "a turn with its votes, its reward and its advantage",
        {**_HEAD, "turn": ("int32", "number of the turn, from 0"), **_TURN},
        _turns,
    ),
    "judgements": Kind(
        "one judgement of one turn",
        {
            **_HEAD,
            "turn": ("int32", "number of the turn, from 0"),
            **{name: _TURN[name] for name in ("thought", "action", "observation")},
            "number": ("int32", "number of the vote, from 0"),
            "judgement": ("string", "its words"),
            "vote": ("float32", "1, -1, or null for one that cannot be read"),
            "reward": _TURN["reward"],
        },
        _judgements,
    ),
    "preferences": Kind(
        "a won and a lost episode of the same task and iteration",
        {
            **_TASK,
            "prompt": ("messages", "the first message"),
            "chosen": ("messages", "what followed in the won episode"),
            "rejected": ("messages", "what followed in the lost one"),
            "chosen_score": ("float32", "score of the won episode"),
            "rejected_score": ("float32", "score of the lost one"),
        },
        _preferences,
        has_outcome=False,
    ),
    "sft": Kind(
        "a won episode as a chat",
        {**_HEAD, "messages": ("messages", "user and assistant in turn, the assistant last")},
        _sft,
    ),
}
