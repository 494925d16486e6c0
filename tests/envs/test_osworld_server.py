"""Episodes on a guest that speaks OSWorld's protocol and nothing more, and on one that answers nonsense."""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import gymnasium as gym
import pytest
from osworld_server_stand_in import SCREEN, Handler, OSWorldServerStandIn
from osworld_tasks import make

from rlanything_envs import Verdict
from rlanything_envs.errors import InfrastructureError, SettingError
from rlanything_envs.osworld.desktop import attached, client, make_desktop, transport
from rlanything_envs.osworld.desktop.conformance import check_guest

pytestmark = pytest.mark.filterwarnings("ignore:the guest at:UserWarning")
TYPED = {
    "func": "exact_match",
    "result": {"type": "vm_command_line", "command": ["bash", "-c", "cat ~/typed.txt ~/Desktop/setup.txt"]},
    "expected": {"type": "rule", "rules": {"expected": "plum seen"}},
}
"""1 where the agent typed ``plum`` and the set-up was carried out."""
SETUP = [
    {"type": "execute", "parameters": {"command": ["bash", "-c", "rm -f ~/typed.txt"]}},
    {"type": "write_file", "parameters": {"path": "~/Desktop/setup.txt", "text": " seen"}},
]


@pytest.fixture
def guest(tmp_path):
    with OSWorldServerStandIn(tmp_path) as stand_in:
        yield stand_in


def made(guest, reset, config=SETUP, **arguments):
    return gym.make(
        "RLAnything/OSWorld-v0",
        backend="http",
        desktop={"url": guest.url, "reset": reset},
        tasks=[make(TYPED, config)],
        screen=SCREEN,
        settle=None,
        **arguments,
    )


def test_the_stand_in_speaks_the_protocol(guest):
    wrong = {check.name for check in check_guest(guest.url) if not check.passed}
    assert wrong == {"Bash script"}  # as in the published server


@pytest.mark.parametrize(("word", "reward"), [("plum", 1.0), ("pear", 0.0)])
def test_an_episode_with_its_score(guest, word, reward):
    env = made(guest, guest.revert)
    (guest.home / "typed.txt").write_text("of another episode")
    observation, info = env.reset(seed=0)
    assert not (guest.home / "typed.txt").exists()
    assert info["independent"] is True
    assert observation["screenshot"].shape == (600, 800, 3)
    observation, _, _, _, info = env.step(f"pyautogui.moveTo(70, 50)\npyautogui.write({word!r})")
    assert (info["command"], info["outcome"]) == ("ok", None)
    assert observation["screenshot"][50, 70].tolist() == [0, 0, 0]
    assert f'name="{word}"' in observation["accessibility_tree"]
    _, got, terminated, _, info = env.step("DONE")
    assert (got, terminated, info["error"]) == (reward, True, "")
    assert info["outcome"] == (Verdict.SUCCESS if reward else Verdict.FAILURE)
    before = guest.reverted
    env.reset()
    assert guest.reverted > before


def test_an_action_that_fails_is_the_agents(guest):
    env = made(guest, guest.revert)
    env.reset(seed=0)
    *_, info = env.step("pyautogui.nothing()")
    assert (info["command"], info["outcome"]) == ("impossible", None)
    assert "AttributeError" in info["message"]


def test_a_post_reverts_the_machine(guest):
    asked = []

    class Hypervisor(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(self.path)
            guest.revert()
            self.send_response(204 if "good" in self.path else 503)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hypervisor) as http:
        Thread(target=http.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{http.server_address[1]}"
        made(guest, f"{address}/good?vm=3").reset(seed=0)
        assert asked == ["/good?vm=3"]
        with pytest.raises(InfrastructureError, match="reverts no machine: HTTP 503"):
            made(guest, f"{address}/bad").reset(seed=0)
        http.shutdown()


def test_a_reset_that_fails(guest):
    def reset():
        raise OSError("no hypervisor")

    with pytest.raises(InfrastructureError, match="no hypervisor"):
        made(guest, reset).reset(seed=0)


def test_a_machine_that_comes_back_late(guest, monkeypatch):
    monkeypatch.setattr(attached, "_AGAIN_SECONDS", 0.01)
    left = [7]

    def booting(method, path):
        left[0] -= 1
        return b"" if left[0] > 0 else None

    def reset():
        guest.revert()
        guest.answer = booting

    assert made(guest, reset).reset(seed=0)[1]["task_id"]
    assert left[0] <= 0


def test_never(guest):
    env = made(guest, "never", config=SETUP[1:])
    (guest.home / "typed.txt").write_text("plum")
    with pytest.warns(UserWarning, match="not independent"):
        _, info = env.reset(seed=0)
    assert info["independent"] is False
    *_, info = env.step("DONE")
    assert (info["outcome"], info["independent"], guest.reverted) == (Verdict.SUCCESS, False, 1)


def test_two_environments_on_one_screen(guest):
    first, second = made(guest, guest.revert), made(guest, guest.revert)
    first.reset(seed=0)
    with pytest.raises(SettingError, match="another environment plays on the guest"):
        second.reset(seed=0)
    first.close()
    second.reset(seed=0)


def test_a_guest_that_cannot_reset_itself(guest):
    with pytest.raises(SettingError, match="reset="):
        made(guest, None).reset(seed=0)


@pytest.mark.parametrize("reset", ["sometimes", "https://host/revert", "http://", "unix:/x", "http://host:port/"])
def test_a_reset_that_is_none(reset):
    with pytest.raises(SettingError, match="reset="):
        attached.HttpDesktop("http://127.0.0.1:5000", reset=reset)


@pytest.mark.parametrize(
    ("backend", "settings", "said"),
    [
        ("http", {}, r"the http desktop needs its url: desktop=\{'url': ...\}"),
        ("vm", {"network": True}, r"the vm desktop needs its qcow2: desktop=\{'qcow2': ...\}"),
        ("http", {"url": "http://h:1", "rest": "never"}, "no setting 'rest'; it has url, token, reset"),
    ],
)
def test_settings_that_are_missing_or_unknown(backend, settings, said):
    with pytest.raises(SettingError, match=said):
        make_desktop(backend, **settings)


# --- a guest that answers anything ---


def ok(body, kind=b"application/json"):
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(body), body)


NONSENSE = {
    "nothing": b"",
    "no HTTP": b"\x00\xff" * 1000,
    "not JSON": ok(b"{"),
    "deep": ok(b"[" * 200_000),
    "other JSON": ok(b'{"AT": 3, "width": "wide", "output": [], "returncode": "zero"}'),
    "not a number": ok(b'{"width": NaN, "height": 1e999, "returncode": Infinity}'),
    "many digits": ok(b'{"width": %s, "returncode": 1%s}' % (b"9" * 4000, b"0" * 4000)),
    "refused": b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n",
    "elsewhere": b"HTTP/1.1 302 X\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    "too short": b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{}",
    "broken chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 5000 + b"\r\n",
    "half a picture": ok(b"\x89PNG\r\n\x1a\n" + b"\x00" * 100, b"image/png"),
}


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
@pytest.mark.parametrize("path", ["/screen_size", "/screenshot", "/execute"])
def test_nonsense_at_the_reset(guest, path, answer):
    guest.answer = lambda method, asked: answer if asked == path else None
    with pytest.raises(InfrastructureError):
        made(guest, "never").reset(seed=0)


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_from_then_on_is_no_reward(guest, answer, monkeypatch):
    """Nobody can tell whether the agent did it, but a machine that stays broken after a reset is broken itself."""
    monkeypatch.setattr(attached, "_REVERT_SECONDS", 0.0)
    env = made(guest, guest.revert)
    env.reset(seed=0)
    guest.answer = lambda method, path: answer
    _, reward, terminated, truncated, info = env.step("pyautogui.write('plum')")
    if info["outcome"] is None:  # the guest "refused" the action
        assert info["command"] == "impossible"
    else:
        assert (reward, terminated, truncated, info["outcome"]) == (0.0, False, True, "error")


def test_what_a_reset_mends_was_the_agent(guest):
    env = made(guest, guest.revert)
    env.reset(seed=0)
    guest.answer = lambda method, path: b"" if (guest.home / "typed.txt").exists() else None
    *_, info = env.step("pyautogui.write('kill the server')")
    assert (info["outcome"], info["error"]) == (Verdict.FAILURE, "")
    assert "/" in info["agent_crash"]


@pytest.mark.parametrize("path", ["/screen_size", "/accessibility"])
@pytest.mark.parametrize("kind", ["flood", "drip", "headers", "silence"])
def test_answers_without_end(guest, path, kind, monkeypatch):
    for name in ("_LOOK", "_TREE", "_RUN", "_SETUP"):
        monkeypatch.setattr(client, name, 0.4)
    monkeypatch.setattr(transport, "_ARRIVAL", 0.4)
    monkeypatch.setattr(transport, "_LARGEST_ANSWER", 1 << 20)
    send = Handler._send

    def endless(handler, answer):
        if handler.path != path:
            return send(handler, answer)
        try:
            if kind != "headers":
                handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n" if kind != "silence" else b"")
            end = time.monotonic() + 30
            while time.monotonic() < end:
                if kind == "flood":
                    handler.wfile.write(b"\x89PNG" * 10_000)
                else:
                    handler.wfile.write(b"" if kind == "silence" else b"A")
                    time.sleep(0.02)
        except OSError:
            return None

    monkeypatch.setattr(Handler, "_send", endless)
    begin = time.monotonic()
    with pytest.raises(InfrastructureError):
        made(guest, "never").reset(seed=0)
    assert time.monotonic() - begin < 25


def test_a_screen_that_changes_its_size(guest, monkeypatch):
    monkeypatch.setattr(attached, "_REVERT_SECONDS", 0.0)
    env = made(guest, guest.revert)
    env.reset(seed=0)
    monkeypatch.setattr("osworld_server_stand_in.SCREEN", (640, 480))
    *_, info = env.step("pyautogui.write('plum')")
    assert (info["outcome"], info["error"] or info["agent_crash"]) == (
        Verdict.FAILURE,
        "the screen has 640 by 480 pixels now",
    )
    assert json.dumps(info)
