"""An environment with a wheel of this checkout and the packages that it asks for, and none of the training stack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from isolated import ROOT, Isolated

__all__ = ["Light", "build"]

CORE = Isolated("core")
"""The packages of the core, installed once and seen by each environment behind its own."""


def build(source: Path, out: Path, kind: str) -> Path:
    """A wheel or an sdist of a checkout."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (made,) = out.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


class Light:
    """A virtual environment into which pip installed the wheel.

    Attributes:
        bin: Its programs.
        wheel: The wheel.
    """

    def __init__(self, folder: Path) -> None:
        core = CORE.python()
        self.wheel = build(ROOT, folder / "wheel", "wheel")
        subprocess.run([str(core), "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
        self.bin = folder / "venv" / "bin"
        (inside,) = (folder / "venv").glob("lib/python*/site-packages")
        (behind,) = CORE.path.glob("lib/python*/site-packages")
        (inside / "core.pth").write_text(f"{behind}\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(self.wheel)], check=True)

    def run(self, *words: str, cwd: Path, stdin: str = "", code: int = 0) -> str:
        """Run a program of it and return what it printed, standard error last.

        Args:
            words: The program and its arguments.
            cwd: Working directory.
            stdin: What it reads.
            code: The exit code that it has to have.
        """
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RLANYTHING_"))}
        done = subprocess.run(
            [str(self.bin / words[0]), *words[1:]],
            cwd=cwd,
            input=stdin,
            capture_output=True,
            text=True,
            env={**plain, "PATH": f"{self.bin}:{os.environ['PATH']}", "NO_COLOR": "1"},
            timeout=300,
            check=False,
        )
        assert done.returncode == code, f"{words}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
        return done.stdout + done.stderr
