"""A program for an interpreter with the package desktop-env: scores cases with its own metrics.

Its one argument is a file with one case a line: ``{"metric", "arguments", "options"}``, files being paths. It prints a
line for each: ``{"score": ...}``, or ``{"raises": ...}`` where the metric raises an exception.
"""

import json
import os
import sys
import types
from pathlib import Path


class Missing(types.ModuleType):
    """Stands for a library that is imported and not called by the metrics under test."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def main():
    for name in ("easyocr", "borb", "borb.pdf"):  # read text from pictures; imported and never used
        sys.modules[name] = Missing(name)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import desktop_env.evaluators.metrics as metrics

    with Path(sys.argv[1]).open() as file:
        for line in file:
            case = json.loads(line)
            try:
                score = getattr(metrics, case["metric"])(*case["arguments"], **case["options"])
                answer = {"score": float(score)}
            except Exception as error:
                answer = {"raises": type(error).__name__}
            out.write(json.dumps(answer) + "\n")
    out.close()


main()
