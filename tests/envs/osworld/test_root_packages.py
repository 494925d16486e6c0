"""Versions, indexes, pinned lists and package files: what is read, and that nothing leaves the folder."""

import lzma
import shutil
import subprocess
import tarfile
import time
from contextlib import suppress

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from root_archive import deb

from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.packages import OPTIONAL, packages
from rlanything_envs.osworld.desktop.root import shipped
from rlanything_envs.osworld.desktop.root.deb import ar_members, unpack
from rlanything_envs.osworld.desktop.root.index import Index, Stanza, paragraphs, parse_index
from rlanything_envs.osworld.desktop.root.pins import DESKTOP, Pin, Pins, read_pins
from rlanything_envs.osworld.desktop.root.versions import satisfies, version_key

RISING = [
    "1.0~~", "1.0~rc1-1", "1.0-1", "1.0-1+b1", "1.0-1.1", "1.0a-1", "1.0+dfsg-1", "1.00.1", "1.2", "1.10",
    "1.10-2~bpo1", "1.10-2", "1:0.1",
]  # fmt: skip


def test_versions_sort_as_a_person_sorts_them():
    assert sorted(sorted(RISING), key=version_key) == RISING
    assert version_key("1.0") == version_key("01.00") == version_key("0:1.0-0")
    met = [relation for relation in ("<<", "<=", "=", ">=", ">>") if satisfies("2.36", relation, "2.36")]
    assert met == ["<=", "=", ">="]


@given(st.tuples(*[st.from_regex(r"[0-9][0-9a-z.+~]{0,6}(-[0-9a-z.+~]{1,3})?", fullmatch=True)] * 2))
def test_versions_sort_as_dpkg_sorts_them(pair):
    if shutil.which("dpkg") is None:
        pytest.skip("dpkg is not installed")
    one, other = pair
    keys = version_key(one), version_key(other)
    for relation, here in (("lt", keys[0] < keys[1]), ("eq", keys[0] == keys[1])):
        assert (subprocess.run(["dpkg", "--compare-versions", one, relation, other]).returncode == 0) is here


NAME = st.from_regex(r"[a-z][a-z0-9+.-]{1,8}", fullmatch=True)
STANZA = st.builds(
    Stanza,
    name=NAME,
    version=st.from_regex(r"[0-9][0-9.]{0,5}", fullmatch=True),
    file=NAME.map("pool/main/{}.deb".format),
    size=st.integers(0, 10**12),
    sha256=st.binary(min_size=32, max_size=32).map(bytes.hex),
    depends=st.lists(NAME, max_size=3).map(", ".join),
    provides=st.lists(NAME, max_size=3).map(", ".join),
    essential=st.booleans(),
    required=st.booleans(),
)


def written(stanza: Stanza) -> str:
    lines = [f"Package: {stanza.name}", f"Version: {stanza.version}", "Description: words", " more: words", " ."]
    lines += [f"Filename: {stanza.file}", f"Size: {stanza.size}", f"SHA256: {stanza.sha256}"]
    lines += [f"Depends: {stanza.depends}"] if stanza.depends else []
    lines += [f"Provides: {stanza.provides}"] if stanza.provides else []
    lines += ["Essential: yes"] if stanza.essential else []
    lines += ["Priority: required" if stanza.required else "Priority: optional"]
    return "\n".join(lines) + "\n"


@given(st.lists(STANZA, max_size=5))
def test_an_index_is_read_as_it_was_written(stanzas):
    assert list(parse_index("\n".join(map(written, stanzas)))) == stanzas


@given(st.text())
def test_any_text_is_an_index_or_refused(text):
    try:
        assert all(isinstance(stanza, Stanza) for stanza in parse_index(text))
        assert all(fields for fields in paragraphs(text))
    except DesktopError:
        pass


def stanza(name: str, depends: str = "", provides: str = "", version: str = "1", **more) -> Stanza:
    return Stanza(name, version, f"pool/main/{name}.deb", 1, "0" * 64, depends, provides, **more)


def chosen(index: list[Stanza], *wanted: str) -> list[str]:
    return [f"{each.name} {each.version}" for each in Index(index).closure(wanted)]


def test_what_a_package_needs():
    base = [stanza("base", essential=True), stanza("left-out"), stanza("c", version="2"), stanza("c", version="10")]
    assert chosen([*base, stanza("a", "b, c (>= 3)"), stanza("b", "a")], "a") == ["a 1", "b 1", "base 1", "c 10"]
    either = [stanza("a", "x | y:any"), stanza("x"), stanza("y")]
    assert chosen(either, "a") == ["a 1", "x 1"]
    assert chosen(either, "y", "a") == ["a 1", "y 1"]
    virtual = [stanza("a", "mta (>= 2)"), stanza("old", provides="mta (= 1), z"), stanza("new", provides="mta (= 2)")]
    assert chosen(virtual, "a") == ["a 1", "new 1"]
    preferred = [stanza("a", "awk"), stanza("gawk", provides="awk"), stanza("mawk", provides="awk", required=True)]
    assert chosen(preferred, "a") == ["a 1", "mawk 1"]


@pytest.mark.parametrize("depends", ["nothing", "c (>= 3)", "virtual (>= 1)"])
def test_what_nothing_meets(depends):
    index = [stanza("a", depends), stanza("c", version="2"), stanza("d", provides="virtual")]
    with pytest.raises(DesktopError, match=r"the archive has no package .*, which a needs"):
        chosen(index, "a")
    with pytest.raises(DesktopError, match=r"the archive has no package zzz$"):
        chosen(index, "zzz")


def test_a_long_chain_takes_linear_time():
    def seconds(count: int) -> float:
        index = Index(stanza(f"p{k}", f"p{k + 1}, p0" if k + 1 < count else "") for k in range(count))
        begin = time.process_time()
        assert len(index.closure(["p0"])) == count
        return time.process_time() - begin

    assert min(seconds(16000) for _ in range(3)) < 64 * min(seconds(1000) for _ in range(3))  # quadratic: 256 times


def test_the_pinned_list_has_what_the_desktop_needs():
    pins = shipped()
    names = {section: {pin.name for pin in pinned} for section, pinned in pins.sections.items()}
    assert set(names) == {DESKTOP, *OPTIONAL}
    for package in packages():
        assert package.name in names[package.section if package.section in OPTIONAL else DESKTOP]
    assert {"libc6", "dash", "gpgv", "debian-archive-keyring"} <= names[DESKTOP]
    assert not any(names[section] & names[DESKTOP] for section in OPTIONAL)
    assert read_pins(str(pins)) == pins
    assert len(pins.hash) == 16
    assert pins.hash != pins.only(()).hash


PIN = st.builds(
    Pin,
    name=NAME,
    version=st.from_regex(r"[0-9][A-Za-z0-9.+:~-]{0,5}", fullmatch=True),
    sha256=st.binary(min_size=32, max_size=32).map(bytes.hex),
    size=st.integers(0, 10**11),
    file=NAME.map("pool/main/a/{}.deb".format),
)


@settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.lists(PIN, min_size=1, max_size=4, unique_by=lambda pin: pin.name), st.integers(0, 3))
def test_a_list_is_read_as_it_was_written(pinned, place):
    pins = Pins("today", {DESKTOP: tuple(pinned), "mail": ()})
    assert read_pins(str(pins)) == pins
    one = pinned[place % len(pinned)]
    other = Pin(one.name, one.version + "1", one.sha256, one.size, one.file)
    assert Pins("today", {DESKTOP: tuple(other if pin is one else pin for pin in pinned)}).hash != pins.hash


@given(st.text())
def test_any_text_is_a_list_or_refused(text):
    with pytest.raises(DesktopError):
        read_pins(f"{text}\n[{DESKTOP}]\nabc 1 {'0' * 64} 1 pool/../etc/passwd\n")


@given(st.lists(st.tuples(st.from_regex(r"[a-z.]{1,14}", fullmatch=True), st.binary(max_size=9)), max_size=4))
def test_an_archive_is_read_as_it_was_written(members):
    data = b"!<arch>\n"
    for name, content in members:
        data += (
            f"{name:16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
            + content
            + b"\n" * (len(content) % 2)
        )
    assert [(name, bytes(content)) for name, content in ar_members(data)] == members


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_an_archive_or_refused(data, magic):
    with suppress(ValueError):
        list(ar_members((b"!<arch>\n" if magic else b"") + data))


def entry(
    name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644, size: int = 0
) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size, info.mtime = kind, link, mode, size, 86400
    return info


def placed(tmp_path, *entries: tarfile.TarInfo | tuple[tarfile.TarInfo, bytes], pack=lzma.compress, name="data.tar.xz"):
    """A root with a package of these entries in it."""
    file, root = tmp_path / "a.deb", tmp_path / "root"
    file.write_bytes(deb(*entries, pack=pack, name=name))
    root.mkdir(exist_ok=True)
    unpack(file, root)
    return root


def test_a_package_unpacked(tmp_path):
    root = placed(
        tmp_path,
        entry("./", tarfile.DIRTYPE, mode=0o700),
        entry("./bin/", tarfile.DIRTYPE),
        (entry("./bin/sh", mode=0o4755, size=3), b"abc"),
        entry("./bin/bash", tarfile.LNKTYPE, "./bin/sh"),
        entry("./usr/bin/awk", tarfile.SYMTYPE, "/etc/alternatives/awk"),
        entry("./usr/lib/x.so", tarfile.SYMTYPE, "x.so.1"),
        (entry("./usr/share/doc/a/copyright", size=1), b"x"),
        (entry("./usr/share/locale/de/a.mo", size=1), b"x"),
        (entry("./etc/secret", mode=0o600, size=1), b"x"),
    )
    assert (root / "usr/bin/sh").read_bytes() == b"abc"
    assert (root / "usr/bin/bash").stat().st_ino == (root / "usr/bin/sh").stat().st_ino
    assert (root / "usr/bin/sh").stat().st_mode & 0o7777 == 0o755
    assert (root / "etc/secret").stat().st_mode & 0o7777 == 0o644  # the desktop's user reads it
    assert (root / "usr/bin/sh").stat().st_mtime == 86400
    assert (root / "usr/bin/awk").readlink().as_posix() == "../../etc/alternatives/awk"
    assert (root / "usr/lib/x.so").readlink().as_posix() == "x.so.1"
    assert sorted(path.name for path in root.iterdir()) == ["etc", "usr"]
    assert sorted(path.name for path in (root / "usr").iterdir()) == ["bin", "lib"]


@pytest.mark.parametrize(("pack", "name"), [(bytes, "data.tar"), (lzma.compress, "data.tar.xz")])
def test_compressions(tmp_path, pack, name):
    assert (placed(tmp_path, (entry("a", size=1), b"x"), pack=pack, name=name) / "a").read_bytes() == b"x"


DEVICE = entry("./dev/null", tarfile.CHRTYPE)
HOSTILE = {
    "above": [entry("../above")],
    "above, later": [entry("./usr/../../above")],
    "absolute": [entry("/etc/above")],
    "a link out": [entry("./a", tarfile.SYMTYPE, "../above")],
    "a link out, hidden": [entry("./usr/a", tarfile.SYMTYPE, "b/../../../above")],
    "through a link": [entry("./a", tarfile.SYMTYPE, "/usr"), entry("./a/b")],
    "over a link": [entry("./a", tarfile.SYMTYPE, "/usr"), entry("./a")],
    "a folder over a link": [entry("./a", tarfile.SYMTYPE, "/usr"), entry("./a", tarfile.DIRTYPE)],
    "a hard link out": [entry("./a", tarfile.LNKTYPE, "../above")],
    "a hard link to nothing": [entry("./a", tarfile.LNKTYPE, "./b")],
    "a hard link through a link": [entry("./a", tarfile.SYMTYPE, "/etc"), entry("./b", tarfile.LNKTYPE, "a/passwd")],
    "a device": [DEVICE],
    "twice": [entry("./a"), entry("./a")],
    "endless name": [entry("a/" * 100_000 + "b")],
}


@pytest.mark.parametrize("entries", HOSTILE.values(), ids=HOSTILE)
def test_what_no_package_has_is_refused(tmp_path, entries):
    (tmp_path / "above").write_text("mine")
    with pytest.raises(DesktopError, match=r"cannot unpack a\.deb"):
        placed(tmp_path, *entries)
    assert (tmp_path / "above").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.deb", "above", "root"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"!<arch>\n",
        deb(entry("a"))[:-40],
        deb(entry("a"), name="data.tar.zst"),
        deb(entry("a"), pack=lambda data: data),
    ],
    ids=["empty", "no files", "cut off", "zst", "not compressed"],
)
def test_damaged_packages_are_refused(tmp_path, content):
    (tmp_path / "a.deb").write_bytes(content)
    (tmp_path / "root").mkdir()
    with pytest.raises(DesktopError, match=r"cannot unpack a\.deb"):
        unpack(tmp_path / "a.deb", tmp_path / "root")
