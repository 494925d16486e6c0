"""A program for an interpreter with desktop-env: reads a question as JSON, calls a function, prints the answer.

It needs nothing of the package it lies in.
"""

import importlib
import importlib.util
import json
import os
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PACKAGE = "desktop_env.evaluators.metrics"


def modules() -> Iterator[types.ModuleType]:
    """The module with all functions; or, where a library is missing, those of its parts that can be loaded."""
    spec = importlib.util.find_spec("desktop_env")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("desktop-env is not installed there: pip install --no-deps desktop-env")
    try:
        yield importlib.import_module(PACKAGE)
        return
    except ImportError:
        pass
    root = Path(next(iter(spec.submodule_search_locations)))
    for name in [name for name in sys.modules if name.partition(".")[0] == "desktop_env"]:
        del sys.modules[name]
    for depth in range(1, 4):  # packages whose __init__ is left out: it would load everything
        parts = PACKAGE.split(".")[:depth]
        module = types.ModuleType(".".join(parts))
        module.__path__ = [str(root.joinpath(*parts[1:]))]
        sys.modules[module.__name__] = module
    for path in sorted(root.joinpath("evaluators", "metrics").glob("[!_]*.py")):
        try:
            yield importlib.import_module(f"{PACKAGE}.{path.stem}")
        except ImportError:
            continue


def functions() -> dict[str, Callable[..., Any]]:
    """The functions by name."""
    found: dict[str, Callable[..., Any]] = {}
    for module in modules():
        found.update(
            (name, value)
            for name, value in vars(module).items()
            if isinstance(value, types.FunctionType) and value.__module__.startswith(PACKAGE) and name[0] != "_"
        )
    return found


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """The output to print."""
    try:
        found = functions()
        if question["call"] == "names":
            return {"names": sorted(found)}
        function = found[question["name"]]
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    try:
        return {"score": float(function(*question["arguments"], **question["options"]))}
    except ImportError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"[:300]}


def main() -> None:
    """Read, answer; what the functions print goes elsewhere."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    json.dump(answer(json.load(sys.stdin)), out)
    out.close()


if __name__ == "__main__":
    main()
