"""What a desktop that an agent has used may hold and answer: files, trees, screens, replies; and what looks at it."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from fuzz_table import Target, as_text, of_file, of_json, of_text
from fuzz_tasks import OSWORLD

from rlanything_envs.message import Image
from rlanything_envs.osworld.accessibility import linearise, read_elements
from rlanything_envs.osworld.desktop.client import GuestClient
from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.guest.framebuffer import Framebuffer
from rlanything_envs.osworld.desktop.guest.multipart import parse_multipart
from rlanything_envs.osworld.desktop.observation import GuestOutput
from rlanything_envs.osworld.desktop.transport import Response, Transport
from rlanything_envs.osworld.kept import KeptGuest, NotKept, Recorder
from rlanything_envs.osworld.setup import check_steps
from rlanything_task_pools import get_domain
from rlanything_task_pools.osworld import HELD_OUT, KINDS
from rlanything_task_pools.task import TaskFormatError
from rlanything_verifiers.osworld import EvaluatorError, check_evaluator, evaluate
from rlanything_verifiers.osworld.archives import members
from rlanything_verifiers.osworld.database import query
from rlanything_verifiers.osworld.errors import Unreadable
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.opening import document, html, image, package, presentation, workbook, xml
from rlanything_verifiers.osworld.sound import read_tags
from rlanything_verifiers.osworld.structured import read_json, read_yaml
from rlanything_verifiers.osworld.word import highlighted_texts, paragraph_texts

__all__ = ["TARGETS"]


# -- replies of a guest --------------------------------------------------------------------------------------------


class _Answering(Transport):
    """A guest that has one answer to everything but who it is."""

    def __init__(self, body: bytes, status: int, own: bool) -> None:
        super().__init__("http://127.0.0.1:9")
        self._answer = Response(status, body, {"X-Width": as_text(body[:8]), "X-Height": "1"})
        self._hello = Response(200, json.dumps({"server": "rlanything-guest", "version": 1, "screen": [2, 2]}).encode())
        self._own = own

    def once(self, method: str, path: str, body: bytes | None, headers: dict[str, str], timeout: float) -> Response:
        return self._hello if path == "/healthz" and self._own else self._answer


def _replies(content: bytes) -> None:
    for status, own in ((200, True), (200, False), (500, True)):
        client = GuestClient("http://127.0.0.1:9")
        client.transport = _Answering(content, status, own)
        for ask in (
            client.health,
            client.screenshot_array,
            client.screenshot,
            client.accessibility_tree,
            client.terminal_output,
            lambda client=client: client.observe(True, True, True),
            client.screen_size,
            lambda client=client: client.window_size("x"),
            client.cursor_position,
            client.platform,
            client.desktop_path,
            lambda client=client: client.act("x"),
            lambda client=client: client.run_python("x"),
            lambda client=client: client.run_bash_script("x"),
            lambda client=client: client.launch("x"),
            lambda client=client: client.read_file("x"),
            lambda client=client: client.list_directory("x"),
            client.wallpaper,
        ):
            try:
                ask()
            except DesktopError:
                continue


def _screens() -> list[bytes]:
    from PIL import Image

    found = []
    for kind in ("PNG", "JPEG"):
        data = io.BytesIO()
        Image.new("RGB", (4, 4)).save(data, kind)
        found.append(data.getvalue())
    return found


REPLIES = (
    b'{"output": "a", "error": "", "returncode": 0, "return_code": 0, "status": "success"}',
    b'{"width": 2, "height": 2, "AT": "<desktop-frame/>", "desktop_path": "/home/user/Desktop"}',
    b'{"directory_tree": {"type": "directory", "name": "x", "children": []}}',
    b'{"screenshot": {"width": 1, "height": 1}, "accessibility_tree": "<a/>", "terminal": null}\nabcd',
    b"[10, 20]",
    b'{"server": "rlanything-guest", "version": 1, "screen": [1920, 1080]}',
)


# -- evaluators on a hostile desktop -------------------------------------------------------------------------------


@dataclass
class _Desk:
    """A desktop whose every file, printed text and tree is the content."""

    content: bytes

    def read_file(self, path: str) -> bytes | None:
        return self.content

    def execute(self, command: Sequence[str] | str, *, shell: bool = False) -> GuestOutput:
        text = as_text(self.content)
        return GuestOutput(text, text, 0)

    def list_directory(self, path: str) -> dict[str, Any] | None:
        try:
            value = json.loads(self.content)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else {"children": value}

    def accessibility_tree(self) -> str:
        return as_text(self.content)

    def terminal_output(self) -> str | None:
        return as_text(self.content)

    def wallpaper(self) -> bytes | None:
        return self.content

    def screen_size(self) -> tuple[int, int]:
        return 1920, 1080

    def window_size(self, app_class_name: str) -> tuple[int, int] | None:
        return 10, 20

    def desktop_path(self) -> str:
        return as_text(self.content)


class _Carried:
    """The files that tasks carry themselves."""

    def read(self, url: str) -> bytes:
        from rlanything_task_pools.osworld.assets import inline

        return inline(url)


@cache
def _evaluators() -> tuple[Mapping[str, Any], ...]:
    """One of each kind of generated task, and some of each getter that takes text."""
    domain = get_domain("osworld")
    tasks = [domain.generate(3, "valid_unseen" if kind in HELD_OUT else "train", kinds=[kind]) for kind in KINDS]
    found = [json.loads(json.dumps(next(iter(task.payload["evaluators"].values())), default=dict)) for task in tasks]
    return (*found, *LOOKS)


LOOKS: tuple[Mapping[str, Any], ...] = (
    {
        "func": "check_gnome_favorite_apps",
        "result": {"type": "vm_command_line", "command": "x"},
        "expected": {"type": "rule", "rules": {"expected": ["a"]}},
    },
    {
        "func": "check_moved_jpgs",
        "result": {"type": "list_directory", "path": "/x"},
        "expected": {"type": "rule", "rules": {"expected": ["a.jpg"]}},
    },
    {
        "func": "check_accessibility_tree",
        "result": {"type": "accessibility_tree"},
        "expected": {"type": "rule", "rules": [{"selectors": ["application[name=Thunderbird]"], "text": "a"}]},
    },
    {
        "func": "check_direct_json_object",
        "result": {"type": "vm_command_line", "command": "x"},
        "expected": {"type": "rule", "rules": {"expected": {"a": 1}, "ignore_list_order": True}},
    },
    {
        "func": "exact_match",
        "result": {"type": "shortcuts_on_desktop", "dest": "x"},
        "expected": {"type": "rule", "rules": {"expected": {"a": 1}}},
    },
    *(
        {
            "func": "exact_match",
            "result": {"type": kind, "dest": "x"},
            "expected": {"type": "rule", "rules": {"expected": "x"}},
        }
        for kind in ("default_video_player", "default_search_engine", "profile_name", "vm_terminal_output")
    ),
    {
        "func": "exact_match",
        "result": {"type": "active_url_from_accessTree"},
        "expected": {"type": "rule", "rules": {"expected": "x"}},
    },
    {
        "func": "exact_match",
        "result": {"type": "active_tab_url_parse", "parse_keys": ["a"]},
        "expected": {"type": "rule", "rules": {"expected": "x"}},
    },
    {
        "func": "exact_match",
        "result": {"type": "active_tab_html_parse", "category": "xpath", "xpathObject": {"//a": "b"}},
        "expected": {"type": "rule", "rules": {"expected": "x"}},
    },
    {
        "func": "exact_match",
        "result": {"type": "active_tab_info"},
        "expected": {"type": "rule", "rules": {"expected": "x"}},
    },
    {
        "func": "exact_match",
        "result": {"type": "content_from_vm_file", "path": "x", "file_type": "xlsx", "file_content": "last_row"},
        "expected": {"type": "rule", "rules": {"expected": "x"}},
    },
)


def _scores(content: bytes) -> None:
    desk = _Desk(content)
    for evaluator in _evaluators():
        assert 0.0 <= evaluate(evaluator, desk, last_action="DONE", files=_Carried()) <= 1.0


def _printed() -> list[bytes]:
    return [
        b"['a', 'b']",
        b'{"a": 1, "children": [{"name": "a.jpg"}]}',
        b"<desktop-frame><a name='x'/></desktop-frame>",
    ]


def _kept(content: bytes) -> None:
    guest = KeptGuest(content)
    for evaluator in _evaluators():
        with suppress(NotKept):
            assert 0.0 <= evaluate(evaluator, guest, last_action="DONE", files=_Carried()) <= 1.0


def _keeping() -> list[bytes]:
    recorder = Recorder(_Desk(_printed()[0]))
    for evaluator in _evaluators()[:12]:
        evaluate(evaluator, recorder, last_action="DONE", files=_Carried())
    return [recorder.to_json("DONE")]


# -- files ---------------------------------------------------------------------------------------------------------


def _opened(content: bytes) -> None:
    """One file, opened in every way there is; each refuses it or reads it."""
    file = File("file", content)
    for open_ in (
        package,
        xml,
        html,
        image,
        read_json,
        read_yaml,
        members,
        read_tags,
        document,
        paragraph_texts,
        highlighted_texts,
        presentation,
        lambda file: workbook(file, True),
        lambda file: query(file, "SELECT * FROM sqlite_master"),
    ):
        try:
            open_(file)
        except Unreadable:
            continue


def _documents() -> list[bytes]:
    import docx
    import openpyxl
    import pptx

    found = [*_screens(), _database(), b"<a><b c='d'>e</b></a>", b'{"a": [1, 2]}', b"a: [1, 2]\n"]
    for made in (docx.Document(), pptx.Presentation(), openpyxl.Workbook()):
        data = io.BytesIO()
        made.save(data)
        found.append(data.getvalue())
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        entry = tarfile.TarInfo("a/b.txt")
        entry.size = 3
        tar.addfile(entry, io.BytesIO(b"abc"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("a/b.txt", "abc")
    return [*found, archive.getvalue(), gzip.compress(archive.getvalue(), mtime=0), packed.getvalue()]


def _database() -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE a (b TEXT)")
        connection.execute("INSERT INTO a VALUES ('c')")
        return connection.serialize()


def _screen_file() -> list[bytes]:
    import struct

    fields = [0] * 25
    fields[0], fields[4], fields[5], fields[11], fields[12] = 100, 2, 2, 32, 8
    return [struct.pack(">25I", *fields) + bytes(16)]


def _tree(text: str) -> None:
    read_elements(text)
    linearise(text).encode()


TREE = b"""<desktop-frame xmlns:st="https://accessibility.ubuntu.example.org/ns/state"
 xmlns:cp="https://accessibility.ubuntu.example.org/ns/component"><application name="a"><push-button name="b"
 st:enabled="true" st:visible="true" st:showing="true" cp:screencoord="(1, 2)" cp:size="(3, 4)">c</push-button>
 </application></desktop-frame>"""

FORM = (
    b'--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\nc\r\n'
    b'--x\r\nContent-Disposition: form-data; name="d"\r\n\r\ne\r\n--x--\r\n'
)

TARGETS = (
    Target("accessibility tree", of_text(_tree), (), lambda: [TREE]),
    Target("replies of a guest", _replies, (), lambda: [*REPLIES, *_screens()]),
    Target("scores of a desktop", _scores, (), _printed, effort=30),
    Target("kept results of a desktop", _kept, (NotKept,), _keeping, effort=30),
    Target("file of a desktop", _opened, (), _documents, effort=60),
    Target(
        "screen of a desktop", of_file("Xvfb_screen0", lambda path: Framebuffer(path).read()), (OSError,), _screen_file
    ),
    Target(
        "image of a message",
        lambda content: Image(content).pixels,
        (ValueError,),
        lambda: [Image(np.arange(60, dtype=np.uint8).reshape(4, 5, 3)).png],
    ),
    Target(
        "form of a guest",
        lambda content: parse_multipart("multipart/form-data; boundary=x", content),
        (ValueError,),
        lambda: [FORM],
    ),
    Target(
        "evaluator", of_json(check_evaluator), (EvaluatorError,), lambda: [json.dumps(OSWORLD["evaluator"]).encode()]
    ),
    Target(
        "set-up step",
        of_json(lambda value: check_steps([value], "config")),
        (TaskFormatError,),
        lambda: [json.dumps(step).encode() for step in STEPS],
    ),
)

STEPS: tuple[dict[str, Any], ...] = (
    {"type": "download", "parameters": {"files": [{"url": "https://a.example/b", "path": "/home/user/b"}]}},
    {"type": "execute", "parameters": {"command": "ls", "shell": True, "until": {"returncode": 0}}},
    {"type": "sleep", "parameters": {"seconds": 1.5}},
    {"type": "write_file", "parameters": {"path": "~/a", "base64": "YQ=="}},
)
