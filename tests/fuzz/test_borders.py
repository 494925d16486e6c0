"""Borders that a single content does not show: sockets, links, pipes, schemas, and mistakes that were once made."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import sqlite3
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from fuzz_bounds import bounded
from fuzz_tasks import ROWS, task

from rlanything_agents.tools.doctor.run import examine_run
from rlanything_agents.tools.view import Site
from rlanything_agents.tools.view.server import ViewServer
from rlanything_envs.osworld.browser import _insert
from rlanything_envs.osworld.desktop import DesktopError
from rlanything_envs.osworld.desktop import transport as transports
from rlanything_envs.osworld.desktop.client import GuestClient
from rlanything_envs.osworld.desktop.transport import Transport
from rlanything_task_pools import PoolError, TaskPool
from rlanything_task_pools.coding import ImportFormatError, import_tasks
from rlanything_task_pools.osworld import AssetError, Assets, load
from rlanything_task_pools.task import TaskFormatError
from rlanything_verifiers.alfworld import load_game
from rlanything_verifiers.osworld import EvaluatorError, check_evaluator
from rlanything_verifiers.osworld.archives import MAX_TAR, members
from rlanything_verifiers.osworld.errors import Unreadable
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.plain_yaml import YamlError, read_yaml

# -- a guest that somebody else answers for ------------------------------------------------------------------------


@contextmanager
def guest(answer: Callable[[socket.socket], None]) -> Iterator[Transport]:
    """The way to a socket that reads one request at a time and does what it likes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    connection.recv(65536)
                    answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Transport(f"http://127.0.0.1:{listener.getsockname()[1]}")
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)


OK = b"HTTP/1.1 200 OK\r\n"


def endless(connection: socket.socket, head: bytes, piece: bytes) -> None:
    connection.sendall(OK + head)
    while True:
        connection.sendall(piece)


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"\r\n", b"x" * 65536),
        (b"Content-Length: 99999999999999\r\n\r\n", b"x" * 65536),
        (b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * 65536 + b"\r\n"),
        (b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", b"x" * 65536),
        (b"X: ", b"x" * 65536),
    ],
    ids=["until it closes", "a length", "chunks", "a chunk of less than nothing", "a header"],
)
def test_an_answer_without_end_is_given_up(head: bytes, piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transports, "_LARGEST_ANSWER", 1 << 20)
    with (
        guest(lambda connection: endless(connection, head, piece)) as transport,
        bounded(memory=256 << 20),
        pytest.raises(DesktopError),
    ):
        transport.once("GET", "/", None, {}, 30.0)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00" * 100,
        b"HTTP/1.1 ? OK\r\n\r\n",
        OK + b"Content-Length: 10\r\n\r\nabc",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n",
        OK + b"A: b\r\n" * 200 + b"\r\n",
    ],
)
def test_what_is_no_answer_is_an_error_of_the_desktop(answer: bytes) -> None:
    with guest(lambda connection: connection.sendall(answer)) as transport, pytest.raises(DesktopError):
        transport.once("GET", "/", None, {}, 30.0)


def test_an_answer_in_drops_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each drop comes in time; all together would take three weeks."""
    monkeypatch.setattr(transports, "_ARRIVAL", 0.0)
    waiting = threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.sendall(OK + b"Content-Length: 100000000\r\n\r\n")
        while not waiting.wait(0.02):
            connection.sendall(b"x")

    with guest(drip) as transport, pytest.raises(DesktopError, match="no answer within"):
        transport.once("GET", "/", None, {}, 0.5)
    waiting.set()


def test_a_sound_answer_comes_whole() -> None:
    content = os.urandom(3_000_000)
    with guest(lambda connection: connection.sendall(OK + b"Content-Length: 3000000\r\n\r\n" + content)) as transport:
        assert transport.once("GET", "/", None, {}, 30.0).body == content


def test_texts_of_a_guest_can_be_stored() -> None:
    body = b'{"AT": "a\\ud800b", "message": "\\uDFFF"}'
    head = b"Content-Length: %d\r\n\r\n" % len(body)
    with guest(lambda connection: connection.sendall(OK + head + body)) as transport:
        client = GuestClient("http://127.0.0.1:9")
        client.transport = transport
        assert client.accessibility_tree() == "a?b"


# -- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [load_game, load], ids=["game", "task"])
def test_pipes_and_devices_are_not_read(read: Callable[[Path], object], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device"):
        with bounded(), pytest.raises((OSError, TaskFormatError), match="regular"):
            read(tmp_path / name)


def test_pipes_in_a_run_are_not_waited_for(tmp_path: Path) -> None:
    for name in ("config.json", "metrics.jsonl", "stages/before.json", "trajectories/0001.jsonl.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        os.mkfifo(tmp_path / name)
    (tmp_path / "checkpoints" / "0001").mkdir(parents=True)
    os.mkfifo(tmp_path / "checkpoints" / "0001" / "manifest.json")
    with bounded():
        assert not all(finding.good for finding in examine_run(tmp_path))


def test_links_lead_out_of_no_folder_of_problems(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text(json.dumps(ROWS[0]))
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "b.json").write_text(json.dumps(ROWS[1]))
    (folder / "a.json").symlink_to(tmp_path / "secret.json")
    (folder / "c.json").symlink_to("b.json")
    found = import_tasks(folder, prove=False)
    assert len(found.tasks) == 1
    assert "leads out of the folder" in found.rejected[0].reason
    assert "the same task" in found.rejected[1].reason


def test_a_pipe_among_problems_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(ROWS[0]))
    os.mkfifo(tmp_path / "b.json")
    with bounded():
        assert len(import_tasks(tmp_path, prove=False).tasks) == 1


def test_one_row_of_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError):
        import_tasks(tmp_path / "none.json")


def test_a_packed_file_that_is_damaged(tmp_path: Path) -> None:
    content = bytearray(gzip.compress(os.urandom(5000), mtime=0))
    content[10:14] = b"\xff" * 4
    (tmp_path / "rows.json.gz").write_bytes(content)
    with pytest.raises(ImportFormatError, match="cannot be read"):
        import_tasks(tmp_path / "rows.json.gz")


def test_holes_of_a_sparse_archive_are_not_filled() -> None:
    """One kilobyte that stands for ten gigabytes."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
        body = b"1\n0\n1\n".ljust(512, b"\0") + b"x".ljust(512, b"\0")
        entry = tarfile.TarInfo("GNUSparseFile.0/a")
        entry.size = len(body)
        entry.pax_headers = {
            "GNU.sparse.major": "1",
            "GNU.sparse.minor": "0",
            "GNU.sparse.name": "a",
            "GNU.sparse.realsize": str(80 * MAX_TAR),
        }
        tar.addfile(entry, io.BytesIO(body))
    with bounded(memory=256 << 20), pytest.raises(Unreadable, match="a sparse file"):
        members(File("a.tar", archive.getvalue()))


def test_references_in_yaml_count_as_often_as_they_are_used() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with bounded(), pytest.raises(YamlError, match="more than 100000 values"):
        read_yaml("\n".join(lines))
    assert read_yaml("a: &a {b: 1}\nc: *a\n") == {"a": {"b": 1}, "c": {"b": 1}}


@pytest.mark.parametrize(
    "text",
    [
        "!!int ''",
        "!!bool x",
        "!!timestamp x",
        "!!float x",
        "2024-13-45",
        "&a [*a]",
        "[" * 3000,
        "9" * 5000,
        "=",
        "a: b: c",
    ],
)
def test_what_is_no_yaml_has_one_error(text: str) -> None:
    with pytest.raises(YamlError):
        read_yaml(text)


def test_a_download_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rlanything_task_pools.osworld.assets.LARGEST", 1 << 20)
    with (
        guest(lambda connection: endless(connection, b"\r\n", b"x" * 65536)) as transport,
        pytest.raises(AssetError, match="more than 1048576 bytes"),
    ):
        Assets(tmp_path).fetch([f"{transport.url}/a"])
    assert not [path for path in tmp_path.rglob("*_a") if path.is_file()]


# -- databases -----------------------------------------------------------------------------------------------------

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


@pytest.mark.parametrize(
    "change",
    [
        "CREATE VIEW other AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON outcomes BEGIN DELETE FROM tasks; END",
        f"ALTER TABLE slots RENAME TO hidden; CREATE VIEW slots AS {ENDLESS}",
    ],
)
def test_no_pool_brings_code(change: str, tmp_path: Path) -> None:
    path = tmp_path / "pool.sqlite"
    TaskPool.create(path, [task("alfworld")]).close()
    with sqlite3.connect(path) as connection:
        connection.executescript(change)
    connection.close()
    with bounded(), pytest.raises(PoolError, match="views or triggers"):
        TaskPool.open(path)


def test_a_pool_with_damaged_pages(tmp_path: Path) -> None:
    path = tmp_path / "pool.sqlite"
    TaskPool.create(tmp_path / "live.sqlite", [task("alfworld")]).copy(path)
    content = bytearray(path.read_bytes())
    for place in range(4096 * 2, len(content), 4096):  # the head of each page but those of the schema
        content[place : place + 8] = b"\xff" * 8
    path.write_bytes(content)
    with TaskPool.open(path) as pool:
        for ask in (pool.counts, pool.outcomes, lambda: pool.active(0), lambda: pool.versions(0)):
            with pytest.raises(PoolError, match="pool verify"):
                ask()
        assert pool.damage()


def test_a_pool_with_a_column_of_another_name(tmp_path: Path) -> None:
    path = tmp_path / "pool.sqlite"
    TaskPool.create(path, [task("alfworld")]).close()
    with sqlite3.connect(path) as connection:
        connection.executescript("ALTER TABLE versions RENAME COLUMN version TO number")
    connection.close()
    with bounded(), TaskPool.open(path) as pool, pytest.raises(PoolError, match="no such column"):
        pool.active(0)


def test_a_task_that_is_its_own_ancestor(tmp_path: Path) -> None:
    from rlanything_task_pools.records import pack

    one = task("alfworld")
    with TaskPool.create(tmp_path / "pool.sqlite", [one]) as pool:
        pool._rows("UPDATE versions SET lineage = ?", (pack({"parent": one.id, "root": one.id, "rewrite": None}),))
    with bounded(), TaskPool.open(tmp_path / "pool.sqlite") as pool, pytest.raises(PoolError, match="ancestor"):
        pool.lineage(one.id)


def test_a_history_with_a_trigger_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "History"
    with sqlite3.connect(path) as connection:
        names = "url, title, visit_count, typed_count, last_visit_time, hidden"
        connection.execute(f"CREATE TABLE urls ({names})")
        connection.execute("CREATE TABLE visits (url, visit_time, from_visit, transition, segment_id, visit_duration)")
        connection.execute("CREATE TABLE n (x)")
        connection.execute(f"CREATE TRIGGER t AFTER INSERT ON urls BEGIN INSERT INTO n {ENDLESS}; END")
    connection.close()
    visit = {"url": "https://a.example", "title": "", "visit_time_from_now_in_seconds": 1}
    with bounded(30), pytest.raises(sqlite3.OperationalError, match="interrupt"):
        _insert(path, [visit], 1)


# -- patterns ------------------------------------------------------------------------------------------------------


def test_long_wildcards_of_a_task_are_refused() -> None:
    evaluator = {
        "func": "check_libre_locale",
        "result": {"type": "vm_file", "path": "/a", "dest": "a"},
        "expected": {"type": "rule", "rules": {"locale_set": ["[" * 30_000]}},
    }
    with bounded(5), pytest.raises(EvaluatorError, match="200 characters"):
        check_evaluator(evaluator)


# -- the viewer ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_",
    [
        b"GET //[ HTTP/1.1\r\nHost: %s\r\n\r\n",
        b"GET /?" + b"a=b&" * 20 + b" HTTP/1.1\r\nHost: %s\r\n\r\n",
        b"GET /%%00 HTTP/1.1\r\nHost: %s\r\n\r\n",
        b"GET /data/..%%2f..%%2fetc/passwd HTTP/1.1\r\nHost: %s\r\nCookie: \xff;;=\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n%.0s",
        b"\x00\x01\x02\r\n\r\n%.0s",
        b"POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 999999999\r\n\r\n",
    ],
)
def test_the_viewer_answers_rubbish_with_a_status(request_: bytes, tmp_path: Path) -> None:
    (tmp_path / "run" / "stages").mkdir(parents=True)
    (tmp_path / "run" / "config.json").write_text('{"name": "a"}')
    with ViewServer(Site(tmp_path / "run")) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
                connection.sendall(request_ % f"127.0.0.1:{server.port}".encode())
                answer = connection.recv(4096)
        finally:
            server.shutdown()
            thread.join()
    assert b" 4" in answer.split(b"\r\n")[0] or b" 501 " in answer.split(b"\r\n")[0] or b"Error code: 4" in answer
