"""What an agent does to its desktop is a failure of the agent: within seconds, and never a failure of the machine."""

import os
import time
from pathlib import Path

import gymnasium as gym
import pytest
from osworld_tasks import PATH, SOLUTION, make

from rlanything_envs.errors import SettingError
from rlanything_envs.osworld.desktop import make_desktop
from rlanything_verifiers.osworld.getters import pages
from rlanything_verifiers.osworld.registry import GETTERS, Context

ID = "RLAnything/OSWorld-v0"
CONFIG = [make().payload["config"][0]]
SECONDS = 30.0
"""An agent that could hang an episode for its time limits would stop training; a loaded machine is slow."""

AT_ONCE = {
    "all processes": "import os\nos.kill(-1, 9)",
    "all processes, from a shell": "import subprocess\nsubprocess.run('kill -9 -1', shell=True)",
    "every process by number": "import subprocess\nsubprocess.run('kill -9 $(seq 2 40)', shell=True)",
    "the X server": "import subprocess\nsubprocess.run(['pkill', '-9', 'Xvfb'])",
    "the message bus": "import subprocess\nsubprocess.run(['pkill', '-9', 'dbus-daemon'])",
    "the disk": "import subprocess\nsubprocess.run('cat /dev/zero > ~/x; yes > ~/y', shell=True)",
    "temporary files": "import subprocess\nsubprocess.run('cat /dev/zero > /tmp/x; yes > /tmp/y', shell=True)",
    "the shared memory": "import subprocess\nsubprocess.run('cat /dev/zero > /dev/shm/x', shell=True)",
    "all files of a disk": "import os\nos.chdir('/run/user/1000')\nopen('x', 'wb').write(bytes(1 << 28))",
}
SLOW = {"all processes, from a shell", "the message bus", "the disk", "temporary files", "the shared memory"}

STOP_X = "import subprocess\nsubprocess.run(['pkill', '-STOP', 'Xvfb'])"


def apart(code: str) -> str:
    """An action that leaves a program behind."""
    return f"import subprocess\nsubprocess.Popen(['python3', '-c', {code!r}], start_new_session=True)\ntime.sleep(1.5)"


X_PID = "import os, subprocess, time\npid = int(subprocess.check_output(['pidof', 'Xvfb']).split()[0])\n"
X_CLIENT = (
    "import ctypes, time\nx = ctypes.CDLL('libX11.so.6')\nx.XOpenDisplay.restype = ctypes.c_void_p\n"
    "display = ctypes.c_void_p(x.XOpenDisplay(None))\nroot = x.XDefaultRootWindow(display)\n"
)
REST = "\ntime.sleep(1000)"
STOPPED = {
    "the X server": STOP_X,
    "the X server, then a click": STOP_X + "\npyautogui.click(5, 5)",
    "the X server, by turns": apart(X_PID + "while True:\n    os.kill(pid, 19); time.sleep(0.2); os.kill(pid, 18)"),
    "the X server, by a debugger": apart(X_PID + "import ctypes\nctypes.CDLL(None).ptrace(16, pid, 0, 0)" + REST),
    "the message bus": "import subprocess\nsubprocess.run(['pkill', '-STOP', 'dbus-daemon'])",
    "the window manager": "import subprocess\nsubprocess.run(['pkill', '-STOP', 'openbox'])",
    "the accessibility bus": "import subprocess\nsubprocess.run(['pkill', '-STOP', 'at-spi'])",
    "all processes": "import os\nos.kill(-1, 19)",
    "the action itself": "import os\nos.kill(os.getpid(), 19)",
    "the action, with a terminal": (
        "import os, pty\n_, end = pty.openpty()\nos.open(os.ttyname(end), os.O_RDWR)\nos.kill(os.getpid(), 19)"
    ),
    "who carries out the action": "import os\nos.kill(os.getppid(), 19)",
    "who carries out all requests": "import os\nos.kill(2, 19)\ntime.sleep(80)",
    "the screen, grabbed": apart(X_CLIENT + "x.XGrabServer(display); x.XSync(display, 0)" + REST),
    "the screen, grabbed before a click": (
        apart(X_CLIENT + "x.XGrabServer(display); x.XSync(display, 0)" + REST) + "\npyautogui.click(5, 5)"
    ),
    "the requests, without descriptors": "import resource\nresource.prlimit(2, resource.RLIMIT_NOFILE, (0, 0))",
    "the file of the screen": (
        "import os\nos.write(os.open(os.environ['RLANYTHING_FRAMEBUFFER'], os.O_RDWR), b'x' * 200)"
    ),
    "each new process, killed": apart(
        "import os\nwhile True:\n    for p in os.listdir('/proc'):\n        if p.isdigit() and int(p) > 60 and"
        " int(p) != os.getpid():\n            try: os.kill(int(p), 9)\n            except OSError: pass"
    ),
}
"""Nothing is ended: it waits, or keeps others waiting."""
HINDERED = {
    "keyboard and pointer, grabbed": apart(
        X_CLIENT + "x.XGrabKeyboard(display, root, 1, 1, 1, 0)\n"
        "x.XGrabPointer(display, root, 1, 0, 1, 1, 0, 0, 0)\nx.XSync(display, 0)" + REST
    ),
    "all connections to the screen": apart(X_CLIENT + "kept = [x.XOpenDisplay(None) for _ in range(300)]" + REST),
    "each new process, stopped": apart(
        "import os\nwhile True:\n    for p in os.listdir('/proc'):\n        if p.isdigit() and int(p) > 200 and"
        " int(p) != os.getpid():\n            try: os.kill(int(p), 19)\n            except OSError: pass"
    ),
    "all processes, later": "import subprocess\nsubprocess.run('(sleep 1; kill -STOP -1) & sleep 0.1', shell=True)",
    "a result in a deep folder": (
        f"import os\nos.remove({PATH!r})\nos.mkdir({PATH!r})\nos.chdir({PATH!r})\n"
        "for _ in range(3000): os.mkdir('d'); os.chdir('d')"
    ),
    "a result that changes": apart(
        f"import os\nwhile True:\n    open({PATH!r}, 'w').write('x' * 100000)\n    os.truncate({PATH!r}, 0)"
    ),
    "a result that is a loop": f"import os\nos.remove({PATH!r})\nos.symlink({PATH!r}, {PATH!r})",
    "a result that is a socket": (
        f"import os, socket\nos.remove({PATH!r})\ns = socket.socket(socket.AF_UNIX)\ns.bind({PATH!r})"
    ),
    "a result of the kernel": f"import os\nos.remove({PATH!r})\nos.symlink('/proc/kmsg', {PATH!r})",
    "a result without rights": f"import os\nos.chmod({PATH!r}, 0)",
}
"""The desktop still works, or does in parts: the episode is over with its last turn at the latest."""
FAST = {
    "the X server",
    "all processes",
    "the action itself",
    "the screen, grabbed before a click",
    "a result that is a loop",
}

RESULTS = {
    "device": f"import os\nos.remove({PATH!r}); os.symlink('/dev/zero', {PATH!r})",
    "pipe": f"import os\nos.remove({PATH!r}); os.mkfifo({PATH!r})",
    "300 MB": f"import os\nos.truncate({PATH!r}, 300 << 20)",
}


@pytest.fixture(scope="module")
def env(bwrap_desktop):
    made = gym.make(ID, tasks=[make(config=CONFIG)], backend=bwrap_desktop, observation="text", max_turns=8)
    yield made
    made.close()


def crashed(result, begin) -> None:
    _, reward, terminated, truncated, info = result
    assert (reward, terminated, truncated, info["outcome"], info["error"]) == (0.0, True, False, -1, "")
    assert info["agent_crash"]
    assert time.monotonic() - begin < SECONDS


@pytest.mark.parametrize(
    "deed", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in AT_ONCE]
)
def test_a_desktop_that_an_action_ends_is_a_failure_of_the_agent(env, deed):
    env.reset()
    begin = time.monotonic()
    crashed(env.step(AT_ONCE[deed]), begin)
    observation, _ = env.reset()  # and the next episode has a new one
    assert observation


def some(deeds):
    return [pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow]) for name in deeds]


@pytest.mark.parametrize("deed", some(STOPPED))
def test_what_an_action_stops_counts_as_broken(env, deed):
    """An agent that could stop its desktop every turn would hold its place for minutes."""
    env.reset()
    begin = time.monotonic()
    crashed(env.step(STOPPED[deed]), begin)


@pytest.mark.parametrize("deed", some(HINDERED))
def test_an_episode_on_a_hindered_desktop_ends_as_a_failure(env, deed):
    env.reset()
    begin = time.monotonic()
    *_, info = env.step(HINDERED[deed])
    if info["outcome"] is None:
        *_, info = env.step("DONE")
    assert (info["outcome"], info["error"]) == (-1, "")
    assert time.monotonic() - begin < 2 * SECONDS


def test_what_a_shell_stops_in_its_terminal_is_no_crash(env):
    """It can be continued there."""
    env.reset()
    code = "import os, pty, time\nif os.fork() == 0:\n    os.setsid()\n    pid, _ = pty.fork()\n    if pid == 0:\n"
    code += (
        "        if os.fork() == 0:\n            os.kill(os.getpid(), 19)\n        time.sleep(100)\n    time.sleep(100)"
    )
    *_, info = env.step(code + "\ntime.sleep(1)")
    stopped = env.unwrapped.client.execute("grep -l '^State:.T' /proc/[0-9]*/status | wc -l", shell=True).output
    assert stopped == "1\n"
    assert (info["outcome"], info["agent_crash"]) == (None, "")


def test_a_bomb_that_goes_off_between_two_actions(env):
    env.reset()
    code = "import subprocess\nsubprocess.Popen('sleep 0.5; kill -9 -1', shell=True, start_new_session=True)"
    assert env.step(code)[4]["outcome"] is None
    time.sleep(1.5)
    crashed(env.step("DONE"), time.monotonic())


@pytest.mark.parametrize("deed", RESULTS)
def test_a_result_that_is_no_file(env, deed):
    env.reset()
    begin = time.monotonic()
    assert env.step(RESULTS[deed])[4]["outcome"] is None
    crashed(env.step("DONE"), begin)


def test_a_result_that_is_printed_without_end(bwrap_desktop):
    evaluator = {
        "func": "exact_match",
        "result": {"type": "vm_command_line", "command": f"cat {PATH}", "shell": True},
        "expected": {"type": "rule", "rules": {"expected": "x"}},
    }
    env = gym.make(ID, tasks=[make(evaluator, CONFIG)], backend=bwrap_desktop, observation="text")
    env.reset()
    begin = time.monotonic()
    env.step(RESULTS["device"])
    crashed(env.step("DONE"), begin)


def test_processes_without_end(env):
    """The kernel refuses further ones, in the desktop alone; the episode ends with its score or as a crash."""
    env.reset()
    begin = time.monotonic()
    code = "import subprocess\nsubprocess.Popen('b() { b | b & }; b', shell=True, executable='/bin/bash')"
    *_, info = env.step(code)
    if info["outcome"] is None:
        *_, info = env.step("DONE")
    assert (info["outcome"], info["error"]) == (-1, "")
    assert time.monotonic() - begin < 2 * SECONDS
    env.reset()
    for action in [*SOLUTION[:1], "DONE"]:
        *_, info = env.step(action)
    assert info["agent_crash"] == ""


@pytest.mark.usefixtures("bwrap_desktop")
def test_memory_without_end():
    settings = {"tasks": [make(config=CONFIG)], "observation": "text", "screen": (800, 600)}
    env = gym.make(ID, backend="bwrap", desktop={"memory": "512m"}, **settings)
    try:
        env.reset()
        begin = time.monotonic()
        *_, info = env.step("kept = []\nwhile True:\n    kept.append(bytearray(b'x' * (1 << 25)))")
        assert info["command"] == "impossible" or info["agent_crash"]
        assert time.monotonic() - begin < SECONDS
        env.reset()
    finally:
        env.close()


def test_the_server_is_out_of_reach(desktop):
    """It runs outside: neither to be seen, nor to be ended, nor to be asked for its token."""
    client = desktop.client
    seen = client.execute("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null", shell=True).output
    assert client.transport._headers["Authorization"].split()[1] not in seen
    assert "RLANYTHING_TOKEN" not in seen
    client.execute("for pid in $(seq 1 300); do [ $pid = $$ ] || kill -9 $pid; done 2>/dev/null", shell=True)
    health = client.health()
    assert health.apart
    assert health.broken
    desktop.reset()
    assert client.health().broken == ""


def test_the_process_that_starts_programs_cannot_be_looked_into(desktop):
    """It is a program of the desktop's user like any other, but for this."""
    done = desktop.client.execute("cat /proc/2/environ; ls /proc/2/fd; head -c 1 /proc/2/mem", shell=True)
    assert (done.output, done.error.count("Permission denied")) == ("", 3)


TAB = "<a><application name='Chromium'><entry name='Address and search bar'>x</entry></application></a>"


@pytest.mark.parametrize("module", ["gi", "base64"])
def test_who_carries_out_requests_imports_nothing_of_the_agent(desktop, module):
    """It could put other functions in the place of its own, and answer whatever is right."""
    client = desktop.client
    client.upload(f"/home/user/{module}.py", b"open('/tmp/imported', 'w')")
    client.accessibility_tree()
    wanted = {"url": "http://127.0.0.1:1/x", "path": "x"}
    assert "refused" in client.transport.post("/setup/download_file", wanted, timeout=60).reason
    context = Context(client, None)
    context.guest = type("Guest", (), {"accessibility_tree": lambda: TAB, "execute": client.execute})
    wanted = pages.Elements(category="xpath", xpathObject={"/a": "b"})
    assert GETTERS["active_tab_html_parse"].function(context, wanted) == {}
    assert client.read_file("/tmp/imported") is None


def test_the_kernels_keys_are_out_of_reach(desktop):
    """There is one set for a user's session, in which secrets of the host are, and notes would stay."""
    number = "{'x86_64': 250, 'aarch64': 219}[os.uname().machine]"
    code = f"import ctypes, os; print(ctypes.CDLL(None).syscall({number}, 0, -3, 1)); open('/proc/keys')"
    done = desktop.client.execute(["python3", "-c", code])
    assert (done.output, done.returncode) == ("-1\n", 1)


def test_no_file_of_the_machine_is_open_in_the_first_process(desktop):
    client = desktop.client
    assert client.execute("readlink /proc/1/fd/[12] | grep -cv socket:", shell=True).output == "0\n"
    client.act("import ctypes, os\nos.write(ctypes.CDLL(None).syscall(438, os.pidfd_open(1), 1, 0), bytes(1 << 20))")
    assert (desktop._running._folder.path / "log").stat().st_size < 1 << 16


def test_nothing_stays_in_the_file_of_the_screen(desktop):
    code = "import os\nfile = os.open(os.environ['RLANYTHING_FRAMEBUFFER'], 2)\nend = os.fstat(file).st_size - 9\n"
    write = "try: os.setxattr(file, 'user.note', b'note')\nexcept OSError: pass\nprint(os.pwrite(file, b'note', end))"
    assert desktop.client.act(code + write).output == "4\n"
    desktop.reset()
    read = "print(os.listxattr(file), sum(os.pread(file, 9, end)))"
    assert desktop.client.act(code + read).output == "[] 0\n"


def test_there_are_no_further_user_namespaces(desktop):
    assert desktop.client.execute("unshare --user --map-root-user id; id -u", shell=True).output == "1000\n"


def test_nothing_but_a_few_places_can_be_written(desktop):
    """And these are bounded: what fills them is in memory, of which the machine has no more than others need."""
    client = desktop.client
    free = client.execute("df --output=avail -B1 /home /tmp /var/tmp /run /dev/shm | tail -n +2", shell=True).output
    assert sum(map(int, free.split())) < 3 << 30
    for place in ("/dev/x", "/x", "/etc/x", "/usr/x", "/var/x", "/opt/x"):
        assert client.execute(["touch", place]).returncode != 0, place


def test_the_screen_cannot_be_made_larger_than_it_is(desktop):
    client = desktop.client
    grown = client.execute(["python", "-c", "import os; os.truncate(os.environ['RLANYTHING_FRAMEBUFFER'], 1 << 28)"])
    assert "PermissionError" in grown.error
    assert client.screenshot_array().shape == (1080, 1920, 3)


@pytest.mark.usefixtures("bwrap_desktop")
def test_a_server_that_the_machine_ends_is_no_failure_of_the_agent():
    with make_desktop("bwrap", screen=(800, 600)) as machine:
        env = gym.make(ID, tasks=[make(config=CONFIG)], backend=machine, observation="text", screen=(800, 600))
        env.reset()
        env.step("pyautogui.moveTo(3, 3)")
        os.kill(machine._running._process.pid, 9)
        *_, info = env.step("DONE")
        assert (info["outcome"], info["agent_crash"]) == ("error", "")
        assert info["error"]
        env.reset()


def test_what_breaks_before_the_first_action_is_no_failure_of_the_agent(env):
    env.reset()
    env.unwrapped._machine.client.execute("kill -9 -1", shell=True)
    *_, info = env.step("DONE")
    assert (info["outcome"], info["agent_crash"]) == ("error", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lend a sandbox another user")
def test_root_lends_the_desktop_a_user_of_its_own(desktop):
    first = int(Path(f"/proc/{desktop._running._process.pid}/status").read_text().split("Uid:")[1].split()[0])
    assert first == 0
    assert desktop.client.execute(["stat", "-c", "%U", "/usr/bin/env"]).output == "UNKNOWN\n"  # root, as seen by others


def test_memory_that_cannot_be():
    with pytest.raises(SettingError, match="memory"):
        make_desktop("bwrap", memory="plenty")
