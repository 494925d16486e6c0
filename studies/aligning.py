"""One seed of the alignment study: plays the reference and the small batches, and compares their directions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rlanything_agents.config import RunConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.domains.alfworld.labels import plan_lengths
from rlanything_agents.domains.supervision import get_step_supervision
from rlanything_agents.feedback import potential_votes
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers import LocalWorkers, Play
from rlanything_agents.runs.folder import RunFolder, write_atomically
from rlanything_agents.runs.parts import RunParts
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.training.plain import PlainTrainer
from rlanything_agents.training.samples import trajectory_samples
from studies.gradients import BUCKETS, Sketch, directions
from studies.jobs import weights_of
from studies.judge_study import TRAINED, WARM, AlignmentSettings, note_progress
from studies.judges import Judge, Votes, model_judge, true_judge
from studies.plan import StudyError
from studies.updates import Group, Kind, factors, kinds_of, success_factors

__all__ = ["SOURCES", "align", "cut"]

SOURCES = (WARM, TRAINED, "true labels", "trained judge, return", "potential")
"""Sources of step rewards. ``potential`` is gamma to the power of the steps of the remaining plan, 0 at the end."""

Arrays = NDArray[np.float32]
Episode = tuple[int, int]
"""Number of the task and of the episode in a block."""


def align(work: Mapping[str, Any], folder: Path) -> None:
    """Compare the kinds of updates on one seed and leave ``result.json``.

    The finished blocks of an interrupted job are kept.

    Args:
        work: ``config`` of the warm start's run, ``judges``, run folders by source, and ``settings``, the fields of an
            `AlignmentSettings`.
        folder: Folder of the job.

    Raises:
        StudyError: A block cannot be cut into whole batches, or the reference is too short.
    """
    settings, config = AlignmentSettings.model_validate(work["settings"]), RunConfig.model_validate(work["config"])
    block = _Block(config, settings, folder, {name: Path(run) for name, run in work["judges"].items()})
    for size in settings.sizes:
        cut(config.curriculum.pool_size, settings.episodes, size, settings.batch)  # refused before anything is played
    total = settings.folds + settings.blocks
    reference: list[Mapping[str, Arrays]] = []
    updates: list[Mapping[str, Arrays]] = []
    for number in range(total):
        fold = number < settings.folds
        name = f"reference {number + 1}" if fold else f"block {number - settings.folds + 1}"
        note_progress(folder, number, total, name)
        path = folder / f"{name.replace(' ', '-')}.npz"
        if not path.exists():
            _store(path, block.reference(number) if fold else block.updates(number))
        (reference if fold else updates).append(dict(np.load(path)))
    note_progress(folder, total, total, "compared")
    write_atomically(folder / "result.json", json.dumps(_result(settings, reference, updates)) + "\n")
    for path in folder.glob("block-*.npz"):
        path.unlink()  # large, and all that is used of them is in the result


def _result(
    settings: AlignmentSettings, reference: Sequence[Mapping[str, Arrays]], updates: Sequence[Mapping[str, Arrays]]
) -> dict[str, Any]:
    folds = np.stack([part["gradient"] for part in reference])
    solved, played = (sum(int(part[name]) for part in (*reference, *updates)) for name in ("solved", "played"))
    rows = []
    for at, kind in enumerate(kinds_of(SOURCES, settings.lams)):
        for size in settings.sizes:
            try:
                found = directions(np.concatenate([part[f"size-{size}"][at] for part in updates]), folds)
            except ValueError as error:
                raise StudyError(f"alignment.folds {settings.folds}: {error}") from error
            rows.append(
                {
                    "source": kind.source,
                    "lam": kind.lam,
                    "silent": kind.silent,
                    "size": size,
                    "cosines": found.cosines.tolist(),
                    "empty": found.empty,
                    "bias": found.bias,
                    "noise": found.noise,
                }
            )
    first, second = (folds[start::2].mean(axis=0, dtype=np.float64) for start in (0, 1))
    alike = float(np.dot(first, second) / (np.linalg.norm(first) * np.linalg.norm(second)))
    share = solved / played
    return {"note": f"{played:,} episodes", "success": share, "played": played, "halves": alike, "rows": rows}


class _Block:
    """Plays blocks: every task of the pool, so many episodes each."""

    def __init__(
        self, config: RunConfig, settings: AlignmentSettings, folder: Path, judges: Mapping[str, Path]
    ) -> None:
        torch.set_num_threads(config.threads)
        self.config, self.settings = config, settings
        self.parts = RunParts.assemble(config, RunFolder(folder), Reporter())
        self.parts.learners.policy.load_weights(weights_of(RunFolder(judges[WARM])) / "policy")
        self.tasks = self.parts.train_tasks("pool", config.curriculum.pool_size)
        self.payloads = {task.id: task.payload for task in self.tasks}
        self.trainer = PlainTrainer(self.parts.learners.policy.model, config.policy_trainer)
        weights = sum(weight.numel() for weight in self.trainer.model.parameters() if weight.requires_grad)
        self.sketch = Sketch(weights)
        self.judges: dict[str, Judge] = {
            **{name: model_judge(self.parts, run, config.judge.votes) for name, run in judges.items()},
            "true labels": true_judge(get_step_supervision(config.domain), self.payloads),
        }

    def reference(self, number: int) -> dict[str, Any]:
        """An unbiased estimate of the gradient of success, from outcomes alone."""
        groups, episodes = self._played(number)
        found = success_factors(groups)
        gradient = torch.zeros(BUCKETS)
        for (g, t), trajectory in episodes.items():
            if found[g][t].any():
                gradient += self._gradients(trajectory, found[g][t][None])[0]
        return {"gradient": gradient.numpy(), **_counts(groups)}

    def updates(self, number: int) -> dict[str, Any]:
        """The update of each kind from each small batch: ``size-G``, shape (kinds, batches, buckets)."""
        groups, episodes = self._played(number, judged=True)
        settings = self.settings
        kinds = kinds_of(SOURCES, settings.lams)
        weights, found = {}, {}
        for size in settings.sizes:
            batches = cut(len(groups), settings.episodes, size, settings.batch)
            weights[size] = [[_by_episode(kind, batch, groups) for batch in batches] for kind in kinds]
            found[size] = torch.zeros(len(kinds), len(batches), BUCKETS)
        for place, trajectory in episodes.items():
            steps = self._gradients(trajectory, np.eye(len(trajectory.steps)))
            for size, by_kind in weights.items():
                for batch in range(len(by_kind[0])):
                    if place in by_kind[0][batch]:
                        rows = torch.from_numpy(np.stack([of[batch][place] for of in by_kind])).float()
                        found[size][:, batch] += rows @ steps
        return {**{f"size-{size}": of.numpy() for size, of in found.items()}, **_counts(groups)}

    def _gradients(self, trajectory: Trajectory, factors: NDArray[np.float64]) -> torch.Tensor:
        """Sketches of sums over the steps of factor times gradient of the mean log-probability of a step's tokens.

        Args:
            trajectory: An episode of the policy.
            factors: Shape (rows, steps).

        Returns:
            Shape (rows, buckets).
        """
        (sample,) = trajectory_samples(trajectory, [1.0] * len(trajectory.steps))
        sampled = torch.from_numpy(factors[:, _tokens(trajectory) > 0]).float()  # the others: all tokens were forced
        return self.sketch(self.trainer.answer_gradients(sample, sampled))

    def _played(self, number: int, judged: bool = False) -> tuple[list[Group], dict[Episode, Trajectory]]:
        """Play a block, and have its steps judged."""
        rollout, count = self.config.rollout, self.settings.episodes
        seed = seed_of(self.config.seed, "alignment", number)
        repeated = [task for task in self.tasks for _ in range(count)]
        workers = LocalWorkers(self.config, self.parts.learners, self.parts.envs)
        played = workers.play(repeated, Play(rollout.max_steps, seed, rollout.temperature))
        if lost := next((episode.error for episode in played if episode.outcome is None), ""):
            raise StudyError(f"an episode of the comparison has no outcome: {lost}")
        votes = self._votes(played, seed) if judged else {}
        groups = [
            Group(
                outcomes=[int(episode.outcome or 0) for episode in played[at : at + count]],
                votes={name: found[at : at + count] for name, found in votes.items()},
                tokens=[_tokens(episode) for episode in played[at : at + count]],
            )
            for at in range(0, len(played), count)
        ]
        return groups, {divmod(at, count): episode for at, episode in enumerate(played)}

    def _votes(self, played: Sequence[Trajectory], seed: int) -> dict[str, Votes]:
        votes = {name: judge(played, seed_of(seed, name)) for name, judge in self.judges.items()}
        gamma = self.config.feedback.gamma
        votes["potential"] = [_potential_votes(self.payloads[t.task_id], t, gamma) for t in played]
        return votes


def cut(tasks: int, episodes: int, size: int, batch: int) -> list[list[tuple[int, tuple[int, ...]]]]:
    """Cut a block into small batches of whole groups, with as many different tasks in each as there can be.

    Args:
        tasks: Tasks of the block.
        episodes: Episodes of each.
        size: Episodes of a group.
        batch: Episodes of a batch.

    Returns:
        Batches of groups: the number of the task, and those of its episodes.

    Raises:
        StudyError: They do not divide.
    """
    groups = [
        (task, tuple(range(at, at + size))) for at in range(0, episodes - size + 1, size) for task in range(tasks)
    ]
    if episodes % size or batch % size or len(groups) * size % batch:
        raise StudyError(
            f"alignment: {tasks} tasks of {episodes} episodes are not whole batches of {batch} in groups of {size}: "
            "choose numbers that divide"
        )
    count = batch // size
    return [groups[at : at + count] for at in range(0, len(groups), count)]


def _by_episode(
    kind: Kind, batch: Sequence[tuple[int, tuple[int, ...]]], groups: Sequence[Group]
) -> dict[Episode, NDArray[np.float64]]:
    """Factors of the steps of each episode of a small batch."""
    chosen = [_part(groups[task], members) for task, members in batch]
    found = factors(kind, chosen)
    return {
        (task, member): steps
        for (task, members), of_group in zip(batch, found, strict=True)
        for member, steps in zip(members, of_group, strict=True)
    }


def _part(group: Group, members: Sequence[int]) -> Group:
    return Group(
        outcomes=[group.outcomes[t] for t in members],
        votes={name: [votes[t] for t in members] for name, votes in group.votes.items()},
        tokens=[group.tokens[t] for t in members],
    )


def _tokens(trajectory: Trajectory) -> NDArray[np.float64]:
    """Number of sampled tokens of each step, shape (steps,)."""
    sampled = [step for step in trajectory.step_of_token if step is not None]
    return np.bincount(sampled, minlength=len(trajectory.steps)).astype(np.float64)


def _potential_votes(payload: Mapping[str, Any], trajectory: Trajectory, gamma: float) -> NDArray[np.float64]:
    lengths = plan_lengths(payload, [step.action for step in trajectory.steps])
    return potential_votes([*(gamma**length for length in lengths[:-1]), 0.0], gamma)


def _counts(groups: Sequence[Group]) -> dict[str, int]:
    outcomes = [outcome for group in groups for outcome in group.outcomes]
    return {"solved": outcomes.count(1), "played": len(outcomes)}


def _store(path: Path, arrays: Mapping[str, Any]) -> None:
    scratch = path.with_suffix(".part")
    with scratch.open("wb") as file:
        np.savez(file, **arrays)
    scratch.replace(path)
