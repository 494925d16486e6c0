"""The desktop environment on a real desktop: what a stand-in cannot show."""

import base64
import io
import json
import re
import sqlite3
import time
import warnings

import gymnasium as gym
import openpyxl
import pytest
from gymnasium.utils.env_checker import check_env
from osworld_tasks import PATH, SOLUTION, make, published

from rlanything_envs.osworld.accessibility import read_elements
from rlanything_envs.osworld.desktop import GuestRefusal, Unwinnable
from rlanything_envs.osworld.desktop.doctor import judge_tasks
from rlanything_envs.osworld.ready import Applications, contents
from rlanything_envs.osworld.setup import Stage, run_steps
from rlanything_task_pools import UnknownTask
from rlanything_task_pools.osworld import OSWorldDomain

ID = "RLAnything/OSWorld-v0"
SHEET = "/home/user/Desktop/a.xlsx"
SMALL = {"backend": "bwrap", "screen": [800, 600]}


@pytest.fixture
def made(bwrap_desktop):
    """Makes an environment on the desktop that all tests share."""

    def make_env(**arguments):
        settings = {"tasks": [make()], "backend": bwrap_desktop, "observation": "text", "max_turns": 8}
        return gym.make(ID, **{**settings, **arguments})

    return make_env


@pytest.fixture
def stage(desktop, tmp_path):
    return Stage(desktop.client, None, (1920, 1080))


def play(env, actions):
    return [env.step(action) for action in actions][-1]


def workbook(*rows):
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(file)
    return base64.b64encode(file.getvalue()).decode()


def test_an_episode(made):
    env = made(observation=["screenshot", "text", "terminal"], render_mode="rgb_array")
    observation, _ = env.reset(seed=0)
    assert 'text="hello"' in observation["text"]
    assert observation["screenshot"].shape == (1080, 1920, 3)
    after, *_ = env.step(SOLUTION[0])
    after, *_ = env.step(SOLUTION[1])
    assert 'text="hello you"' in after["text"]
    assert (after["screenshot"] != observation["screenshot"]).any()
    assert env.render().shape == (1080, 1920, 3)
    assert play(env, [SOLUTION[2], "DONE"])[1] == 1.0


def test_a_menu_is_opened_by_its_mark(made):
    env = made(observation=["screenshot", "marks", "instruction", "message"])
    observation, _ = env.reset(seed=0)
    number = re.search(r'^(\d+) menu "File"', observation["marks"], re.MULTILINE)[1]
    after, *_, info = env.step(f"pyautogui.click(mark_{number})")
    assert info["command"] == "ok"
    assert re.search(r'^\d+ menu-item "Save', after["marks"], re.MULTILINE)
    assert (after["screenshot"] != env.unwrapped.client.screenshot_array()).any(), "numbers are drawn on it"


def test_a_sheet_is_there_when_the_episode_begins_and_saved_before_it_is_scored(made):
    """As published tasks have it: the evaluation saves the document by keyboard, in whatever window is on top."""
    config = [
        {"type": "write_file", "parameters": {"path": SHEET, "base64": workbook(["item", "qty"], ["pear", 5])}},
        {"type": "open", "parameters": {"path": SHEET}},
    ]
    save = ["python", "-c", "import pyautogui; import time; pyautogui.hotkey('ctrl', 's'); time.sleep(0.5)"]
    evaluator = {
        "func": "compare_table",
        "result": {"type": "vm_file", "path": SHEET, "dest": "a.xlsx"},
        "options": {
            "rules": [
                {
                    "type": "check_cell",
                    "sheet_idx": 0,
                    "coordinate": "B3",
                    "props": {"value": {"method": "eq", "ref": 7}},
                }
            ]
        },
        "postconfig": [
            {"type": "activate_window", "parameters": {"window_name": "a.xlsx - LibreOffice Calc", "strict": True}},
            {"type": "sleep", "parameters": {"seconds": 0.5}},
            {"type": "execute", "parameters": {"command": save}},
            {"type": "sleep", "parameters": {"seconds": 0.5}},
        ],
    }
    env = made(tasks=[make(evaluator, config)])
    observation, _ = env.reset()
    assert 'table-cell "A2" text="pear"' in observation
    keys = "pyautogui.hotkey('ctrl', 'home'); pyautogui.press('down', presses=2); pyautogui.write('plum\\t7\\n')"
    observation, *_ = env.step(keys)
    assert 'table-cell "B3" text="7"' in observation
    assert env.step("DONE")[1] == 1.0


def test_a_published_task(made):
    """OSWorld's os/e0df059f, with its password and its screen in braces."""
    config = [
        {
            "type": "execute",
            "parameters": {
                "command": "echo {CLIENT_PASSWORD} | sudo -S mkdir ~/Desktop/todo_list_Jan_1",
                "shell": True,
            },
        },
        {
            "type": "execute",
            "parameters": {
                "command": [
                    "python",
                    "-c",
                    "import pyautogui; import time; pyautogui.click({SCREEN_WIDTH_HALF}, {SCREEN_HEIGHT_HALF});",
                ]
            },
        },
    ]
    command = "[ -d ~/Desktop/todo_list_Jan_2 ] && echo 'Directory exists.' || echo 'Directory does not exist.'"
    evaluator = {
        "func": "exact_match",
        "result": {"type": "vm_command_line", "command": command, "shell": True},
        "expected": {"type": "rule", "rules": {"expected": "Directory exists.\n"}},
    }
    env = made(tasks=[make(evaluator, config)])
    env.reset()
    assert env.unwrapped._machine.client.cursor_position() == (960, 540)
    assert env.step("DONE")[1] == 0.0
    env.reset()
    env.step("pyautogui.hotkey('ctrl', 'alt', 't'); time.sleep(2)")
    env.step("pyautogui.write('mv ~/Desktop/todo_list_Jan_1 ~/Desktop/todo_list_Jan_2\\n'); time.sleep(0.5)")
    assert env.step("DONE")[1] == 1.0


# --- what an agent can do to its desktop ---


@pytest.mark.parametrize(
    "deed",
    [
        f"os.chmod({PATH!r}, 0)",
        pytest.param("os.chmod('/home/user/Desktop', 0)", marks=pytest.mark.slow),
        f"os.truncate({PATH!r}, 1 << 34)",
        f"os.remove({PATH!r}); os.mkfifo({PATH!r})",
        pytest.param(f"os.remove({PATH!r}); os.mkdir({PATH!r})", marks=pytest.mark.slow),
        f"os.remove({PATH!r}); os.symlink('/dev/zero', {PATH!r})",
        pytest.param(f"os.remove({PATH!r}); os.symlink({PATH!r}, {PATH!r})", marks=pytest.mark.slow),
    ],
    ids=["unreadable", "unreadable folder", "16 GB", "pipe", "folder", "endless", "loop"],
)
def test_a_result_that_cannot_be_read_is_a_failure_of_the_agent(deed, made):
    env = made(tasks=[make(config=[make().payload["config"][0]])])
    env.reset()
    _, reward, terminated, _, info = play(env, [f"import os\n{deed}", "DONE"])
    assert (reward, terminated, info["outcome"], info["error"]) == (0.0, True, -1, "")


@pytest.mark.usefixtures("bwrap_desktop")  # skips where there is no desktop
def test_a_desktop_that_is_gone_is_a_failure_and_the_next_episode_has_another():
    env = gym.make(ID, tasks=[make()], observation=["screenshot", "text"], **SMALL)
    try:
        env.reset()
        observation, reward, terminated, truncated, info = env.step("import os, time\nos.kill(2, 9)\ntime.sleep(60)")
        assert (reward, terminated, truncated, info["outcome"]) == (0.0, True, False, -1)
        assert info["agent_crash"]
        assert env.observation_space.contains(observation)
        env.reset()
        assert play(env, [*SOLUTION, "DONE"])[1] == 1.0
    finally:
        env.close()


# --- Gymnasium ---


@pytest.mark.slow
def test_gymnasium_has_no_objection(bwrap_desktop):
    time.sleep(max(0, time.localtime().tm_sec - 44) and 60 - time.localtime().tm_sec)  # the panel's clock shows minutes
    env = gym.make(ID, tasks=[json.loads(make(config=[]).to_json())], render_mode="rgb_array", **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


@pytest.mark.slow
def test_gymnasiums_own_recorder(made, tmp_path):
    pytest.importorskip("moviepy", reason="needs the extra: video")
    env = gym.wrappers.RecordVideo(made(render_mode="rgb_array"), str(tmp_path / "videos"))
    env.reset()
    play(env, [*SOLUTION, "DONE"])
    env.recording and env.stop_recording()
    assert [file.suffix for file in (tmp_path / "videos").iterdir()] == [".mp4"]


def test_parallel_desktops(bwrap_desktop):
    """Each environment in a process of its own, with a desktop of its own."""
    make_one = [lambda: gym.make(ID, tasks=[make()], observation=["screenshot", "text"], **SMALL) for _ in range(2)]
    envs = gym.vector.AsyncVectorEnv(make_one, context="fork")
    try:
        observations, _ = envs.reset(seed=0)
        assert observations["screenshot"].shape == (2, 600, 800, 3)
        for action in SOLUTION:
            envs.step((action, "pyautogui.write('x')"))
        _, rewards, terminated, _, _ = envs.step(("DONE", "DONE"))
        assert rewards.tolist() == [1.0, 0.0]
        assert terminated.all()
    finally:
        envs.close()


# --- set-up steps that need real programs ---


def test_a_launched_program_is_waited_for(stage):
    run_steps([{"type": "launch", "parameters": {"command": "mousepad"}}], stage, "config")
    assert "Mousepad" in stage.client.execute(["wmctrl", "-l"]).output


def test_commands_until_they_come_to_something(stage):
    command = "echo x >> ~/n; test $(wc -l < ~/n) -ge 3"
    until = {"command": command, "shell": True, "until": {"returncode": 0}}
    run_steps([{"type": "execute", "parameters": until}], stage, "config")
    assert stage.client.read_file("~/n") == b"x\nx\nx\n"


@pytest.mark.slow
def test_tabs_of_the_browser(stage):
    pages = []
    for name in ("one", "two"):
        path = f"/home/user/{name}.html"
        stage.client.upload(path, f"<title>{name}</title>".encode())
        pages.append(f"file://{path}")
    launch = {"command": ["google-chrome", "--remote-debugging-port=1337", "about:blank"]}
    steps = [
        {"type": "launch", "parameters": launch},
        {"type": "chrome_open_tabs", "parameters": {"urls_to_open": pages}},
    ]
    run_steps(steps, stage, "config")
    listing = "curl -s localhost:1337/json/list || python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:1337/json/list').read().decode())\""

    def tabs():
        return [
            tab["url"] for tab in json.loads(stage.client.execute(listing, shell=True).output) if tab["type"] == "page"
        ]

    assert sorted(tabs()) == sorted(pages)
    run_steps([{"type": "chrome_close_tabs", "parameters": {"urls_to_close": pages[:1]}}], stage, "config")
    assert tabs() == pages[1:]


@pytest.mark.slow
def test_history_of_the_browser(stage, tmp_path):
    visit = {"url": "https://example.org/", "title": "Example é", "visit_time_from_now_in_seconds": 3600}
    run_steps([{"type": "update_browse_history", "parameters": {"history": [visit]}}], stage, "config")
    run_steps([{"type": "launch", "parameters": {"command": ["google-chrome"]}}], stage, "config")
    stage.client.execute(["sleep", "3"])
    stage.client.act("pyautogui.hotkey('ctrl', 'h')")
    for _ in range(40):
        if "Example é" in stage.client.accessibility_tree():
            break
        stage.client.execute(["sleep", "0.5"])
    assert "Example é" in stage.client.accessibility_tree()
    file = tmp_path / "History"
    file.write_bytes(stage.client.read_file("~/.config/google-chrome/Default/History"))
    rows = sqlite3.connect(file).execute("SELECT url, title FROM urls").fetchall()
    assert ("https://example.org/", "Example é") in rows


# --- the first observation ---


def first_windows(observation):
    """Names of the windows of an observation, with the number of their elements."""
    return {window.name: size for window, size in contents(read_elements(observation["accessibility_tree"]))}


def test_an_episode_begins_with_content_and_with_pixels_that_belong_to_it(made):
    env = made(observation=["screenshot", "accessibility_tree"])
    observation, _ = env.reset()
    assert max(first_windows(observation).values()) > 3
    again = env.unwrapped._machine.client.screenshot_array()
    assert (again != observation["screenshot"]).mean() < 0.0005


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chrome/2ad9387a", "gimp/7767eef2", "libreoffice_impress/2cd43775"])
def test_published_tasks_begin_with_their_application(made, name):
    env = made(tasks=[published(name)], observation=["screenshot", "accessibility_tree"])
    observation, _ = env.reset()
    assert max(first_windows(observation).values()) > 10
    again = env.unwrapped._machine.client.screenshot_array()
    assert (again != observation["screenshot"]).mean() < 0.0005


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_generated_sheets_begin_with_their_cells(made, seed):
    task = OSWorldDomain().generate(seed, kinds=["sheet_cells", "sheet_sort", "sheet_format", "sheet_layout"])
    env = made(tasks=[task], observation=["screenshot", "accessibility_text"])
    observation, _ = env.reset()
    assert 'table-cell "A1"' in observation["accessibility_text"]


def test_a_program_that_shows_nothing_is_a_clear_error(desktop):
    applications = Applications(desktop.client, seconds=1.0)
    with pytest.raises(GuestRefusal, match=r"gimp: no window with content after 1 seconds; there are no windows"):
        applications.wait("gimp", 0)


def test_a_window_that_is_to_be_activated_is_waited_for(stage):
    """As a task has it: keys are typed half a second after the terminal was started."""
    keys = {"command": ["python", "-c", "import pyautogui; pyautogui.write('echo 1 > ~/typed\\n')"]}
    steps = [
        {"type": "launch", "parameters": {"command": ["gnome-terminal"]}},
        {"type": "activate_window", "parameters": {"window_name": "LXTerminal"}},
        {"type": "sleep", "parameters": {"seconds": 0.5}},
        {"type": "execute", "parameters": keys},
    ]
    run_steps(steps, stage, "postconfig", lenient=True)
    stage.client.execute(["sleep", "1"])
    assert stage.client.read_file("~/typed") == b"1\n"


# --- the desktop of the next episode ---


def traces(client):
    """Files of the user, and programs that run, without what has a random name or a number.

    They are read until they no longer change: some programs of a session start, and some files appear, a little later.
    """
    find = "find ~ /tmp /var/tmp /dev/shm -not -name '*[0-9]*' 2>/dev/null | sort"
    last = None
    for _ in range(20):
        programs = client.execute("ps -eo comm=", shell=True).output.split()
        now = client.execute(find, shell=True).output, sorted(name for name in programs if name not in ("ps", "sh"))
        if now == last:
            break
        last = now
        time.sleep(0.5)
    return now


@pytest.mark.usefixtures("bwrap_desktop")  # skips where there is no desktop
def test_a_desktop_prepared_in_the_background_has_nothing_of_the_episode_before():
    one, other = make(), make(instruction="Another instruction on the same file.")
    env = gym.make(ID, tasks=[one], observation=["screenshot", "accessibility_text"], **SMALL)
    mess = "touch ~/mark ~/.config/mark /tmp/mark; echo 'alias ls=false' >> ~/.bashrc; pkill mousepad; sleep 999 &"
    found, seen, clients = [], [], []
    try:
        for task, following in [(one, other), (other, one), (one, None), (other, None)]:
            observation, info = env.reset(options={"task": task})
            if following is not None:
                env.unwrapped.prepare(following)
            assert (info["task_id"], 'text="hello"' in observation["accessibility_text"]) == (task.id, True)
            client = env.unwrapped.client
            found.append(traces(client))
            seen.append(observation["screenshot"])
            clients.append(client)
            assert b"alias ls=false" not in client.read_file("~/.bashrc")
            client.execute(mess, shell=True)
            assert client.read_file("/tmp/mark") == b""
            assert env.step("DONE")[1] == 0.0
    finally:
        env.close()
    assert len(set(map(id, clients))) == 3  # a new one each time, and the last task is played where the third was
    assert all(trace == found[0] for trace in found)
    assert all((pixels != seen[0]).mean() < 0.001 for pixels in seen)


@pytest.mark.usefixtures("bwrap_desktop")
def test_a_prepared_desktop_is_ended_with_its_environment():
    slow = make(config=[{"type": "execute", "parameters": {"command": ["sleep", "60"]}}])
    env = gym.make(ID, tasks=[make()], observation="text", **SMALL)
    env.reset()
    env.unwrapped.prepare(slow)
    env.close()
    with pytest.raises(UnknownTask):
        env.unwrapped.prepare("nothing")


# --- tasks that cannot be won here ---


@pytest.mark.parametrize(
    ("command", "lacks"),
    [
        ("no-such-program --x", "the program no-such-program"),
        ("gsettings get org.no.such key", "the schema org.no.such"),
        ("LC_ALL=xx_XX.UTF-8 date", "the locale xx_XX.UTF-8"),
    ],
)
def test_a_task_that_cannot_be_won_is_refused(made, command, lacks):
    evaluator = {
        "func": "exact_match",
        "result": {"type": "vm_command_line", "command": command, "shell": True},
        "expected": {"type": "rule", "rules": {"expected": "x"}},
    }
    env = made(tasks=[make(evaluator, [])])
    with pytest.raises(Unwinnable, match=f"cannot be won here: the desktop lacks {lacks}"):
        env.reset()
    env.reset(options={"task": make(config=[])})


def test_a_task_of_the_web_needs_the_network(made):
    tabs = {"type": "chrome_open_tabs", "parameters": {"urls_to_open": ["https://example.org"]}}
    with pytest.raises(Unwinnable, match="lacks the network"):
        made(tasks=[make(config=[tabs])]).reset()


def test_the_doctor_lists_what_can_be_won(bwrap_desktop, tmp_path):
    row = {"instruction": "x", "config": [], "evaluator": {"func": "infeasible"}}
    (tmp_path / "a.json").write_text(json.dumps({**row, "id": "a"}))
    config = [{"type": "launch", "parameters": {"command": ["no-such-program"]}}]
    (tmp_path / "b.json").write_text(json.dumps({**row, "id": "b", "config": config}))
    (tmp_path / "c.json").write_text("{")
    found = {finding.topic: (finding.good, finding.said) for finding in judge_tasks(tmp_path)}
    assert found["a"] == (True, "winnable")
    assert found["b"] == (None, "lacks the program no-such-program")
    assert found["c"][1].startswith("cannot be read")
    assert found["tasks"][1] == "1 of 3 can be won on the bwrap desktop"
