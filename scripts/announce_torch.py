"""What PyTorch will cost to download, printed before `make` installs it: asks pip which build it would take.

Standard library only: it runs before anything is installed. It never stops an installation.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

#: Sizes of the downloads for torch 2.13.0 on Linux x86_64, measured.
CUDA = """\
PyTorch comes from this package index as its CUDA build: about 2.7 GB to download. It runs without a GPU too.
The processor build (about 200 MB) is on an index of PyTorch's own. To take it, stop this now (Ctrl-C), set
PIP_EXTRA_INDEX_URL to the processor index named on PyTorch's installation page, and run the same command again.
"""
PROCESSOR = "PyTorch comes as its processor build: about 200 MB to download.\n"


def main() -> None:
    """Print one of the two texts, or nothing where PyTorch is installed already or pip does not know."""
    if importlib.util.find_spec("torch") is not None:
        return
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--report", "-", "-c", "constraints.txt", "torch"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        needs = json.loads(done.stdout)["install"][0]["metadata"].get("requires_dist", [])
    except (OSError, subprocess.SubprocessError, ValueError, LookupError):
        return
    cuda = any(need.lower().startswith(("nvidia", "cuda")) for need in needs) and sys.platform == "linux"
    print(CUDA if cuda else PROCESSOR, flush=True)


if __name__ == "__main__":
    main()
