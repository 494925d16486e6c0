"""The README from its top to `make demo`, as its reader types it: in an empty folder, and then once more."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from doc_blocks import Block, read_page
from doc_runner import ROOT
from isolated import OFFLINE

BLOCKS = read_page(ROOT / "README.md").blocks
MINUTE_S = 60.0
"""Processor seconds for everything before `make demo`, the installation included."""
GIT = """#!/bin/sh
# Stands in for git where the page clones: the address is a placeholder, the content is this checkout.
cd "$CHECKOUT" && "$GIT" ls-files -z | tar --null --files-from=- -c | tar -x -C "$OLDPWD" --one-top-level="${2##*/}"
"""


def _before_training() -> list[Block]:
    blocks = []
    for block in BLOCKS:
        if "make demo" in block.text:
            return blocks
        blocks.append(block)
    raise AssertionError("README does not name make demo")


def _script(blocks: list[Block]) -> str:
    """The blocks as one shell session; what Python prints is compared with the page."""
    lines = ["set -e"]
    for number, block in enumerate(blocks):
        if block.language == "bash":
            lines.append(block.text)
        elif block.language == "python":
            lines.append(f"cat > block{number}.py <<'END'\n{block.text}END\npython block{number}.py | tee -a printed")
    return "\n".join(lines)


def _run(script: str, folder: Path) -> float:
    """Run a session and return the processor seconds that it took."""
    (folder / "bin").mkdir(exist_ok=True)
    git = folder / "bin" / "git"
    git.write_text(GIT)
    git.chmod(0o755)
    (folder / "bin" / "python3").unlink(missing_ok=True)
    (folder / "bin" / "python3").symlink_to(sys._base_executable)  # type: ignore[attr-defined]
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RLANYTHING_"))}
    env = {**plain, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder)}
    env |= {"CHECKOUT": str(ROOT), "GIT": _git()}
    env |= {"PIP_CONSTRAINT": str(ROOT / "constraints.txt"), "PIP_CACHE_DIR": _cache(), "PIP_QUIET": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode and any(sign in done.stderr for sign in OFFLINE):
        pytest.skip("no package index is in reach")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _git() -> str:
    return subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()


def _cache() -> str:
    command = [sys.executable, "-m", "pip", "cache", "dir"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
def test_the_first_minute_twice(tmp_path: Path) -> None:
    blocks = _before_training()
    assert [block.language for block in blocks if block.language != "text"] == ["bash", "python", "python"]
    spent = _run(_script(blocks), tmp_path)
    print(f"{spent:.0f} s of processor time")
    assert spent < MINUTE_S
    again = [line for line in _script(blocks).splitlines() if not line.startswith("git clone")]
    folder = re.search(r"cd (\S+)", blocks[0].text)
    assert folder
    _run("\n".join([f"cd {folder[1]}", *again]), tmp_path)
    printed = (tmp_path / folder[1] / "printed").read_text()
    assert printed == 2 * "".join(block.output or "" for block in blocks)


def test_the_address_is_that_of_the_project() -> None:
    address = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
    cloned = re.findall(r"git clone (\S+)", (ROOT / "README.md").read_text())
    assert cloned == [address]
