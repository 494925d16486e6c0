"""Logs of Inspect AI: the episodes of a run as ``inspect view`` shows them, one log for each iteration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.stored.episodes import StoredEpisode, read_episodes
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.tools.export.kinds import chat
from rlanything_agents.tools.export.run import new_folder, view_of
from rlanything_envs.views import View
from rlanything_task_pools import MissingExtra

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

__all__ = ["export_logs"]

SCORER = "outcome"


def export_logs(folder: RunFolder, target: Path) -> dict[str, int]:
    """Write the episodes of a run to a new folder as logs of Inspect AI, which appears complete or not at all.

    A sample is an episode: the chat, the outcome as score, and as metadata the slot, its role, and the votes, reward
    and advantage of each turn. Its id is the task's, and its epoch the number of the episode on this task. An episode
    whose machinery failed has an error and no score.

    Args:
        folder: The run; it may still be running: complete iterations are read.
        target: A new folder, for ``inspect view --log-dir``.

    Returns:
        Samples by file.

    Raises:
        RunFolderError: The target exists, or there is nothing to export.
        RunFolderError: The run's files cannot be read.
        MissingExtra: ``inspect_ai`` is not installed.
    """
    try:
        from inspect_ai.log import write_eval_log
    except ImportError as error:
        raise MissingExtra(f"logs of Inspect AI need its package ({error}): pip install inspect-ai") from error
    config = SafeFolder(folder.path).json("config.json")
    view = view_of(str(config.get("domain", "")))
    counts: dict[str, int] = {}
    with new_folder(folder, target) as (files, scratch):
        for file in files:
            if episodes := list(read_episodes(file)):
                name = f"iteration-{episodes[0].iteration:04d}.eval"
                played = datetime.fromtimestamp(file.stat().st_mtime, UTC)
                write_eval_log(_log(config, episodes, view, played), str(scratch / name))
                counts[name] = len(episodes)
    return counts


def _log(config: dict[str, Any], episodes: Sequence[StoredEpisode], view: View, played: datetime) -> EvalLog:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalMetric, EvalResults, EvalScore, EvalSpec, EvalStats

    name, iteration = str(config.get("name", "run")), episodes[0].iteration
    numbers: Counter[str] = Counter()
    samples = []
    for episode in episodes:
        numbers[episode.task_id] += 1
        samples.append(_sample(episode, numbers[episode.task_id], view, name))
    ended = [episode for episode in episodes if episode.outcome is not None]
    accuracy = sum(episode.outcome == 1 for episode in ended) / len(ended) if ended else 0.0
    time = played.isoformat(timespec="seconds")
    return EvalLog(
        status="success",
        eval=EvalSpec(
            created=time,
            task=f"{name}-iteration-{iteration}",
            dataset=EvalDataset(
                name=str(config.get("domain", "")), samples=len(numbers), sample_ids=list(numbers), shuffled=False
            ),
            model=f"rlanything/{name}",
            config=EvalConfig(epochs=max(numbers.values())),
            metadata={"iteration": iteration},
        ),
        results=EvalResults(
            total_samples=len(samples),
            completed_samples=len(ended),
            scores=[
                EvalScore(name=SCORER, scorer=SCORER, metrics={"accuracy": EvalMetric(name="accuracy", value=accuracy)})
            ],
        ),
        stats=EvalStats(started_at=time, completed_at=time),
        samples=samples,
    )


def _sample(episode: StoredEpisode, epoch: int, view: View, model: str) -> EvalSample:
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
    from inspect_ai.scorer import CORRECT, INCORRECT, Score

    messages: list[Any] = [
        ChatMessageUser(content=message["content"])
        if message["role"] == "user"
        else ChatMessageAssistant(content=message["content"], model=model)
        for message in chat(episode, view)
    ]
    if episode.turns:
        messages.append(ChatMessageUser(content=episode.turns[-1].observation))
    last = episode.turns[-1].action if episode.turns else ""
    broken = episode.outcome is None
    score = Score(
        value=CORRECT if episode.outcome == 1 else INCORRECT,
        answer=last,
        explanation=f"score {episode.score:g} after {len(episode.turns)} answers",
    )
    return EvalSample(
        id=episode.task_id,
        epoch=epoch,
        input=episode.goal,
        target="",
        messages=messages,
        output=ModelOutput.from_content(model=model, content=last),
        scores=None if broken else {SCORER: score},
        error=EvalError(message=episode.error, traceback="", traceback_ansi="") if broken else None,
        metadata={
            "slot": episode.slot,
            "role": episode.role,
            "score": episode.score,
            "turns": [
                {"votes": list(turn.votes), "reward": turn.reward, "advantage": turn.advantage}
                for turn in episode.turns
            ],
        },
    )
