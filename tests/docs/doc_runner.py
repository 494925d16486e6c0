"""Runs the blocks of a page as its reader would: in order and in one folder, Python in a namespace for each block.

python doc_runner.py PAGE FOLDER
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import linecache
import os
import re
import signal
import subprocess
import sys
import tomllib
import traceback
from pathlib import Path

import yaml
from doc_blocks import Block, Page, read_page

from rlanything_agents.config import RunConfig

__all__ = ["BlockFailed", "run_page"]

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300
"""Most that one shell block may take."""


class BlockFailed(AssertionError):
    """A block of a page does not do what the page says; the message has page, line and what happened."""


def run_page(page: Page, folder: Path, commands: Path | None = None) -> list[Block]:
    """Run all blocks of a page in a folder, the working directory of this process.

    Args:
        page: The page.
        folder: The folder.
        commands: A folder of programs that shells are to find before all others.

    Returns:
        The blocks that cannot run here.

    Raises:
        BlockFailed: One failed, printed something else than the page shows, or is in a language nobody runs.
    """
    for name in ("configs", "examples"):  # what a reader has in the checkout
        if (ROOT / name).is_dir():
            (folder / name).symlink_to(ROOT / name)
    passed_over = []
    for block in page.blocks:
        if not block.runs:
            passed_over.append(block)
            continue
        if block.title is not None:
            if "/" in block.title and (ROOT / block.title).is_file():
                _compare_file(block, ROOT / block.title)
                continue
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        if (printed := _run(block, commands)) is not None and block.output is not None:
            _compare(block, printed)
    return passed_over


def _run(block: Block, commands: Path | None) -> str | None:
    """Run a block; return what it printed, None for data."""
    match block.language:
        case "python":
            return _python(block)
        case "bash":
            return _bash(block, commands)
        case "text" | "diff":  # of files that are not here
            return None
    try:
        match block.language:
            case "yaml":
                # What stands alone is part of a run file, and its keys have to be keys.
                RunConfig.model_validate({"name": "page", **yaml.safe_load(block.text)})
            case "toml":
                tomllib.loads(block.text)
            case "json":
                json.loads(block.text)
            case other:
                raise BlockFailed(f"{block.place}: blocks in {other!r} are not run: say why in `<!-- not run: ... -->`")
    except (ValueError, TypeError, yaml.YAMLError) as error:
        raise BlockFailed(f"{block.place}: {error}") from error
    return None


def _python(block: Block) -> str:
    """Run Python here; tracebacks show the lines of the page."""
    out = io.StringIO()
    linecache.checkcache(str(block.page))
    try:
        code = compile("\n" * (block.line - 1) + block.text, str(block.page), "exec")
        with contextlib.redirect_stdout(out):
            exec(code, {"__name__": "__main__"})
    except Exception as error:
        said = "".join(traceback.format_exception(error))
        raise BlockFailed(f"{block.place}:\n{said}\nprinted before:\n{out.getvalue()}") from error
    return out.getvalue()


def _bash(block: Block, commands: Path | None) -> str:
    """Run a shell block with this interpreter's commands first; ``make`` says what it would do and does nothing."""
    script = re.sub(r"^make ", f"make --no-print-directory --dry-run -C {ROOT} ", block.text, flags=re.MULTILINE)
    if block.run_with:
        joined = re.sub(r"\\\n\s*", "", script)
        script = re.sub(r"^(rlanything [^\n#|]*?)(\s*([#|].*)?)$", rf"\1 {block.run_with}\2", joined, flags=re.M)
    places = [commands, Path(sys.executable).parent, os.environ["PATH"]]
    home = Path.cwd() / ".home"
    home.mkdir(exist_ok=True)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("RLANYTHING_", "PYTEST_"))},
        "PATH": os.pathsep.join(str(place) for place in places if place is not None),
        "HOME": str(home),
        "PYTHONWARNINGS": "ignore",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it as the option itself: setuptools is here already
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "OMP_NUM_THREADS": "1",
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    # A session of its own, so that nothing of a block that hangs is left behind.
    shell = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", script],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        printed, complaint = shell.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        os.killpg(shell.pid, signal.SIGKILL)
        raise BlockFailed(f"{block.place}: not over after {SECONDS} s; so far: {error.stdout!r}") from error
    if shell.returncode:
        raise BlockFailed(f"{block.place}: exit {shell.returncode}\n{printed[-3000:]}\n{complaint[-3000:]}")
    return printed


def _compare(block: Block, printed: str) -> None:
    """The page's output against the real one; ``...`` stands for anything, and spaces at the ends of lines for none."""
    assert block.output is not None
    want, got = _trimmed(block.output), _trimmed(printed)
    checker = doctest.OutputChecker()
    if not checker.check_output(want, got, doctest.ELLIPSIS):
        example = doctest.Example(block.text, want)
        raise BlockFailed(f"{block.place}:\n{checker.output_difference(example, got, doctest.REPORT_UDIFF)}")


def _compare_file(block: Block, file: Path) -> None:
    """A block with the name of a file in the checkout shows that file, whose own tests run it."""
    if block.text != file.read_text(encoding="utf-8"):
        raise BlockFailed(f"{block.place}: shows an old {block.title}: copy the file into the page")


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    sys.path.insert(0, sys.argv[2])
    try:
        run_page(read_page(Path(sys.argv[1])), Path(sys.argv[2]))
    except BlockFailed as failure:
        sys.exit(str(failure))
