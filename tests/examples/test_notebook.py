"""The notebook is executed from top to bottom by a kernel, as a reader would."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from isolated import Isolated

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "notebook" / "adapt.ipynb"
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(notebook)
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def outputs(path: Path) -> list[str]:
    """Printed texts of all cells, in order; pictures by their type."""
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    found = []
    for output in (output for cell in cells for output in cell.get("outputs", ())):
        assert output["output_type"] != "error"
        found.append("".join(output.get("text", ())) or "image/png" * ("image/png" in output.get("data", {})))
    return found


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The notebook after its execution in an environment that has a kernel."""
    python = Isolated("notebook").python()
    folder = tmp_path_factory.mktemp("notebook")
    done = subprocess.run(
        [str(python), "-c", EXECUTE, str(NOTEBOOK), str(folder / "executed.ipynb")],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "IPYTHONDIR": str(folder), "JUPYTER_PLATFORM_DIRS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "executed.ipynb"


def test_the_notebook_runs_and_its_pool_adapts(executed: Path) -> None:
    printed = outputs(executed)
    assert printed[0].endswith("solved: True\n")
    accepted = re.fullmatch(r"(\d+) rewrites accepted, \d+ rejected\n", printed[1])
    assert accepted
    assert int(accepted[1]) > 0
    assert printed[2] == "image/png"
    assert "harder:" in printed[3] or "easier:" in printed[3]


def test_the_stored_outputs_are_what_it_prints(executed: Path) -> None:
    assert outputs(NOTEBOOK) == outputs(executed)
