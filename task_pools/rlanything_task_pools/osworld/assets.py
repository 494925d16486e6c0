"""Cache directory of remote files of tasks, filled by ``rlanything desktop fetch-assets`` and read offline later."""

import base64
import binascii
import contextlib
import fcntl
import hashlib
import http.client
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rlanything_task_pools.osworld.payload import Payload
from rlanything_verifiers.osworld import evaluator_urls

__all__ = ["VARIABLE", "AssetError", "Assets", "asset_urls", "inline", "inline_url"]

VARIABLE = "RLANYTHING_ASSETS"
"""Environment variable with the directory of the cache."""

COMMAND = "rlanything desktop fetch-assets TASK..."
BLOCK = 1 << 18
"""Bytes read at once."""
TRIES = 4
PATIENCE = 60.0
"""Timeout of a server in seconds."""
REMOTE = ("http", "https")
LARGEST = 4 << 30
"""Bytes of a file that is downloaded; the largest of a published task has some 100 million."""

Progress = Callable[[str, int, int | None], None]
"""Called with the URL, the bytes that are there and the bytes there will be, if known."""


class AssetError(RuntimeError):
    """A file of a task is not available, which is no evidence about the agent."""


class Assets:
    """The files that tasks name by URL.

    ``http(s):`` files are kept under ``files/``, ``asset:NAME`` is a file that the user puts under ``own/``, ``file:``
    is one anywhere in the directory, and ``data:`` carries its content itself. A task file is untrusted: nothing
    outside the directory is read.

    Args:
        directory: The cache; ``$RLANYTHING_ASSETS`` or ``~/.cache/rlanything/osworld`` by default.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        chosen = directory or os.environ.get(VARIABLE) or Path.home() / ".cache" / "rlanything" / "osworld"
        self.directory = Path(chosen).expanduser().absolute()

    def path(self, url: str) -> Path:
        """Where the file of a URL is, or would be.

        Raises:
            AssetError: The URL has no place in the cache.
        """
        scheme, _, rest = url.partition(":")
        try:
            address = urllib.parse.unquote(urllib.parse.urlsplit(url).path)
        except ValueError as error:
            raise AssetError(f"{_short(url)}: {error}") from None
        match scheme.lower():
            case "http" | "https":
                digest = hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:24]
                last = address.rpartition("/")[2]
                name = re.sub(r"[^A-Za-z0-9._-]+", "_", last)[-80:].lstrip(".") or "file"
                return self.directory / "files" / f"{digest}_{name}"
            case "asset":
                return self._inside(self.directory / "own" / rest, url)
            case "file":
                return self._inside(Path(address), url)
        raise AssetError(f"{_short(url)}: expected a URL that begins with http:, https:, asset:, file: or data:")

    def read(self, url: str) -> bytes:
        """The content of a file; nothing is downloaded.

        Raises:
            AssetError: It is not in the cache, the URL has no place there, or its data is malformed.
        """
        if url[:5].lower() == "data:":
            return inline(url)
        path = self.path(url)
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise _missing(url, path) from None
        except OSError as error:
            raise _missing(url, path, str(error)) from error

    def missing(self, urls: Iterable[str]) -> list[str]:
        """The remote files among these that are not in the cache, each once."""
        remote = [url for url in dict.fromkeys(urls) if url.partition(":")[0].lower() in REMOTE]
        return [url for url in remote if not self.path(url).is_file()]

    def lacks(self, url: str) -> bool:
        """Whether a file, remote or not, is not where `read` looks for it."""
        try:
            return not self.path(url).is_file()
        except AssetError:
            return True

    def fetch(self, urls: Iterable[str], progress: Progress | None = None) -> list[Path]:
        """Download what is missing; a download that was cut off goes on where it was.

        Args:
            urls: Files to have; what is no remote file is passed over.
            progress: Called for each block.

        Returns:
            The paths of the files that were downloaded.

        Raises:
            AssetError: A file could not be downloaded; those before it are kept, and so is its beginning.
        """
        made = []
        for url in self.missing(urls):
            path = self.path(url)
            path.parent.mkdir(parents=True, exist_ok=True)
            with _only_one(path.parent):
                if not path.is_file():
                    _download(url, path, progress)
                    made.append(path)
        return made

    def _inside(self, path: Path, url: str) -> Path:
        real = Path(os.path.realpath(path)) if "\0" not in str(path) else None
        if real is None or not real.is_relative_to(os.path.realpath(self.directory)):
            raise AssetError(f"{_short(url)} is outside of the asset directory {self.directory}; copy the file into it")
        return real


def inline(url: str) -> bytes:
    """The content of a ``data:`` URL.

    Raises:
        AssetError: It is not such a URL, or malformed.
    """
    head, comma, body = url.partition(",")
    if not comma or head[:5].lower() != "data:":
        raise AssetError(f"{_short(url)} is not a data: URL")
    if not head.lower().endswith(";base64"):
        return urllib.parse.unquote_to_bytes(body)
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise AssetError(f"{_short(url)}: {error}") from None


def inline_url(data: bytes) -> str:
    """The ``data:`` URL of a content."""
    return "data:;base64," + base64.b64encode(data).decode()


def asset_urls(payload: Payload) -> list[str]:
    """The files that a task names, in set-up and evaluators, each once; those it carries itself aside."""
    found = [url for step in payload.config for url in _step_urls(step.type, step.parameters)]
    for evaluator in payload.evaluators.values():
        found.extend(evaluator_urls(evaluator))
        steps = evaluator.get("postconfig", ())
        for step in steps if isinstance(steps, list | tuple) else ():
            if isinstance(step, Mapping):
                found.extend(_step_urls(step.get("type"), step.get("parameters")))
    return [url for url in dict.fromkeys(found) if url[:5].lower() != "data:"]


def _step_urls(kind: object, parameters: object) -> list[str]:
    if kind != "download" or not isinstance(parameters, Mapping):
        return []
    files: Any = parameters.get("files")
    found = [file.get("url") for file in files if isinstance(file, Mapping)] if isinstance(files, list | tuple) else []
    return [url for url in found if isinstance(url, str)]


def _download(url: str, path: Path, progress: Progress | None) -> None:
    last: Exception | None = None
    for number in range(TRIES):
        if number:
            time.sleep(0.2 * 4**number)
        try:
            return _attempt(url, path, progress)
        except urllib.error.HTTPError as error:
            if error.code not in (408, 416, 429) and error.code < 500:
                raise AssetError(f"{_short(url)}: the server answers {error.code} {error.reason}") from None
            last = error
        except (OSError, http.client.HTTPException) as error:
            last = error
        except ValueError as error:
            raise AssetError(f"{_short(url)}: {error}") from None
    raise AssetError(f"{_short(url)} could not be downloaded ({last!r:.200}); run the command again to go on") from last


def _attempt(url: str, path: Path, progress: Progress | None) -> None:
    """One request for the rest of a file; its beginning and its version are stored next to it."""
    part, mark = path.with_name(path.name + ".part"), path.with_name(path.name + ".version")
    version = mark.read_text() if mark.exists() else ""
    have = part.stat().st_size if part.exists() and version else 0
    headers = {"User-Agent": "rlanything", "Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": version}
    try:
        request = urllib.request.Request(url, headers=headers)  # `missing` lets http and https through alone
        answer = urllib.request.urlopen(request, timeout=PATIENCE)  # nosec B310
    except urllib.error.HTTPError as error:
        if error.code == 416:  # more is there than the server has: begin again
            part.unlink(missing_ok=True)
        raise
    with answer:
        if answer.status != 206:
            have = 0
            # A strong validator alone tells that the rest is that of the same file.
            tag = answer.headers.get("ETag", "")
            mark.write_text(tag if tag and not tag.startswith("W/") else "")
        length = answer.headers.get("Content-Length", "")
        total = have + int(length) if length.isdigit() else None
        with part.open("ab" if have else "wb") as file:
            while block := answer.read(BLOCK):
                file.write(block)
                have += len(block)
                if have > LARGEST:
                    raise AssetError(f"{_short(url)}: more than {LARGEST} bytes; download it yourself, or leave it")
                if progress is not None:
                    progress(url, have, total)
    if total is not None and have != total:
        raise OSError(f"{have} of {total} bytes came")
    part.replace(path)
    mark.unlink(missing_ok=True)


@contextlib.contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """A lock: one process downloads at a time; the others wait and find its files."""
    with (folder / ".lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _missing(url: str, path: Path, reason: str = "") -> AssetError:
    """The error of a file that is not in the cache, with the command that fetches it."""
    remedy = f"fetch it with: {COMMAND}" if url.partition(":")[0].lower() in REMOTE else "put it there"
    return AssetError(f"{_short(url)} is not at {path}{': ' if reason else ''}{reason}; {remedy}")


def _short(url: str) -> str:
    return repr(url if len(url) <= 200 else url[:200] + "...")
