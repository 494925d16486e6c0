"""Stored episodes judged again with the verifiers as they are now; nothing is written.

AlfWorld's stored answers are replayed in the game of their task. In coding the program of the last answer is judged on
the hidden tests. Of a desktop the results that `rlanything benchmark --keep-results` kept are evaluated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rlanything_agents.feedback.percent import percent
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.runs.stored.values import readable
from rlanything_agents.tools.benchmark.episode import Key, Result
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.parallel import play_in_parallel
from rlanything_agents.tools.benchmark.replay import Replay, Replayer
from rlanything_agents.tools.benchmark.stored import StoredEpisode, of_benchmark, of_run, tasks_of

__all__ = ["reverify"]


def reverify(
    path: Path,
    *,
    panel: str | None = None,
    pool: Path | None = None,
    environment: Mapping[str, Any] | None = None,
    workers: int | None = None,
    reporter: Reporter | None = None,
) -> dict[str, Any]:
    """Judge the stored episodes of a run or of a benchmark again.

    Args:
        path: Folder of the run or of the benchmark.
        panel: Name of a panel with the tasks, or its JSON file; for a shipped one, and for a run, it may be left out.
        pool: A pool with the tasks, or the folder of its run.
        environment: Arguments of the environment besides the stored ones that judging depends on.
        workers: Episodes in parallel; the number of processors, at most 8, if None.
        reporter: Shows progress.

    Returns:
        ``episodes`` and, of them, ``judged`` again; ``changed``, an entry for each episode whose outcome is another one
        now: ``task``, ``group``, ``episode``, ``goal``, ``was`` and ``now`` (1 or -1), ``why``; ``solved``, the number
        of solved ones among those judged, ``before`` and ``now``; ``not_judged``, how many by reason.

    Raises:
        BenchmarkError: The folder is neither, its tasks are not to be had, its domain cannot be judged again, or not
            one of its episodes can be.
        RunFolderError: A file of the folder cannot be read.
        UnsafeSandbox, SandboxUnsupported: The machine has no sandbox for stored programs.
    """
    if workers is not None and workers < 1:
        raise BenchmarkError("workers is at least 1")
    agent, reporter, folder = Replayer(), reporter or Reporter.silent(), SafeFolder(path)
    if not path.is_dir():
        raise BenchmarkError(f"there is no folder {path}: name the folder of a run or of a benchmark")
    read = of_benchmark if folder.mark("benchmark.json")[1] else of_run
    if read is of_run and not folder.mark("config.json")[1]:
        raise BenchmarkError(f"{path} is neither a run (config.json) nor a benchmark (benchmark.json)")
    with tasks_of(folder, panel, pool) as source:
        world, stored = read(folder, source, environment or {})
    left = [episode.replay for episode in stored if episode.replay is not None]
    results: dict[Key, Result] = {}
    with (
        closing(play_in_parallel(agent, world, left, workers or agent.parallel)) as judging,
        reporter.stage(f"{len(left)} of {len(stored)} episodes", len(left)) as stage,
    ):
        for result in judging:
            results[result.key] = result
            stage.reach(len(results))
    return {"path": str(path), "domain": world.domain, **_summary(world.domain, stored, results)}


def _summary(domain: str, stored: Sequence[StoredEpisode], results: Mapping[Key, Result]) -> dict[str, Any]:
    lost: Counter[str] = Counter()
    changed: list[dict[str, Any]] = []
    before = now = 0
    for episode in stored:
        if (result := results.get(episode.key)) is None or result.outcome is None:
            lost[readable(episode.reason if result is None else result.error, 300)] += 1
            continue
        before, now = before + (episode.outcome == 1), now + (result.outcome == 1)
        if result.outcome != episode.outcome and episode.replay is not None:
            group, task, number = episode.key
            changed.append(
                {"task": task, "group": readable(group, 60), "episode": number, "goal": readable(episode.goal, 300)}
                | {"was": episode.outcome, "now": result.outcome, "why": _why(domain, episode.replay, result)}
            )
    if not (judged := len(stored) - lost.total()):
        told = "; ".join(f"{count} times: {reason}" for reason, count in lost.most_common(3)) or "it holds none"
        raise BenchmarkError(f"not one of {len(stored)} episodes can be judged again: {told}")
    return {
        "episodes": len(stored),
        "judged": judged,
        "changed": sorted(changed, key=lambda row: (row["task"], row["group"], row["episode"])),
        "solved": {"before": before, "now": now},
        "not_judged": dict(lost.most_common()),
    }


def _why(domain: str, replay: Replay, result: Result) -> str:
    """What the verifier says of the end of an episode."""
    if domain == "alfworld":
        count = len(replay.answers)
        return (
            f"the goal holds after answer {result.steps} of {count}"
            if result.outcome == 1
            else f"the goal does not hold after the {count} answers"
        )
    if domain == "coding":
        passed = f"{percent(result.score)} of the hidden tests pass"
        return "the last answer submits no program" if result.outgrown else passed
    return f"the evaluator's score is {result.score:.3g}"
