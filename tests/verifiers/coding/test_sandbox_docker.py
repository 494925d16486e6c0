"""Workers in containers: the same results, the same containment."""

import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from sandbox_attacks import ATTACKS, assert_alive, assert_contained, run

from rlanything_verifiers.coding.sandbox import Limits, Sandbox, SandboxError, container

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
    with pytest.raises(SandboxError, match=r"rlanything-envs\[docker\]"):
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
