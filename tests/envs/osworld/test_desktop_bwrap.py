"""The sandboxed desktop: it starts, sees nothing of the host, is put back, and leaves nothing behind."""

import io
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from waiting import until

from rlanything_envs.errors import SettingError
from rlanything_envs.osworld.accessibility import linearise
from rlanything_envs.osworld.desktop import DesktopError, make_desktop
from rlanything_envs.osworld.desktop.bwrap import BwrapDesktop
from rlanything_envs.osworld.desktop.scratch import Scratch
from rlanything_envs.osworld.looks import Look


def processes_with(mark: str) -> list[int]:
    """Processes of this machine that have a text in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def test_what_it_looks_like_at_first(desktop):
    client = desktop.client
    pixels = client.screenshot_array()
    assert (pixels.shape, pixels.dtype, client.screen_size()) == ((1080, 1920, 3), np.uint8, (1920, 1080))
    background = (pixels[:1040] == [0x2C, 0x5D, 0x73]).all(axis=2)
    assert 0.98 < background.mean() < 1  # one colour, icons and a pointer
    assert sorted(titles(client)) == ["pcmanfm", "xfce4-panel"]


def titles(client) -> list[str]:
    return [line.split(None, 3)[3] for line in client.execute(["wmctrl", "-l"]).output.splitlines()]


def elements(client) -> list[str]:
    return linearise(client.accessibility_tree()).splitlines()


def element(client, text: str) -> str:
    """The first element whose line has a text."""
    return str(until(lambda: [line for line in elements(client) if text in line], 90, lambda: elements(client))[0])


def click(client, line: str) -> None:
    x, y = line.rpartition("(")[2].partition(")")[0].split(",")
    client.act(f"pyautogui.click({x}, {y})")


def test_what_the_panel_offers(desktop):
    """Launchers, the list of windows and a clock; a click on what the tree shows does what its name says."""
    client = desktop.client
    for name in ("Applications", "Files", "Terminal", "Text Editor", "Web Browser"):
        assert element(client, f'button "{name}"')
    assert [line for line in elements(client) if re.search(r'toggle-button "\d\d:\d\d"', line)]
    click(client, element(client, 'push-button "Text Editor"'))
    click(client, element(client, 'toggle-button "Untitled 1 - Mousepad"'))  # it goes, and comes back
    click(client, element(client, 'toggle-button "Untitled 1 - Mousepad"'))
    client.act("pyautogui.write('abc')")
    assert element(client, 'text="abc"')


def test_the_menus_of_the_panel_and_of_the_desktop(desktop):
    """An open menu is in the text, also that of a program of GTK 2, which never calls its items showing."""
    client = desktop.client
    click(client, element(client, 'toggle-button "Applications"'))
    click(client, element(client, 'menu-item "LXTerminal"'))
    assert element(client, "terminal ")
    client.act("pyautogui.hotkey('alt', 'F4')")
    # Else the click would be the terminal's.
    until(lambda: "terminal " not in "\n".join(elements(client)), 30, lambda: elements(client))
    client.act("pyautogui.rightClick(900, 400)")
    element(client, 'menu-item "Paste"')
    assert not [line for line in elements(client) if 'menu-item "Folder"' in line]  # of a menu that is closed
    click(client, element(client, 'menu "Create New..."'))
    assert element(client, 'menu-item "Folder"')


def test_icons_of_the_desktop(desktop):
    """Programs and files have icons, which a double click opens; a file that comes later has one too."""
    client = desktop.client

    def double_click(line: str) -> None:
        x, y = line.rpartition("(")[2].partition(")")[0].split(",")
        client.act(f"pyautogui.doubleClick({x}, {y})")

    for name in ("GIMP", "LibreOffice Calc", "LibreOffice Impress", "LibreOffice Writer", "Settings", "Web Browser"):
        assert element(client, f'icon "{name}"')
    client.upload("/home/user/Desktop/notes.txt", b"from the file")
    double_click(element(client, 'icon "notes.txt"'))
    assert element(client, 'text="from the file"')
    client.act("pyautogui.hotkey('alt', 'F4')")
    client.upload("/home/user/Desktop/plans/a.txt", b"")
    double_click(element(client, 'icon "plans"'))
    assert element(client, 'table-cell "a.txt"')
    client.act("pyautogui.hotkey('alt', 'F4')")
    double_click(element(client, 'icon "Settings"'))
    assert element(client, 'frame "dconf Editor"')


def test_the_icons_come_back_after_their_program_has_ended(desktop):
    desktop.client.execute(["pkill", "-SEGV", "-x", "pcmanfm"])
    until(lambda: 'icon "GIMP"' not in "".join(elements(desktop.client)), 10)
    assert element(desktop.client, 'icon "GIMP"')
    assert desktop.client.execute(["pgrep", "-c", "-x", "pcmanfm"]).output.strip() == "1"


def test_an_icon_that_goes_while_the_tree_is_read(desktop):
    """pcmanfm 1.3.2 ends if it is asked for the state of an icon that has just gone, and is started again."""
    files = "for i in $(seq 300); do touch ~/Desktop/$i.txt; sleep .02; rm ~/Desktop/$i.txt; done"
    desktop.client.execute(f"({files}) &", shell=True)
    for _ in range(8):
        elements(desktop.client)
    assert element(desktop.client, 'icon "GIMP"')


def test_fonts_of_documents_by_other_makers(desktop):
    match = desktop.client.execute("fc-match Calibri; fc-match Cambria", shell=True).output
    assert match.splitlines()[0].startswith("Carlito")
    assert match.splitlines()[1].startswith("Caladea")


def test_a_look_is_the_same_each_time_and_differs_between_tasks(desktop):
    def screen(number: int, task: str):
        desktop.reset()
        Look.drawn(number, task).put_on(desktop.client, desktop.screen)
        desktop.client.launch(["mousepad"])
        element(desktop.client, 'frame "Untitled 1 - Mousepad"')
        pixels, rested = desktop.client.screenshot_array(), 0
        while rested < 4:  # the panel has just been restarted
            time.sleep(0.5)
            now = desktop.client.screenshot_array()
            pixels, rested = now, rested + 1 if (now == pixels).all() else 0
        return pixels

    once, again, other = screen(7, "a"), screen(7, "a"), screen(7, "b")
    assert (once != again).mean() < 0.001
    assert (once != other).mean() > 0.1


def test_both_kinds_of_screenshot_agree(desktop):
    client = desktop.client
    client.act("pyautogui.moveTo(900, 500)")
    assert (np.asarray(Image.open(io.BytesIO(client.screenshot()))) == client.screenshot_array()).all()


def test_it_sees_nothing_of_the_host(desktop, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("host")
    client = desktop.client
    assert client.read_file(str(secret)) is None
    assert client.execute("ls -A /root; ls /work /mnt /etc/shadow /etc/ssh", shell=True).output == ""
    assert client.execute(["id", "-un"]).output == "user\n"
    assert client.execute(["hostname"]).output == "desktop\n"
    for place in ("/usr/bin/x", "/etc/x", "/opt/rlanything/guest/x", "/x"):
        assert client.execute(["touch", place]).returncode != 0
    assert str(os.getpid()) not in client.execute("ls -d /proc/[0-9]*", shell=True).output.split()
    assert "rlanything-desktop-" not in client.execute("cat /proc/1/cmdline", shell=True).output


def test_it_has_no_network(desktop):
    code = "import socket; s = socket.create_connection(('127.0.0.1', {}), 2); print('connected')"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = desktop.client.run_python(code.format(listener.getsockname()[1]))
    assert "ConnectionRefusedError" in done.error


def test_the_network_is_there_when_asked_for(desktop):
    """Desktops that share it have different displays, and no key to each other's."""
    code = "import socket; socket.create_connection(('127.0.0.1', {}), 2); print('connected')"
    with (
        make_desktop("bwrap", screen=(640, 480), network=True) as one,
        make_desktop("bwrap", screen=(800, 600), network=True) as two,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        assert one.client.run_python(code.format(listener.getsockname()[1])).output == "connected\n"
        displays = [machine.client.execute("echo $DISPLAY", shell=True).output.strip() for machine in (one, two)]
        assert displays[0] != displays[1]
        one.client.act("pyautogui.moveTo(1, 1)")
        assert two.client.cursor_position() == (400, 300)
        stolen = one.client.execute(f"DISPLAY={displays[1]} xdotool mousemove 5 5", shell=True)
        assert stolen.returncode != 0
        assert two.client.cursor_position() == (400, 300)


@pytest.mark.usefixtures("bwrap_desktop")  # skips where there is no desktop
@pytest.mark.parametrize(("network", "seen"), [(False, "\n"), (True, "http://me:secret@proxy:1\n")])
def test_a_proxy_is_told_to_those_who_have_the_network(network, seen, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://me:secret@proxy:1")
    with make_desktop("bwrap", screen=(640, 480), network=network) as machine:
        assert machine.client.execute("echo $https_proxy", shell=True).output == seen


@pytest.mark.usefixtures("bwrap_desktop")
def test_a_start_that_fails_leaves_nothing(monkeypatch, tmp_path):
    place, mine = tmp_path / ("x" * 100), Path("/proc/self/fd")
    place.mkdir()
    before = len(list(mine.iterdir()))
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    with pytest.raises(DesktopError, match="set TMPDIR to a folder with a shorter one"):
        make_desktop("bwrap").start()
    assert (list(place.iterdir()), len(list(mine.iterdir()))) == ([], before)


def test_the_guest_wants_the_token(desktop):
    """A program in the desktop finds the server's socket at no address, and has no token."""
    assert "RLANYTHING_TOKEN" not in desktop.client.execute(["env"]).output
    assert desktop.client.execute("ls /run/host /run/*.sock", shell=True).output == ""
    stranger = type(desktop.client)(desktop.client.url, "another token")
    with pytest.raises(DesktopError, match="token"):
        stranger.health()


def test_reset(desktop):
    client = desktop.client
    before = client.execute("find /home/user /tmp /var/tmp -not -type s | sort", shell=True).output
    client.execute(
        "echo x > ~/Desktop/x; mkdir -p ~/a/b /tmp/t; chmod 000 ~/a; rm -r ~/Music; xclip -sel c ~/.bashrc", shell=True
    )
    client.execute("(setsid sleep 1000 &) ; nohup sleep 1001 >/dev/null 2>&1 &", shell=True)
    client.act("pyautogui.moveTo(3, 3); pyautogui.keyDown('shift'); pyautogui.mouseDown()")
    client.launch("mousepad")
    desktop.reset()
    assert client.execute("find /home/user /tmp /var/tmp -not -type s | sort", shell=True).output == before
    assert "sleep 100" not in client.execute(["ps", "ax"]).output
    assert sorted(titles(client)) == ["pcmanfm", "xfce4-panel"]
    assert client.cursor_position() == (960, 540)
    client.launch(["mousepad"])
    wait_for_window(client, "Mousepad")
    client.act("pyautogui.write('abc'); pyautogui.hotkey('ctrl', 'a'); pyautogui.hotkey('ctrl', 'c')")
    assert client.execute(["xclip", "-o", "-sel", "c"]).output == "abc"  # 'ABC' with a shift still down


def wait_for_window(client, title: str) -> None:
    until(lambda: title in client.execute(["wmctrl", "-l"]).output, 20, lambda: f"no window {title!r}")


@pytest.mark.usefixtures("bwrap_desktop")  # skips where there is no desktop
def test_a_reset_replaces_a_desktop_that_is_broken():
    with make_desktop("bwrap", screen=(800, 600)) as machine:
        url = machine.client.url
        machine.client.execute("kill -9 -1", shell=True)
        assert "ended" in machine.client.health().broken
        machine.reset()
        assert machine.client.health().broken == ""
        os.kill(machine._running._process.pid, signal.SIGKILL)  # the guest's server, which only the machine can end
        assert not answers_until(machine.client, time.monotonic() + 10)
        machine.reset()
        assert machine.client.screen_size() == (800, 600)
        assert machine.client.url != url


def answers_until(client, end: float) -> bool:
    """Whether a guest answers all the time up to a moment."""
    while time.monotonic() < end:
        try:
            client.screen_size()
        except DesktopError:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.usefixtures("bwrap_desktop")  # skips where there is no desktop
def test_it_outlives_the_thread_that_started_it():
    machine = make_desktop("bwrap", screen=(800, 600))
    thread = threading.Thread(target=machine.start)
    thread.start()
    thread.join()
    time.sleep(0.2)
    try:
        assert machine.client.screen_size() == (800, 600)
    finally:
        machine.close()


STARTER = """
import sys, time
from rlanything_envs.osworld.desktop import make_desktop
machine = make_desktop("bwrap", screen=(800, 600), network=True)
machine.start()
machine.client.execute("(TZ={mark} setsid sleep 1000 &); TZ={mark} nohup sleep 1001 >/dev/null 2>&1 &", shell=True)
machine.client.launch("mousepad")
print("up", flush=True)
{end}
"""


@pytest.mark.usefixtures("bwrap_desktop")
@pytest.mark.parametrize(
    "end",
    ["machine.close()", "sys.exit()", "raise ValueError", "time.sleep(1000)"],
    ids=["close", "exit", "error", "kill -9"],
)
def test_nothing_outlives_it(end, tmp_path):
    mark = f"Mark/{tmp_path.name}-{os.getpid()}"
    environment = {**os.environ, "https_proxy": mark}
    code = STARTER.format(mark=mark, end=end)
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    if "sleep" in end:
        assert len(processes_with(mark)) > 8
        process.send_signal(signal.SIGKILL)
    process.wait(20)
    until(lambda: not processes_with(mark), 30, lambda: processes_with(mark))


def test_directories_of_killed_owners_go_with_the_next(tmp_path):
    code = "import sys, os; from rlanything_envs.osworld.desktop.scratch import Scratch\n"
    code += "kept = Scratch(sys.argv[1]); print(kept.path, flush=True); os.kill(os.getpid(), 9)"
    left = Path(subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True).stdout.strip())
    mine = Scratch(str(tmp_path))
    assert left.is_dir()  # a young one may be about to be locked
    for folder in (left, mine.path):
        os.utime(folder, (0, 0))
    other = Scratch(str(tmp_path))
    assert not left.exists()
    assert mine.path.is_dir()
    mine.remove()
    mine.remove()
    other.remove()
    assert list(tmp_path.iterdir()) == []


def test_two_at_once_do_not_meet(desktop):
    with make_desktop("bwrap", screen=(640, 480)) as other:
        other.client.upload("/tmp/x", b"x")
        other.client.act("pyautogui.moveTo(1, 1)")
        assert desktop.client.read_file("/tmp/x") is None
        assert desktop.client.cursor_position() == (960, 540)
        assert other.client.screenshot_array().shape == (480, 640, 3)


def test_closed_desktops_say_so():
    machine = make_desktop("bwrap")
    machine.close()
    machine.close()
    with pytest.raises(DesktopError, match=r"call start\(\) first"):
        machine.client  # noqa: B018


@pytest.mark.parametrize(
    ("backend", "settings", "said"),
    [
        ("parallels", {}, "bwrap, docker, vm, http"),
        ("bwrap", {"screen": (10, 10)}, "320 to 8192"),
        ("bwrap", {"url": "http://x"}, "url"),
        ("http", {}, "url"),
        ("vm", {"qcow2": "/nothing.qcow2"}, "not a qcow2 disk image"),
    ],
)
def test_settings_that_cannot_be(backend, settings, said):
    with pytest.raises(SettingError, match=said):
        make_desktop(backend, **settings)


def test_a_setting_that_is_none_is_not_given():
    machine = make_desktop("bwrap", url=None, image=None, screen=(800, 600))
    assert isinstance(machine, BwrapDesktop)
    assert machine.screen == (800, 600)


def test_time_in_which_programs_wait_for_a_processor_is_counted(desktop):
    """More busy processes than processors: each has half of one at most."""
    client, count = desktop.client, 2 * (os.cpu_count() or 1) + 2
    loop = "timeout 30 sh -c 'while :; do :; done' &"
    client.launch(f"for i in $(seq {count}); do {loop} done", shell=True)
    client.execute(["sleep", "0.5"])
    before = client.health().held
    client.execute(["sleep", "1"])
    assert client.health().held - before > 0.3
    client.execute(["pkill", "sh"])
