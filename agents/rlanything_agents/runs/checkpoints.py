"""The checkpoints of a run: what it goes on from. One is whole, with the hashes of its files, or it is not there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rlanything_agents.runs.manifest import damage, seal
from rlanything_agents.runs.storage import RunFolderError, storing, sync_folder

__all__ = ["Checkpoints"]


class Checkpoints:
    """A folder of checkpoints, ``NNNN/`` after iteration NNNN.

    Args:
        path: Where they are.
        metrics: File of the run's metrics, of which each checkpoint has a copy.
    """

    KEPT = 2
    """How many are there at once; one more while one is written."""

    def __init__(self, path: Path, metrics: Path) -> None:
        self.path = path
        self._metrics = metrics

    def folder(self, iteration: int) -> Path:
        """Where the checkpoint after an iteration is, or would be."""
        return self.path / f"{iteration:04d}"

    def stored(self) -> list[tuple[int, Path]]:
        """Iteration number and folder of all checkpoints, the newest first."""
        if not self.path.is_dir():
            return []
        found = [path for path in self.path.iterdir() if path.is_dir() and path.name.isdigit()]
        return sorted(((int(path.name), path) for path in found), reverse=True)

    def latest(self) -> tuple[int, Path] | None:
        """Iteration number and folder of the newest checkpoint that is whole; None before the first.

        Raises:
            RunFolderError: There are checkpoints, and all of them are damaged.
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
        """Folder of the newest checkpoint, for whoever wants the end of a run and nothing older; None before the first.

        Raises:
            RunFolderError: It is damaged.
        """
        stored = self.stored()
        if stored and (wrong := damage(stored[0][1])):
            file, what = next(iter(wrong.items()))
            raise RunFolderError(
                f"{stored[0][1] / file} is damaged: {what}; start its run again: it mends the checkpoint"
            )
        return stored[0][1] if stored else None

    def damaged(self) -> list[str]:
        """What is wrong with the checkpoints that are newer than the one to go on from, the newest first."""
        found = []
        for _, path in self.stored():
            if not (wrong := damage(path)):
                break
            found.append(", ".join(f"checkpoints/{path.name}/{file}: {what}" for file, what in wrong.items()))
        return found

    @contextmanager
    def write(self, iteration: int) -> Iterator[Path]:
        """A folder to fill; it becomes the newest checkpoint when the block ends without an error."""
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
                # Room for what may be written next; after a kill `RunFolder.prepare` sweeps it away.
                shutil.rmtree(scratch, ignore_errors=True)
                raise
            shutil.rmtree(final, ignore_errors=True)
            scratch.rename(final)
            sync_folder(self.path)
            self.drop_before(iteration)

    def drop_before(self, iteration: int) -> None:
        """Delete all but the last `KEPT` of those up to an iteration."""
        until = [path for number, path in self.stored() if number <= iteration]
        for old in until[self.KEPT :]:
            shutil.rmtree(old)
