"""The sandbox as an ordinary user, and where there are no namespaces to be had."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_attacks import ATTACKS

from rlanything_verifiers.coding import sandbox

if sys.platform != "linux":
    pytest.skip("worker processes need Linux", allow_module_level=True)

NOBODY = 65534
SCRIPT = """
import json, os, sys
from rlanything_verifiers.coding.sandbox import Limits, Sandbox, available_tiers
secret, BOMB, NOTES, CROWD, CPP = sys.argv[1:]
result = {"uid": os.getuid(), "tiers": available_tiers()}
for tier in (None, "landlock"):
    with Sandbox(1, tier=tier) as box:
        runs = box.run(
            "import os\\n"
            "allowed = []\\n"
            "tries = {'secret': lambda: open(input()), 'fork': os.fork, 'tmp': lambda: open('/tmp/x', 'w')}\\n"
            "for name, call in tries.items():\\n"
            "    try: call(); allowed.append(name)\\n"
            "    except (OSError, EOFError): pass\\n"
            "print(os.getuid() == 0 and 'root', allowed)",
            [secret.encode()] * 3)
        threads = box.run(BOMB, [b""])
        spin = box.run("while True: pass", [b""], Limits(cpu=0.2, wall=60.0))
        notes = box.run(NOTES, [b"", b""])
        crowd = box.run(CROWD, [b""], Limits(cpu=0.5, wall=0.7))
        result[box.tier] = [[r.status, r.stdout.decode()] for r in (*runs, *threads, *spin, *notes)]
        # On a busy machine waiting threads are given more time, and run into the limit of processor time first.
        result[box.tier] += [[r.status.removesuffix("_WALL"), r.stdout.decode()] for r in crowd]
        if CPP:
            made = box.run(CPP, [b"notes", b"notes"], language="cpp")
            held = box.run('#include "/proc/self/fd/3"', [b""], language="cpp")
            result[box.tier] += [[r.status, r.stdout.decode()] for r in (*made, *held)]
print(json.dumps(result))
"""
CONTAINED = [["OK", "False []\n"]] * 3 + [["OK", "done True\n"], ["TLE", ""]]
CONTAINED += [["OK", "done\n"]] * 2 + [["TLE", ""]]
CPP = (Path(__file__).parent / "attacks" / "attacks.cpp").read_text() if shutil.which("g++") else ""
CONTAINED += ([["OK", "done\n"]] * 2 + [["CE", ""]]) if CPP else []


def reachable(path: str) -> bool:
    """Whether everybody may run a program."""
    place = Path(os.path.realpath(path))
    return all(p.stat().st_mode & 0o001 for p in (place, *place.parents))


@pytest.fixture(scope="module")
def python() -> str:
    base = getattr(sys, "_base_executable", sys.executable)
    found = next(
        (p for p in (base, "/usr/bin/python3.11", "/usr/bin/python3") if Path(p).exists() and reachable(p)), None
    )
    if found is None:
        pytest.skip(f"{base} is in a folder that only root may enter, and there is no Python in /usr/bin")
    version = subprocess.run(
        [found, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True, check=True
    )
    if version.stdout != b"True\n":
        pytest.skip(f"{found} is older than Python 3.11")
    return found


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    """The package where everybody can read it, without its neighbours."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    target = folder / "rlanything_verifiers" / "coding"
    shutil.copytree(Path(sandbox.__file__).parent, target / "sandbox", ignore=shutil.ignore_patterns("__pycache__"))
    for module in ("language.py", "errors.py"):
        shutil.copy(Path(sandbox.__file__).parent.parent / module, target)
    for place in (target, target.parent):
        (place / "__init__.py").touch()
    (folder / "secret").write_text("expected outputs")
    yield folder
    shutil.rmtree(folder)


def check(command: list[str], folder: Path, **options: int | list[int]) -> dict[str, object]:
    done = subprocess.run(
        [*command, "-B", "-c", SCRIPT, str(folder / "secret"), *map(ATTACKS.get, ("threads", "notes", "crowd")), CPP],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=120,
        check=False,
        **options,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_an_ordinary_user_has_it_all(python: str, copy: Path) -> None:
    if os.getuid() == 0:
        found = check([python], copy, user=NOBODY, group=NOBODY, extra_groups=[])
    else:
        found = check([python], copy)
    assert found["uid"] != 0
    here = sandbox.available_tiers()
    expected = [tier for tier in ("full", "landlock") if here[tier] is None]
    assert found["tiers"] == {**here, **dict.fromkeys(expected)}
    for tier in expected:
        assert found[tier] == CONTAINED


def test_without_namespaces_it_is_landlock(python: str, copy: Path) -> None:
    """In a user namespace that may have no others, as in many containers."""
    if sandbox.available_tiers()["landlock"] is not None or shutil.which("unshare") is None:
        pytest.skip("needs Landlock and unshare(1)")
    lock = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", lock, "sh", python]
    if subprocess.run([*command, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip("this user may make no user namespace to test in")
    found = check(command, copy)
    tiers = found["tiers"]
    assert isinstance(tiers, dict)
    assert "unshare" in tiers["full"]
    assert tiers["landlock"] is None
    assert found["landlock"] == [["OK", "root []\n"]] * 3 + CONTAINED[3:]


def test_root_lends_workers_another_user(python: str, copy: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root")
    found = check([python], copy)
    assert found["uid"] == 0
    assert found["full"] == CONTAINED
    assert found["landlock"] == CONTAINED


def test_one_alone_can_be_asked_about_threads() -> None:
    """Where a container's manager is asked already, a worker starts all the same."""
    code = (
        "from rlanything_verifiers.coding.sandbox import libc, threads\n"
        "libc.call('prctl', libc.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)\n"
        "print(threads.listener() is None, threads.listener() is None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"False True\n"
