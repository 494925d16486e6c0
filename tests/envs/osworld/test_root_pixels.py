"""One root folder shows the same first screens here, and on Debian releases before and after its own."""

import os
import shutil
import site
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from rlanything_envs.osworld.desktop.namespaces import why_forbidden
from rlanything_envs.osworld.desktop.root import installed
from rlanything_envs.osworld.desktop.root.bubblewrap import bubblewrap
from rlanything_envs.osworld.desktop.root.folder import VARIABLE, Root
from rlanything_envs.osworld.desktop.root.mirror import find_mirror

PROJECT = Path(__file__).resolve().parents[3]
SCRIPT = "tests/envs/osworld/first_screens.py"
KINDS = (
    "bookmarks", "document_format", "edit_text", "gimp_settings", "make_folders", "office_settings", "rename_files",
    "sheet_sort", "slide_design", "write_files",
)  # fmt: skip
SECONDS = 900


@pytest.fixture(scope="module")
def root() -> Root:
    found = installed()
    if found is None:
        pytest.skip("no root folder is installed: rlanything desktop install")
    if reason := why_forbidden():
        pytest.skip(reason)
    return found


def screens(command: list[str], environment: dict[str, str]) -> dict[str, str]:
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=SECONDS, cwd="/", check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = dict(line.split() for line in done.stdout.splitlines())
    assert list(found) == list(KINDS)
    return found


def paths(project: str, packages: str) -> str:
    parts = [project, *(f"{project}/{part}" for part in ("verifiers", "task_pools", "agents")), packages]
    return os.pathsep.join(parts)


@cache
def here(root: Root) -> dict[str, str]:
    environment = {**os.environ, VARIABLE: str(root.path.parent), "TZ": "Asia/Tokyo", "LANG": "de_DE.UTF-8"}
    return screens([sys.executable, str(PROJECT / SCRIPT), *KINDS], environment)


@pytest.mark.slow
@pytest.mark.parametrize("release", ["bullseye", "trixie"])
def test_first_screens_are_the_same_on_another_release(root, release, tmp_path):
    """The other system lends its kernel's files, shell and settings; Python is that of the folder, at another place."""
    debootstrap = shutil.which("debootstrap", path="/usr/sbin:/sbin:/usr/bin")
    if os.geteuid() != 0 or debootstrap is None:
        pytest.skip("another release needs root and debootstrap")
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the packages of this Python are not those of the folder's Python 3.11")
    other = tmp_path / release
    done = subprocess.run(
        [debootstrap, "--variant=minbase", release, str(other), find_mirror().main], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"debootstrap {release}: {(done.stderr or done.stdout).strip()[-300:]}")
    inside = Root(Path("/opt/desktop/root"), root.hash)
    packages = next(folder for folder in site.getsitepackages() if Path(folder, "numpy").exists())
    command = [*bubblewrap(root), "--unshare-ipc", "--die-with-parent", "--cap-add", "ALL", "--bind", str(other), "/"]
    for place in ("/dev", "/proc", "/sys"):  # whole: the kernel lets a sandbox mount what its maker sees
        command += ["--dev-bind", place, place]
    command += ["--perms", "0755", "--dir", "/opt/desktop"]
    for place, at in ((root.path, inside.path), (PROJECT, "/opt/project"), (packages, "/opt/packages")):
        command += ["--ro-bind", str(place), str(at)]
    command += ["--clearenv", "--setenv", VARIABLE, "/opt/desktop", "--setenv", "PATH", "/usr/bin:/bin"]
    command += ["--setenv", "HOME", "/root", "--setenv", "PYTHONPATH", paths("/opt/project", "/opt/packages")]
    command += [*inside.program("python3"), "-B", f"/opt/project/{SCRIPT}", *KINDS]
    there = screens(command, dict(os.environ))
    assert not (other / "usr/bin/bwrap").exists()
    assert there == here(root)
    shutil.rmtree(other)


@pytest.mark.slow
def test_first_screens_are_the_same_again(root):
    assert screens([sys.executable, str(PROJECT / SCRIPT), *KINDS], dict(os.environ)) == here(root)
