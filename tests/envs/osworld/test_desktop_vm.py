"""A real virtual machine: its disk is built from Debian packages, booted under QEMU, broken, put back, and used."""

import contextlib
import shutil
import socket
import subprocess
import threading
import time

import pytest
from osworld_tasks import SOLUTION, make
from typer.testing import CliRunner

from rlanything_agents.tools.cli import app
from rlanything_envs.errors import SettingError
from rlanything_envs.osworld.desktop import DesktopError, make_desktop
from rlanything_envs.osworld.desktop import vm as practice
from rlanything_envs.osworld.desktop.conformance import check_guest
from rlanything_envs.osworld.desktop.disk import build_disk
from rlanything_envs.osworld.desktop.monitor import Monitor
from rlanything_envs.osworld.desktop.packages import packages
from rlanything_envs.osworld.env import OSWorldEnv

QEMU = shutil.which("qemu-system-x86_64")
EDITOR = ("thunar", "mousepad", "lxterminal")
"""The applications that the tasks here need; the others make the disk seven times as large."""


@pytest.fixture
def blank(tmp_path):
    """A disk with nothing on it."""
    disk = tmp_path / "disk.qcow2"
    disk.write_bytes(b"QFI\xfb" + b"\0" * 100)
    return disk


def test_a_virtual_machine_has_a_disk(blank):
    desktop = make_desktop("vm", qcow2=blank, screen=(1280, 720), memory="2g", network=True)
    with pytest.raises(DesktopError, match="not running"):
        desktop.client  # noqa: B018
    assert not desktop.intact()
    desktop.close()
    blank.write_bytes(b"PK\3\4")
    with pytest.raises(SettingError, match=r"not a qcow2.*rlanything desktop build --vm FILE"):
        make_desktop("vm", qcow2=blank)


@pytest.mark.parametrize("wrong", [{"screen": (1, 1)}, {"memory": "much"}, {"image": "x"}])
def test_settings_that_no_machine_has(blank, wrong):
    with pytest.raises(SettingError):
        make_desktop("vm", qcow2=blank, **wrong)


def test_without_qemu_one_command_installs_it(blank, monkeypatch):
    monkeypatch.setattr(practice, "_NEEDED", {"no-such-qemu": "qemu-system-x86"})
    with pytest.raises(DesktopError, match=r"apt-get install .* qemu-system-x86"):
        make_desktop("vm", qcow2=blank).start()


def test_what_the_disk_is_built_with_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("rlanything_envs.osworld.desktop.disk._TOOLS", {"no-such-tool": "mtools", "sh": "dash"})
    done = CliRunner().invoke(app, ["desktop", "build", "--vm", str(tmp_path / "desktop.qcow2")])
    assert done.exit_code == 2
    assert done.output.strip().endswith("apt-get install -y --no-install-recommends mtools")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_not_one(blank):
    """QEMU's own tool refuses it, and says why; nothing is left running."""
    if practice.missing():
        pytest.skip(f"not installed: {practice.missing()}")
    with pytest.raises(DesktopError, match=r"qemu-img makes no overlay.*disk\.qcow2"):
        make_desktop("vm", qcow2=blank).start()


def test_the_monitor_of_a_machine(tmp_path):
    if QEMU is None:
        pytest.skip("qemu-system-x86_64 is not installed")
    path = tmp_path / "monitor"
    options = ["-machine", "none", "-display", "none", "-nodefaults", "-qmp", f"unix:{path},server=on,wait=off"]
    process = subprocess.Popen([QEMU, *options])
    try:
        with Monitor(path, lambda: process.poll() is None, 30) as monitor:
            assert monitor.ask("query-status")["status"] == "running"
            monitor.ask("stop")  # an event comes before the answer
            assert monitor.ask("query-status")["status"] == "paused"
            assert "unknown command" in monitor.line("no such line")
            with pytest.raises(DesktopError, match="refuses no-such-command"):
                monitor.ask("no-such-command")
            process.kill()
            process.wait()
            with pytest.raises(DesktopError, match="query-status"):
                monitor.ask("query-status")
    finally:
        process.kill()
        process.wait()
    with pytest.raises(DesktopError, match="did not start"):
        Monitor(path, lambda: False, 30)


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """A disk with the guest and few applications, made as the command makes one."""
    if absent := practice.missing():
        pytest.skip(f"not installed: {' '.join(absent)}")
    file = tmp_path_factory.mktemp("vm") / "desktop.qcow2"
    sections = ("session", "accessibility", "looks")
    names = [package.name for package in packages() if package.section in sections or package.name in EDITOR]
    begin = time.monotonic()
    try:
        lines = list(build_disk(file, names))
    except DesktopError as error:
        if "only root" in str(error) or "programs are missing" in str(error):
            pytest.skip(str(error))
        raise
    print(f"disk: {time.monotonic() - begin:.0f} s, {file.stat().st_size / 1e6:.0f} MB")
    assert lines[-1].startswith(f"built {file}")
    assert list(file.parent.iterdir()) == [file]
    return file


@pytest.fixture(scope="module")
def machine(disk):
    """The machine, booted once."""
    begin = time.monotonic()
    with make_desktop("vm", qcow2=disk, screen=(1280, 720), memory="2g") as made:
        print(f"boot to the first screenshot, with the snapshot: {time.monotonic() - begin:.0f} s")
        yield made


@pytest.mark.slow
def test_its_guest_speaks_the_protocol(machine):
    token = machine.client.transport._headers["Authorization"].removeprefix("Bearer ")
    assert [check for check in check_guest(machine.client.url, token) if not check.passed] == []
    closed = [check for check in check_guest(machine.client.url, "wrong") if not check.passed]
    assert len(closed) > 20
    assert all("401" in str(check.problem) for check in closed)


@pytest.mark.slow
def test_a_reset_goes_back_to_the_snapshot(machine):
    client = machine.client
    assert client.screenshot_array().shape == (720, 1280, 3)
    client.upload("~/x", b"1")
    client.launch("mousepad")
    begin = time.monotonic()
    machine.reset()
    print(f"reset: {time.monotonic() - begin:.1f} s")
    assert client.read_file("~/x") is None
    assert "mousepad" not in client.execute(["ps", "ax"]).output
    assert client.health().apart


@pytest.mark.slow
def test_a_task_is_solved_in_it(machine):
    env = OSWorldEnv(20, backend=machine, screen=(1280, 720), observation=("screenshot", "accessibility_tree"))
    for lines, won in ((SOLUTION, 1.0), ([], 0.0)):
        env.reset(seed=0, options={"task": make()})
        for line in lines:
            _, _, terminated, truncated, info = env.step(line)
            assert (terminated, truncated, info["error"]) == (False, False, "")
        _, reward, terminated, _, info = env.step("DONE")
        assert (reward, terminated, info["error"]) == (won, True, "")


@pytest.mark.slow
def test_what_the_agent_does_stays_in_it(machine):
    """It is neither root nor on a network; what it ends is its desktop, which a reset brings back."""
    client = machine.client
    said = client.execute("id -u; cat /sys/firmware/qemu_fw_cfg/by_name/opt/rlanything/token/raw", shell=True)
    assert said.output == "1000\n"
    assert "denied" in said.error
    with socket.create_server(("127.0.0.1", 0)) as here:  # the address 10.0.2.2 of QEMU's network is this machine's
        here.settimeout(1)
        connect = f"timeout 10 bash -c 'exec 3<>/dev/tcp/10.0.2.2/{here.getsockname()[1]}'"
        assert client.execute(connect, shell=True).returncode
        with pytest.raises(TimeoutError):
            here.accept()
    with contextlib.suppress(DesktopError):
        client.execute("kill -9 -1", shell=True)
    assert client.health().broken
    assert machine.intact()
    machine.reset()
    assert not client.health().broken


@pytest.mark.slow
def test_a_machine_that_was_stopped_comes_back(machine):
    """As when its system is shut down: the failure is the agent's, and a reset repairs it."""
    machine._running._monitor.ask("system_reset")
    machine._running._monitor.ask("stop")
    assert machine.intact()
    machine.reset()
    assert machine.client.screenshot_array().any()


@pytest.mark.slow
def test_a_machine_ends_with_its_owner(machine):
    process = machine._running._process
    threads = [thread for thread in threading.enumerate() if thread.name == "rlanything-vm"]
    machine.close()
    assert process.poll() is not None
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
