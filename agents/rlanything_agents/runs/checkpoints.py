"""Checkpoints of a run. A checkpoint is complete, with a manifest of its files and their hashes, or it is absent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rlanything_agents.runs.manifest import damage, seal
from rlanything_agents.runs.storage import RunFolderError, storing, sync_folder
from rlanything_agents.training.update import OPTIMIZER

__all__ = ["Checkpoints"]


class Checkpoints:
    """A folder of checkpoints, ``NNNN/`` after iteration NNNN.

    Args:
        path: The folder.
        metrics: File of the run's metrics; each checkpoint gets a copy.
    """

    KEPT = 2
    """Number of checkpoints kept; one more exists while a new one is written."""

    def __init__(self, path: Path, metrics: Path) -> None:
        self.path = path
        self._metrics = metrics

    def folder(self, iteration: int) -> Path:
        """Path of the checkpoint after an iteration, existing or not."""
        return self.path / f"{iteration:04d}"

    def stored(self) -> list[tuple[int, Path]]:
        """Iteration number and folder of all checkpoints, the newest first."""
        if not self.path.is_dir():
            return []
        found = [path for path in self.path.iterdir() if path.is_dir() and path.name.isdigit()]
        return sorted(((int(path.name), path) for path in found), reverse=True)

    def latest(self) -> tuple[int, Path] | None:
        """Iteration number and folder of the newest undamaged checkpoint; None where there is no checkpoint.

        Raises:
            RunFolderError: All checkpoints are damaged.
        """
        stored = self.stored()
        for iteration, path in stored:
            if not damage(path):
                return iteration, path
        if stored:
            raise RunFolderError(
                f"no checkpoint of {self.path.parent} is whole ({'; '.join(self.damaged())}): restore one from a "
                f"copy, or delete {self.path}: the loop begins again after the warm start"
            )
        return None

    def final(self) -> Path | None:
        """Folder of the newest checkpoint, without falling back on an older one; None where there is no checkpoint.
        Optimizer state need not be there.

        Raises:
            RunFolderError: The newest checkpoint is damaged.
        """
        stored = self.stored()
        wrong = damage(stored[0][1]) if stored else {}
        if needed := [file for file in wrong if OPTIMIZER not in Path(file).parts]:
            file, what = stored[0][1] / needed[0], wrong[needed[0]]
            raise RunFolderError(f"{file} is damaged: {what}; start its run again: it mends the checkpoint")
        return stored[0][1] if stored else None

    def damaged(self) -> list[str]:
        """Damage of each checkpoint that is newer than the newest undamaged one, the newest first."""
        found = []
        for _, path in self.stored():
            if not (wrong := damage(path)):
                break
            found.append(", ".join(f"checkpoints/{path.name}/{file}: {what}" for file, what in wrong.items()))
        return found

    @contextmanager
    def write(self, iteration: int) -> Iterator[Path]:
        """Empty folder that becomes the newest checkpoint when the block ends without an error."""
        final = self.folder(iteration)
        scratch = final.with_name(f"{final.name}.part")
        with storing(scratch):
            try:
                shutil.rmtree(scratch, ignore_errors=True)
                scratch.mkdir()
                yield scratch
                if self._metrics.exists():
                    shutil.copyfile(self._metrics, scratch / self._metrics.name)
                seal(scratch)
            except Exception:
                # Frees the disk for other writes; after a kill `RunFolder.prepare` deletes the leftovers.
                shutil.rmtree(scratch, ignore_errors=True)
                raise
            if final.exists():
                _delete(final)
            scratch.rename(final)
            sync_folder(self.path)
            self.drop_before(iteration)

    def drop_before(self, iteration: int) -> None:
        """Delete all but the last `KEPT` checkpoints up to an iteration."""
        until = [path for number, path in self.stored() if number <= iteration]
        for old in until[self.KEPT :]:
            _delete(old)


def _delete(folder: Path) -> None:
    """Delete a checkpoint; what a kill leaves of it is a leftover, which `RunFolder.prepare` deletes."""
    shutil.rmtree(folder.rename(folder.with_name(f"{folder.name}.old.part")))
