"""The asset cache: what is there is read, what is cut off goes on, nothing outside is read."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_task_pools.osworld import AssetError, Assets
from rlanything_task_pools.osworld.assets import inline, inline_url

CONTENT = bytes(range(256)) * 4000


@dataclass
class Site:
    """A server that may cut off, refuse or change its only file."""

    url: str = ""
    content: bytes = CONTENT
    tag: str | None = '"one"'
    cut: int | None = None
    status: int = 200
    ranges: list[str | None] = field(default_factory=list)


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.ranges.append(self.headers.get("Range"))
            if made.status != 200:
                self.send_error(made.status)
                return
            begin = 0
            if self.headers.get("Range") and self.headers.get("If-Range") == made.tag:
                begin = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            if begin >= len(made.content) > 0:
                self.send_error(416)
                return
            self.send_response(206 if begin else 200)
            self.send_header("Content-Length", str(len(made.content) - begin))
            if made.tag:
                self.send_header("ETag", made.tag)
            self.end_headers()
            end = len(made.content) if made.cut is None else begin + made.cut
            made.cut = None
            self.wfile.write(made.content[begin:end])

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_port}/folder/a%20file.xlsx?download=true"
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rlanything_task_pools.osworld.assets.time.sleep", lambda _: None)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_what_is_missing_says_how_to_get_it(tmp_path, site):
    assets = Assets(tmp_path)
    with pytest.raises(AssetError, match="rlanything desktop fetch-assets") as missing:
        assets.read(site.url)
    assert "a_file.xlsx" in str(missing.value)
    assert site.url in str(missing.value)
    assert str(tmp_path) in str(missing.value)
    assert not isinstance(missing.value, ValueError)  # nothing is wrong with the task


def test_fetch_then_read_offline(tmp_path, site):
    assets, told = Assets(tmp_path), []
    made = assets.fetch([site.url, site.url, "data:,x"], lambda url, have, total: told.append((have, total)))
    assert [path.name.endswith("_a_file.xlsx") for path in made] == [True]
    assert told[-1] == (len(CONTENT), len(CONTENT))
    site.status = 500
    assert assets.read(site.url) == CONTENT
    assert assets.fetch([site.url]) == []
    assert len(site.ranges) == 1
    assert sorted(path.name for path in made[0].parent.iterdir()) == [".lock", made[0].name]


def test_what_was_cut_off_goes_on(tmp_path, site):
    site.cut = 700_000
    assert Assets(tmp_path).fetch([site.url])[0].read_bytes() == CONTENT
    assert site.ranges == [None, "bytes=700000-"]


def test_a_killed_download_goes_on_in_another_process(tmp_path, site):
    assets = Assets(tmp_path)
    path = assets.path(site.url)
    path.parent.mkdir(parents=True)
    path.with_name(path.name + ".part").write_bytes(CONTENT[:1000])
    path.with_name(path.name + ".version").write_text('"one"')
    assets.fetch([site.url])
    assert assets.read(site.url) == CONTENT
    assert site.ranges == ["bytes=1000-"]


@pytest.mark.parametrize("tag", ['"two"', 'W/"one"', None])
def test_another_version_begins_again(tmp_path, site, tag):
    """A beginning of one file is never joined to the end of another."""
    assets = Assets(tmp_path)
    path = assets.path(site.url)
    path.parent.mkdir(parents=True)
    path.with_name(path.name + ".part").write_bytes(b"?" * 1000)
    path.with_name(path.name + ".version").write_text('"one"')
    site.tag = tag
    assets.fetch([site.url])
    assert assets.read(site.url) == CONTENT


def test_more_than_there_is_begins_again(tmp_path, site):
    assets = Assets(tmp_path)
    path = assets.path(site.url)
    path.parent.mkdir(parents=True)
    path.with_name(path.name + ".part").write_bytes(CONTENT + b"more")
    path.with_name(path.name + ".version").write_text('"one"')
    assets.fetch([site.url])
    assert assets.read(site.url) == CONTENT


def test_servers_that_fail(tmp_path, site):
    site.status = 404
    with pytest.raises(AssetError, match="answers 404"):
        Assets(tmp_path).fetch([site.url])
    assert len(site.ranges) == 1
    site.status = 503
    with pytest.raises(AssetError, match="could not be downloaded"):
        Assets(tmp_path).fetch([site.url])
    assert len(site.ranges) == 5
    with pytest.raises(AssetError, match="could not be downloaded"):
        Assets(tmp_path).fetch(["http://127.0.0.1:9/x"])


def test_an_empty_file(tmp_path, site):
    site.content = b""
    Assets(tmp_path).fetch([site.url])
    assert Assets(tmp_path).read(site.url) == b""


def test_the_users_own_files(tmp_path):
    assets = Assets(tmp_path)
    (tmp_path / "own" / "gold").mkdir(parents=True)
    (tmp_path / "own" / "gold" / "a.xlsx").write_bytes(b"1")
    assert assets.read("asset:gold/a.xlsx") == b"1"
    assert assets.read(f"file://{tmp_path}/own/gold/a.xlsx") == b"1"
    with pytest.raises(AssetError, match="put it there"):
        assets.read("asset:gold/b.xlsx")


@pytest.mark.parametrize(
    "url",
    [
        "asset:../../etc/passwd",
        "asset:/etc/passwd",
        "file:///etc/passwd",
        "asset:link",
        "asset:a\0b",
        "ftp://x/y",
        "http://[x",
        "passwd",
        "/etc/passwd",
        "",
    ],
)
def test_nothing_outside_is_read(tmp_path, url):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "link").symlink_to("/etc/passwd")
    with pytest.raises(AssetError):
        Assets(tmp_path).read(url)


def test_the_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("RLANYTHING_ASSETS", str(tmp_path / "a"))
    assert Assets().directory == tmp_path / "a"
    monkeypatch.delenv("RLANYTHING_ASSETS")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Assets().directory == tmp_path / ".cache" / "rlanything" / "osworld"
    assert Assets("~/x").directory == tmp_path / "x"


@given(st.text(max_size=300))
def test_any_name_has_one_place_inside(name):
    assets = Assets("/cache")
    path = assets.path("https://host/" + name)
    assert path.parent == assets.directory / "files"
    assert len(path.name) <= 120
    assert path != assets.path("https://host/" + name + "x")


@given(st.binary(max_size=300))
def test_inline(data):
    assert inline(inline_url(data)) == data
    assert Assets("/cache").read(inline_url(data)) == data


@pytest.mark.parametrize("url", ["data:", "data:;base64,%", "data:;base64,a", "http://x"])
def test_inline_that_is_none(url):
    with pytest.raises(AssetError):
        inline(url)


# --- rlanything desktop fetch-assets ---


def test_the_command(tmp_path, site):
    from typer.testing import CliRunner

    from rlanything_agents.tools.cli.desktop import app

    config = [{"type": "download", "parameters": {"files": [{"url": site.url, "path": "/tmp/a.xlsx"}]}}]
    row = {"id": "a", "instruction": "Give up", "config": config, "evaluator": {"func": "infeasible"}}
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "a.json").write_text(json.dumps(row))
    (tmp_path / "tasks" / "broken.json").write_text("{")
    words = ["fetch-assets", str(tmp_path / "tasks"), "--directory", str(tmp_path / "cache")]
    runner = CliRunner()
    listed = runner.invoke(app, [*words, "--dry-run"])
    assert (listed.exit_code, site.ranges) == (0, [])
    assert "1 of 1 files are missing" in listed.output
    assert "passed over" in listed.output
    assert runner.invoke(app, words).exit_code == 0
    assert Assets(tmp_path / "cache").read(site.url) == CONTENT
    again = runner.invoke(app, words)
    assert (again.exit_code, len(site.ranges)) == (0, 1)
    assert "0 of 1 files are missing" in again.output
    site.status = 404
    failed = runner.invoke(app, [*words[:-1], str(tmp_path / "other")])
    assert failed.exit_code == 1
    assert "answers 404" in failed.output
