"""Set-up steps inside the browser: tabs through its debugging port, its history through its database.

All of it runs in the guest: whatever the backend, the port is on the guest's loopback interface alone.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlanything_envs.osworld.desktop.errors import DesktopError, GuestRefusal
from rlanything_envs.osworld.desktop.protocol import Client

__all__ = ["add_history", "close_tabs", "open_tabs"]

_TABS = """\
import json, sys, time, urllib.parse, urllib.request

PORTS = (1337, 9222)  # the port that published tasks start the browser with, and the one they forward it to


def ask(path, method="GET"):
    error = None
    for port in PORTS:
        try:
            request = urllib.request.Request(f"http://127.0.0.1:{{port}}{{path}}", method=method)
            with urllib.request.urlopen(request, timeout=5) as answer:
                return answer.read().decode()
        except OSError as failure:
            error = failure
    raise error


def pages():
    return [page for page in json.loads(ask("/json/list")) if page.get("type") == "page"]


def same(one, other):
    return one.rstrip("/").removeprefix("https://").removeprefix("http://") == \\
        other.rstrip("/").removeprefix("https://").removeprefix("http://")


end = time.monotonic() + 20
while True:
    try:
        before = pages()
        break
    except OSError as error:
        if time.monotonic() > end:
            sys.exit(f"the browser does not answer on its debugging port: {{error}}")
        time.sleep(0.2)
wanted = json.loads({urls!r})
if {opening!r}:
    for url in wanted:
        ask("/json/new?" + urllib.parse.quote(url, safe=""), "PUT")
    for page in before:
        if page.get("url") in ("about:blank", "chrome://newtab/", "chrome://new-tab-page/"):
            ask("/json/close/" + page["id"])
else:
    for page in before:
        if any(same(page.get("url", ""), url) for url in wanted):
            ask("/json/close/" + page["id"])
"""

_PROFILE = "~/.config/google-chrome/Default"
_MAKE_PROFILE = f"""
test -s {_PROFILE}/History && exit
google-chrome --headless=new about:blank >/dev/null 2>&1 &
browser=$!
for i in $(seq 150); do test -s {_PROFILE}/History && break; sleep 0.2; done
sleep 1
kill $browser
wait $browser
test -s {_PROFILE}/History
"""
"""Lets the browser create its history where there is none, with the tables of its version."""

_EPOCH = 11_644_473_600
"""Seconds from 1601, where the browser's clock begins, to 1970."""

_PATIENCE = 10_000_000
"""Limit on SQLite's virtual machine instructions of a write, a second or two; a visit takes some hundred."""


def open_tabs(client: Client, urls: Sequence[str]) -> None:
    """Open each address in a tab of the running browser; the empty tab it began with is closed.

    Raises:
        GuestRefusal: no browser answers on the debugging port.
    """
    _tabs(client, urls, opening=True)


def close_tabs(client: Client, urls: Sequence[str]) -> None:
    """Close the tabs with these addresses.

    Raises:
        GuestRefusal: no browser answers on the debugging port.
    """
    _tabs(client, urls, opening=False)


def _tabs(client: Client, urls: Sequence[str], *, opening: bool) -> None:
    code = _TABS.format(urls=json.dumps(list(urls)), opening=opening)
    if (done := client.run_python(code)).returncode != 0:
        said = (done.error or done.output).strip().splitlines()[-1:] or ["no message"]
        raise GuestRefusal(f"the tabs of the browser: {said[0]}")


def add_history(client: Client, visits: Sequence[Mapping[str, Any]]) -> None:
    """Write visits into the history of the browser, which must not be running.

    Args:
        client: the desktop.
        visits: ``url``, ``title`` and ``visit_time_from_now_in_seconds`` of each.

    Raises:
        GuestRefusal: there is no browser, or its history cannot be read.
    """
    done = client.execute(_MAKE_PROFILE, shell=True, timeout=60)
    path = f"{_PROFILE}/History"
    database = client.read_file(path) if done.returncode == 0 else None
    if database is None:
        raise GuestRefusal("the browser has made no history to write into")
    now = client.execute(["date", "+%s"]).output.strip()
    if not (now.isascii() and now.isdigit() and len(now) < 12):
        raise DesktopError(f"the guest's clock says {now!r:.40}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "History")
        file.write_bytes(database)
        try:
            _insert(file, visits, int(now) + _EPOCH)
        except sqlite3.Error as error:
            raise GuestRefusal(f"the browser's history cannot be written: {error}") from error
        client.upload(path, file.read_bytes())
    # Journals of the old database must not be applied to the new one.
    client.execute(f"rm -f {path}-journal {path}-wal {path}-shm", shell=True)


def _insert(file: Path, visits: Sequence[Mapping[str, Any]], now: int) -> None:
    connection = sqlite3.connect(file)
    try:
        # An agent may have changed the database, for example by triggers that never end.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.set_progress_handler(lambda: 1, _PATIENCE)
        with connection:
            for visit in visits:
                when = (now - visit["visit_time_from_now_in_seconds"]) * 1_000_000
                row = connection.execute(
                    "INSERT INTO urls (url, title, visit_count, typed_count, last_visit_time, hidden) "
                    "VALUES (?, ?, 1, 0, ?, 0)",
                    (visit["url"], visit["title"], when),
                )
                connection.execute(
                    "INSERT INTO visits (url, visit_time, from_visit, transition, segment_id, visit_duration) "
                    "VALUES (?, ?, 0, 805306368, 0, 0)",  # a link that was followed, from beginning to end
                    (row.lastrowid, when),
                )
    finally:
        connection.close()
