"""A mirror of Debian's archive: found in the machine's own package configuration, asked, and checked."""

from __future__ import annotations

import hashlib
import http.client
import lzma
import os
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from rlanything_envs.osworld.desktop.errors import DesktopError, NotPrepared
from rlanything_envs.osworld.desktop.root.index import Index, paragraphs, parse_index

__all__ = ["VARIABLE", "Gone", "Mirror", "configured", "find_mirror"]

VARIABLE = "RLANYTHING_DEBIAN_MIRROR"
"""Addresses of mirrors, separated by spaces."""
_CODENAME = "bookworm"
_SCHEMES = ("http://", "https://", "file:/")
_SECONDS = 60.0
_TRIES = 4
_BLOCK = 1 << 18
_LARGEST_RELEASE, _LARGEST_INDEX = 4 << 20, 256 << 20
_DEB_LINE = re.compile(r"deb[ \t]+(?:\[[^\]]*\][ \t]*)?([^ \t]+)[ \t]")

Verifier = Callable[[bytes], bytes]
"""Gives the signed part of a signed text; raises `DesktopError` where the signature is not Debian's."""


class Gone(DesktopError):
    """The mirror has no such file."""


def configured(folder: Path = Path("/etc/apt")) -> list[str]:
    """Addresses of archives in a package configuration of apt, in both of its formats."""
    lists = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*.list"))]
    found = [
        match[1] for file in lists for line in _read(file).splitlines() if (match := _DEB_LINE.match(line.strip()))
    ]
    for file in sorted((folder / "sources.list.d").glob("*.sources")):
        for fields in paragraphs(_read(file)):
            if "deb" in fields.get("types", "").split() and fields.get("enabled", "yes").lower() not in ("no", "false"):
                found += fields.get("uris", "").split()
    return [address.rstrip("/") for address in dict.fromkeys(found) if address.startswith(_SCHEMES)]


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def find_mirror(given: Iterable[str] = ()) -> Mirror:
    """The first archives that have Debian 12 and its security updates.

    Args:
        given: addresses; else those of the environment variable, else those of the machine's own configuration.

    Raises:
        DesktopError: none has.
    """
    named = list(given) or os.environ.get(VARIABLE, "").split()
    addresses = [address.rstrip("/") for address in named] or configured()
    wrong = [address for address in addresses if not address.startswith(_SCHEMES)]
    if wrong:
        raise NotPrepared(f"{wrong[0]!r:.200} is not the address of a mirror: use http:, https: or file:")
    addresses = list(dict.fromkeys([*addresses, *(f"{address}-security" for address in addresses)]))
    places = {}
    for suite in (_CODENAME, f"{_CODENAME}-security"):
        has = (address for address in addresses if _has(address, suite))
        places[suite] = next(has, None)
    main, security = places.values()
    if main is None or security is None:
        where = "given mirrors" if named else "machine's package configuration (/etc/apt)"
        lacks = f"Debian 12 ({_CODENAME})" if main is None else f"its security updates ({_CODENAME}-security)"
        raise DesktopError(
            f"no archive in the {where} has {lacks}: name a mirror of Debian with --mirror URL or ${VARIABLE}, such as "
            "http://HOST/debian, and --mirror URL again for its security archive where that is not http://HOST/debian-security"
        )
    return Mirror(main, security)


def _has(address: str, suite: str) -> bool:
    try:
        return fetch(f"{address}/dists/{suite}/InRelease", _LARGEST_RELEASE, tries=1).startswith(b"-----BEGIN PGP")
    except DesktopError:
        return False


class Mirror:
    """Debian's archive and that of its security updates.

    Args:
        main, security: their addresses.
    """

    def __init__(self, main: str, security: str) -> None:
        self.main, self.security = main, security

    def download(self, file: str, size: int, sha256: str, to: Path) -> None:
        """Store a file, unless it is there already.

        Args:
            file: its name in the archive.
            size, sha256: what it must have.
            to: where it is stored when it has been checked.

        Raises:
            Gone: the mirror has no such file.
            DesktopError: it is another file, or the mirror does not answer.
        """
        if to.is_file() and to.stat().st_size == size and hashlib.sha256(to.read_bytes()).hexdigest() == sha256:
            return
        base = self.security if file.startswith("pool/updates/") else self.main
        content = fetch(f"{base}/{file}", size)
        if len(content) != size or hashlib.sha256(content).hexdigest() != sha256:
            raise DesktopError(f"{base}/{file} is not the pinned file (SHA-256 {sha256}): choose another mirror")
        part = to.with_name(f"{to.name}.part")
        part.write_bytes(content)
        part.replace(to)

    def index(self, verify: Verifier) -> tuple[Index, str]:
        """The packages of today for the one supported architecture, from signed indexes, and the newest index's date.

        Raises:
            DesktopError: an index is not signed by Debian, or is not the one that was signed.
        """
        stanzas, dates = [], []
        suites = ((self.main, _CODENAME), (self.main, f"{_CODENAME}-updates"), (self.security, f"{_CODENAME}-security"))
        for base, suite in suites:
            release = next(paragraphs(verify(fetch(f"{base}/dists/{suite}/InRelease", _LARGEST_RELEASE)).decode()), {})
            if (
                release.get("codename") != suite
                or "main" not in release.get("components", "").replace("/", " ").split()
            ):
                raise DesktopError(
                    f"{base}/dists/{suite}/InRelease is signed, but is of {release.get('codename')!r:.80}"
                )
            dates.append(release.get("date", ""))
            name = "main/binary-amd64/Packages"
            packed, plain = (_signed(release, each, suite) for each in (f"{name}.xz", name))
            content = fetch(f"{base}/dists/{suite}/{name}.xz", packed[1])
            if hashlib.sha256(content).hexdigest() != packed[0]:
                raise DesktopError(f"{base}/dists/{suite}/{name}.xz is not the index that was signed: try again later")
            text = lzma.LZMADecompressor(memlimit=_LARGEST_INDEX).decompress(content, max_length=plain[1])
            stanzas += list(parse_index(text.decode()))
        return Index(stanzas), max(dates, key=_day)


def _signed(release: dict[str, str], name: str, suite: str) -> tuple[str, int]:
    """SHA-256 and size of an index."""
    words = iter(release.get("sha256", "").split())
    for digest, size, file in zip(words, words, words, strict=False):
        if file == name and size.isdecimal() and int(size) <= _LARGEST_INDEX:
            return digest, int(size)
    raise DesktopError(f"the signed list of {suite} has no {name} that can be read")


def _day(date: str) -> float:
    try:
        return time.mktime(time.strptime(date, "%a, %d %b %Y %H:%M:%S UTC"))
    except ValueError:
        return 0.0


def fetch(url: str, most: int, tries: int = _TRIES) -> bytes:
    """The content of a URL, through the proxies of the environment.

    Args:
        url: http, https or file.
        most: bytes that are read; more than that is no answer.
        tries: how often to ask where the mirror fails.

    Raises:
        Gone: there is no such file.
        DesktopError: no answer, or a longer one.
    """
    for number in range(tries):
        if number:
            time.sleep(0.2 * 4**number)
        try:
            request = urllib.request.Request(url, headers={"User-Agent": "rlanything"})
            with urllib.request.urlopen(request, timeout=_SECONDS, context=_tls()) as answer:  # nosec B310 # mirrors
                content = b"".join(_blocks(answer, most))
            if len(content) > most:
                raise DesktopError(f"{url} is longer than {most} bytes")
            return content
        except urllib.error.HTTPError as error:
            if error.code in (404, 410):
                raise Gone(f"{url} is not there") from None
            failure: Exception = error
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(getattr(error, "reason", error), FileNotFoundError):
                raise Gone(f"{url} is not there") from None
            failure = error
    raise DesktopError(f"{url} could not be read: {failure}")


def _blocks(answer: http.client.HTTPResponse, most: int) -> Iterator[bytes]:
    left = most + 1
    while left > 0 and (block := answer.read(min(_BLOCK, left))):
        left -= len(block)
        yield block


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """Python reads ``SSL_CERT_FILE`` itself; many machines of institutes set only the other variable."""
    context = ssl.create_default_context()
    if bundle := os.environ.get("REQUESTS_CA_BUNDLE"):
        context.load_verify_locations(bundle)
    return context
