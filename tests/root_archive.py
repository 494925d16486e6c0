"""Hand-made packages, and a mirror that serves them."""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rlanything_envs.osworld.desktop.root.pins import DESKTOP, Pin, Pins


def deb(
    *entries: tarfile.TarInfo | tuple[tarfile.TarInfo, bytes],
    pack: Callable[[bytes], bytes] = lzma.compress,
    name: str = "data.tar.xz",
) -> bytes:
    """A package of these entries."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for each in entries:
            info, content = each if isinstance(each, tuple) else (each, b"")
            tar.addfile(info, io.BytesIO(content))
    data = b"!<arch>\n"
    for member, content in (("debian-binary", b"2.0\n"), ("control.tar.xz", b"x"), (name, pack(archive.getvalue()))):
        head = f"{member:16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        data += head + content + b"\n" * (len(content) % 2)
    return data


def package(name: str, version: str = "1", text: str = "") -> tuple[Pin, bytes]:
    """A package with one file, and its pin."""
    info = tarfile.TarInfo(f"./usr/share/{name}/version")
    content = f"{name} {version}{text}".encode()
    info.size = len(content)
    data = deb((info, content))
    pin = Pin(name, version, hashlib.sha256(data).hexdigest(), len(data), f"pool/main/{name}_{version}.deb")
    return pin, data


def pins_of(*packages: tuple[Pin, bytes]) -> Pins:
    """A list of these packages."""
    return Pins("today", {DESKTOP: tuple(pin for pin, _ in packages)})


class Archive:
    """Files of an archive by name, and the names that were asked for."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files, self.asked, self.address = files, list[str](), ""

    @classmethod
    def of(cls, *packages: tuple[Pin, bytes]) -> Archive:
        """An archive with packages and the two signed lists, whose signatures nobody checks."""
        files = {pin.file: data for pin, data in packages}
        signed = b"-----BEGIN PGP SIGNED MESSAGE-----\n"
        suites = ("bookworm", "bookworm-updates", "bookworm-security")
        return cls({**files, **{f"dists/{suite}/InRelease": signed for suite in suites}})


@contextmanager
def served(archive: Archive) -> Iterator[Archive]:
    """Serve an archive at its `address`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.lstrip("/")
            archive.asked.append(name)
            content = archive.files.get(name)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    archive.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield archive
    finally:
        server.shutdown()
        server.server_close()
