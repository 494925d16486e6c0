"""The functions of the package desktop-env, for the evaluators that name some that are not built in.

They run in a separate Python interpreter, which the user brings: desktop-env needs other versions of many libraries
than this package. ``pip install --no-deps desktop-env`` there is enough for the functions whose own libraries are
there as well.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import Any

from rlanything_verifiers.osworld.errors import Unreadable, VerifierError
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.registry import Metric, score_of

__all__ = ["Bridge"]

_WORKER = Path(__file__).with_name("bridge_worker.py")


class Bridge:
    """Finds functions of desktop-env by name: the `foreign` of `evaluate` and `check_evaluator`.

    Args:
        python: an interpreter in which desktop-env is installed.
        timeout: seconds that one call may take; a file of an agent that takes longer scores 0.

    Raises:
        VerifierError: (at the first call) the interpreter is missing, or desktop-env is not installed in it.
    """

    def __init__(self, python: str | Path, timeout: float = 300.0) -> None:
        self.python = str(python)
        self.timeout = timeout

    @cached_property
    def names(self) -> frozenset[str]:
        """The functions that can be called there."""
        try:
            return frozenset(self._ask({"call": "names"})["names"])
        except subprocess.TimeoutExpired as error:
            raise VerifierError(f"{self.python} did not name its functions within {self.timeout:g} seconds") from error

    def __call__(self, name: str) -> Metric | None:
        """The function of a name; None where there is none."""
        return Metric(name, partial(self._score, name), free=True) if name in self.names else None

    def _score(self, name: str, *arguments: Any, **options: Any) -> float:
        with tempfile.TemporaryDirectory(prefix="rlanything-bridge-") as folder:
            written = [_written(value, Path(folder, str(number))) for number, value in enumerate(arguments)]
            try:
                answer = self._ask({"call": "score", "name": name, "arguments": written, "options": options})
            except subprocess.TimeoutExpired as error:
                raise Unreadable(f"{name} took more than {self.timeout:g} seconds") from error
        if "failed" in answer:
            raise Unreadable(f"{name}: {answer['failed']}")
        return score_of(answer.get("score"))

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        try:
            done = subprocess.run(
                [self.python, str(_WORKER)],
                input=json.dumps(question).encode(),
                capture_output=True,
                timeout=self.timeout,
            )
        except OSError as error:
            raise VerifierError(f"the interpreter {self.python} cannot be started: {error}") from error
        try:
            answer = json.loads(done.stdout)
        except ValueError as error:
            last = done.stderr.decode(errors="replace").strip()[-300:]
            raise VerifierError(f"the interpreter {self.python} gave no answer: {last}") from error
        if not isinstance(answer, dict) or "error" in answer:
            raise VerifierError(f"{self.python}: {answer.get('error') if isinstance(answer, dict) else answer}")
        return answer


def _written(value: Any, folder: Path) -> Any:
    """The value with paths in the place of files, as functions of desktop-env want it."""
    if isinstance(value, list) and any(isinstance(item, File) for item in value):
        return [_written(item, folder) for item in value]
    if not isinstance(value, File):
        return value
    folder.mkdir(exist_ok=True)
    for file in (*value.beside.values(), value):
        (folder / _name(file)).write_bytes(file.data)
    return str(folder / _name(value))


def _name(file: File) -> str:
    return PurePosixPath(file.name).name or "file"
