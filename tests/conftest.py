"""Fixtures shared by all tests."""

import fcntl
import gc
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from light import Light
from preloaded import Preloaded, serving

ROOT = Path(__file__).resolve().parent.parent

os.environ.setdefault("GOMP_SPINCOUNT", "6000")  # before torch loads: waiting threads leave the cores to other tests

TOGETHER = {
    "one server of preloaded processes": (
        "tests/agents/runs/test_train.py",
        "tests/agents/tools/cli/test_cli_full_disk.py",
        "tests/docs/test_code_blocks.py",
        "tests/envs/llm/test_transformers_serve.py",
        "tests/studies/test_study_command.py",
        "tests/test_preloaded.py",
    ),
    "one run of each domain": (
        "tests/agents/tools/cli/test_cli_json",
        "tests/agents/tools/doctor/",
        "tests/agents/tools/export/",
        "tests/agents/tools/view/",
    ),
    "one desktop": ("tests/envs/osworld/",),
}
"""Files whose tests share what is made once a process: with `-n` one process has them all."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """Where nothing else is chosen (`--dist`), a process gets whole files, in their order."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _shared_by(nodeid)

    config.option.loadscopereorder = False
    return Together(config, log)


EXAMPLES = 300 if os.environ.get("RLANYTHING_EXHAUSTIVE") else 25
"""Of a property, where its test does not say how many: `make test-all` tries more than `make test`."""


def _shared_by(nodeid: str) -> str:
    """The file of a test, or the name of its files that one process has."""
    file = nodeid.partition("::")[0]
    return next((name for name, places in TOGETHER.items() if file.startswith(places)), file)


# How long an example takes says how busy the machine is, and nothing about the code.
settings.register_profile(
    "rlanything", max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("rlanything")


def find_alfworld_data() -> Path | None:
    """The folder of real game files: ``$RLANYTHING_TEST_DATA``, or ``shared/data`` in or beside the checkout."""
    named = os.environ.get("RLANYTHING_TEST_DATA")
    places = [Path(named)] if named else [ROOT / "shared" / "data", ROOT.parent / "shared" / "data"]
    return next((p / "alfworld" for p in places if (p / "alfworld" / "json_2.1.1").is_dir()), None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that none is the last that a process has.

    What compares with the original ALFWorld stack is skipped by name where that is not installed.
    """
    slow = {_shared_by(item.nodeid) for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: _shared_by(item.nodeid) not in slow)
    # A folder of tests named alfworld is found, too, as a namespace package: it has no origin.
    found = {name: find_spec(name) for name in ("textworld", "alfworld", "fast_downward")}
    missing = [name for name, spec in found.items() if spec is None or spec.origin is None]
    if missing:
        reason = f"the original ALFWorld stack is not installed (no {missing[0]}; extra: alfworld, as in make test-all)"
        for item in items:
            if item.get_closest_marker("textworld") is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_runtest_setup() -> None:
    """Keep what tests import out of garbage collections: transformers' trainer makes one before every update."""
    if not gc.get_freeze_count():  # at first, and again after a run, which unfreezes at its end
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def alfworld_data() -> Path:
    """Root of official ALFWorld games (``json_2.1.1/...``); the test is skipped where they are absent."""
    found = find_alfworld_data()
    if found is None:
        pytest.skip("no official ALFWorld games: set RLANYTHING_TEST_DATA to a folder with alfworld/json_2.1.1")
    return found


@pytest.fixture(scope="session")
def preloaded() -> Iterator[Preloaded]:
    """Starts real processes that have PyTorch, transformers and TRL imported from the start."""
    with serving() as processes:
        yield processes


@pytest.fixture(scope="session")
def light(tmp_path_factory: pytest.TempPathFactory) -> Light:
    """An environment with the core alone and a wheel of this checkout."""
    return Light(tmp_path_factory.mktemp("light"))


def published(domain: str) -> Path:
    """A folder of published tasks, from ``$RLANYTHING_TEST_DATA`` or ``shared/data``; else the test is skipped."""
    named = os.environ.get("RLANYTHING_TEST_DATA")
    places = [Path(named)] if named else [ROOT / "shared" / "data", ROOT.parent / "shared" / "data"]
    for place in places:
        if (place / domain).is_dir():
            return place / domain
    pytest.skip(f"no published tasks: set RLANYTHING_TEST_DATA to a folder that has {domain}/")


@pytest.fixture(scope="session")
def coding_data() -> Path:
    return published("coding")


@pytest.fixture(scope="session")
def osworld_data() -> Path:
    return published("osworld")


@pytest.fixture(scope="session")
def bwrap_desktop() -> Iterator[Any]:
    """The real desktop that all tests of a process share; skipped with its reason where none can be had."""
    from rlanything_envs.osworld.desktop import DesktopError, MissingPackages, make_desktop

    try:
        made = make_desktop("bwrap")
        made.start()
    except MissingPackages as error:
        pytest.skip(str(error))
    except DesktopError as error:
        if "made no sandbox" in str(error):
            pytest.skip(str(error))
        raise
    yield made
    made.close()


@pytest.fixture(scope="module")
def docker_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A client of a docker engine: of the one that runs, or of one that is started for the tests of a module.

    Root can start one where ``dockerd`` is installed; elsewhere the test is skipped. One module at a time has it.
    """
    docker = pytest.importorskip("docker", reason="the docker SDK is not installed (extra: docker)")
    with (Path(tempfile.gettempdir()) / "rlanything-docker-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        client, engine = _answering(docker), None
        if client is None:
            program = shutil.which("dockerd", path="/usr/sbin:/usr/bin:/usr/local/bin")
            if program is None or os.geteuid() != 0:
                pytest.skip("no docker engine answers, and none can be started (dockerd and root are needed)")
            log = tmp_path_factory.mktemp("docker") / "dockerd.log"
            with log.open("w") as file:
                engine = subprocess.Popen([program], stdout=file, stderr=file)
            end = time.monotonic() + 60
            while (client := _answering(docker)) is None and engine.poll() is None and time.monotonic() < end:
                time.sleep(0.2)
            if client is None:
                engine.kill()
                engine.wait()
                pytest.skip(f"dockerd does not run here: {log.read_text()[-500:]}")
        yield client
        if engine is not None:
            engine.terminate()
            engine.wait(60)


def _answering(docker: object) -> object | None:
    """A client of the docker engine, if it answers."""
    try:
        client = docker.from_env()  # type: ignore[attr-defined]
        client.ping()
    except docker.errors.DockerException:  # type: ignore[attr-defined]
        return None
    return client
