"""Programs that an agent wrote, tested in the sandbox."""

from __future__ import annotations

import json
import secrets
from functools import lru_cache
from typing import TYPE_CHECKING

from rlanything_verifiers.osworld.errors import VerifierError
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.registry import metric, score_of

if TYPE_CHECKING:
    from rlanything_verifiers.coding.sandbox import Sandbox

_LIBRARIES = ("pygame",)
"""Packages that OSWorld's programs import; the metric needs them whether or not a program does."""

_CPU_S, _MEMORY = 60.0, 1 << 30
_REPORT = 200
"""Bytes of a report."""

_DRIVER = """
import importlib.abc, importlib.util, json, os, sys
given = json.load(sys.stdin)
out, sys.stdout = sys.stdout, sys.stderr
os.environ["SDL_VIDEODRIVER"] = os.environ["SDL_AUDIODRIVER"] = "dummy"
class Given(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name in given["modules"] else None
    def exec_module(self, module):
        exec(compile(given["modules"][module.__name__], module.__name__ + ".py", "exec"), vars(module))
sys.meta_path.insert(0, Given())
try:
    test = getattr(importlib.import_module(given["test"]), given["function"])
    found = test()
    if not isinstance(found, (bool, int, float)):
        found = bool(found)
    answer = {"score": min(1.0, max(0.0, float(found)))}
except BaseException as error:
    answer = {"failed": type(error).__name__}
out.write(given["mark"] + json.dumps(answer))
out.flush()
os._exit(0)
"""
"""The agent's modules run in the process of the test, as upstream's do: a program made for it could forge a result."""


@metric
def check_python_file_by_test_suite(
    result: File | list[File], expected: File, *, test_function_name: str = "test"
) -> float:
    """What the test function of a program of the task returns, when it imports the agent's files by their names."""
    files = result if isinstance(result, list) else [result]
    modules = {file.stem: file.text() for one in files for file in (*one.beside.values(), one)}
    mark = secrets.token_hex(16)
    given = {"modules": modules | {expected.stem: expected.text()}, "test": expected.stem}
    given |= {"function": test_function_name, "mark": mark}
    from rlanything_verifiers.coding.sandbox import Limits, SandboxError

    limits = Limits(cpu=_CPU_S, memory=_MEMORY)
    try:
        (run,) = _sandbox(_LIBRARIES).run(_DRIVER, [json.dumps(given).encode()], limits=limits)
    except SandboxError as error:
        raise VerifierError(f"programs cannot be tested here: {error}") from error
    if run.status == "IE":
        raise VerifierError(f"the sandbox failed: {run.detail}")
    _, found, line = run.stdout.rpartition(mark.encode())
    try:
        answer = json.loads(line) if found and len(line) <= _REPORT else None
    except (ValueError, RecursionError):
        return 0.0
    return score_of(answer.get("score")) if isinstance(answer, dict) else 0.0


@lru_cache(maxsize=1)
def _sandbox(packages: tuple[str, ...]) -> Sandbox:
    from rlanything_verifiers.coding.sandbox import Sandbox

    return Sandbox(1, packages=packages)
