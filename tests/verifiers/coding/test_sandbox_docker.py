"""Workers in containers: the same results, the same containment."""

import contextlib
import dataclasses
import json
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from sandbox_attacks import ATTACKS, assert_alive, assert_contained, run

from rlanything_verifiers.coding.sandbox import Limits, Sandbox, SandboxError, container
from rlanything_verifiers.coding.sandbox.frames import pack, unpack

docker = pytest.importorskip("docker", reason="needs the Docker SDK (extra: docker)")

PROGRAMS = [
    ("print(sum(map(int, input().split())))", b"1 2 3"),
    ("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())", bytes(range(256)) * 1000),
    ("import random; print(hash('x'), random.random())", b""),
    ("print(1); raise ValueError('no')", b""),
    ("import sys; sys.exit(3)", b""),
    ("(", b""),
    (b"x = '\xff'", b""),
    ("print('x' * (2 << 20))", b""),
    ("x = bytearray(1 << 34)", b""),
    ("while True: pass", b""),
    ("import time; time.sleep(60)", b""),
    ("import ctypes; ctypes.string_at(0)", b""),
]


@pytest.fixture(scope="module")
def client(docker_engine: Any) -> Any:
    if not docker_engine.images.list(container.image()):
        pytest.skip(f"no image {container.image()!r}: pull it, or name one in {container.IMAGE_VARIABLE}")
    return docker_engine


@pytest.fixture(scope="module")
def box(client: Any) -> Iterator[Sandbox]:
    with Sandbox(1, backend="docker") as sandbox:
        assert sandbox.tier == "docker"
        yield sandbox


def test_without_an_engine_the_reason_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    with pytest.raises(SandboxError, match="DOCKER_HOST"):
        Sandbox(1, backend="docker")
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(SandboxError, match=r"pip install -e '.*\[docker\]"):
        Sandbox(1, backend="docker")


def test_a_tier_cannot_be_asked_of_a_container() -> None:
    with pytest.raises(ValueError, match="tier"):
        Sandbox(1, backend="docker", tier="full")


@pytest.mark.slow
@pytest.mark.usefixtures("docker_engine")
def test_without_the_image_every_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(container.IMAGE_VARIABLE, "rlanything-no-such-image:1")
    with Sandbox(1, backend="docker") as sandbox:
        found = run(sandbox, "print(1)")
    assert found.status == "IE"
    assert "docker pull" in found.detail


@pytest.mark.slow
def test_results_are_those_of_processes(box: Sandbox) -> None:
    limits = Limits(cpu=0.3, wall=5.0)
    with Sandbox(1) as processes:
        for program, data in PROGRAMS:
            there, here = (
                dataclasses.replace(run(sandbox, program, data, limits), cpu=0.0, wall=0.0)
                for sandbox in (box, processes)
            )
            if here.status in ("TLE", "TLE_WALL"):
                there, here = (dataclasses.replace(r, detail="") for r in (there, here))
            assert there == here, program


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_contained(box: Sandbox, name: str) -> None:
    told = {"files": "/etc/passwd\n/tmp\n", "network": "80\n", "kill_judge": "7\n", "peek_memory": "7\n"}
    assert_contained(box, name, told.get(name, "must stay\n"))


@pytest.mark.slow
def test_a_lost_container_is_replaced(box: Sandbox) -> None:
    (worker,) = box._all
    worker.interrupt()
    assert_alive(box)
    assert box._all != {worker}


@pytest.mark.slow
def test_containers_end_with_the_judge(box: Sandbox) -> None:
    code = f"""
import sys, time
sys.path[:] = {sys.path!r}
from rlanything_verifiers.coding.sandbox import Sandbox
s = Sandbox(1, backend="docker")
s.run("print(1)", [b""])
(worker,) = s._all
print(worker._container.id, flush=True)
time.sleep(100)
"""
    judge = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=dict(os.environ))
    assert judge.stdout is not None
    name = judge.stdout.readline().decode().strip()
    engine = container.connect()
    assert engine.containers.get(name).status == "running"
    judge.kill()
    judge.wait()
    judge.stdout.close()
    for _ in range(200):
        try:
            engine.containers.get(name)
        except docker.errors.NotFound:
            break
        time.sleep(0.1)
    else:
        pytest.fail("the container is still there")


@contextlib.contextmanager
def shim(folder: Path, **packages: Any) -> Iterator[tuple[dict[str, Any], Callable[..., tuple[dict[str, Any], bytes]]]]:
    """What runs in a container, run here; its first answer, and how to ask it."""
    sandbox = Path(container.__file__).parent
    files = {f"{name}.py": (sandbox / f"{name}.py").read_text() for name in container._MODULES.split()}
    command = [sys.executable, "-s", "-P", "-S", "-B", "-c", container._BOOT.replace("/tmp/box", str(folder / "box"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def ask(head: dict[str, Any], body: bytes = b"") -> tuple[dict[str, Any], bytes]:
            stdin.write(pack(head, body))
            stdin.flush()
            answer = unpack(stdout.read)
            assert answer is not None
            return answer

        text = json.dumps(files).encode()
        stdin.write(struct.pack("<I", len(text)) + text)
        yield ask({"packages": [], "environment": None, **packages})[0], ask
        stdin.close()


def test_the_program_in_a_container_knows_languages_and_packages(tmp_path: Path) -> None:
    limits = dataclasses.asdict(Limits())
    site = str(Path(numpy.__file__).parent.parent)
    with shim(tmp_path, packages=["numpy"], environment=site) as (hello, ask):
        assert hello.keys() == {"tier", "python"}, hello
        program = b"import numpy\nprint(numpy.arange(int(input())).sum())"
        assert ask({"do": "begin", "limits": limits, "language": "python"}, program)[0] == {"broken": None}
        head, body = ask({"do": "test", "limits": limits}, b"4")
        assert (head["run"]["status"], body) == ("OK", b"6\n"), head
    shutil.rmtree(tmp_path / "box")
    with shim(tmp_path) as (hello, ask):
        begun, _ = ask({"do": "begin", "limits": limits, "language": "cpp"}, b"int main() { return 7; }")
        if shutil.which("g++") is None:
            assert "install g++" in begun["missing"]
        else:
            assert begun == {"broken": None}
            assert ask({"do": "test", "limits": limits})[0]["run"]["exit_code"] == 7
    shutil.rmtree(tmp_path / "box")
    with shim(tmp_path, packages=["no-such-package"]) as (hello, _):
        assert "'no-such-package' is not installed" in hello["package"]
