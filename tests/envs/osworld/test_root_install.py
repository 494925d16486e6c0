"""The root folder's installation with hand-made packages: whole or not there, resumed, checked, and removed."""

import fcntl
import hashlib
import lzma
import shutil
import subprocess
from pathlib import Path

import pytest
from root_archive import Archive, package, pins_of, served
from typer.testing import CliRunner

from rlanything_agents.tools.cli import app
from rlanything_envs.osworld.desktop import namespaces, root
from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.root import installation as installing
from rlanything_envs.osworld.desktop.root import mirror as mirrors
from rlanything_envs.osworld.desktop.root import pins as pinned
from rlanything_envs.osworld.desktop.root import signature
from rlanything_envs.osworld.desktop.root.folder import VARIABLE
from rlanything_envs.osworld.desktop.root.mirror import Mirror, configured, find_mirror
from rlanything_envs.osworld.desktop.root.signature import KEYS, verified

ONE, TWO, THREE = package("one"), package("two"), package("three")


@pytest.fixture
def place(monkeypatch, tmp_path) -> Path:
    """Where the folder is installed. Hand-made packages are no system: nothing in them could finish it."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "desktop"))
    monkeypatch.setattr(installing, "finish", lambda made: (made / "finished").touch())
    monkeypatch.setattr(installing, "why_forbidden", lambda: "")
    monkeypatch.setattr(mirrors.time, "sleep", lambda seconds: None)
    pin(monkeypatch, ONE, TWO)
    return tmp_path / "desktop"


def pin(monkeypatch, *packages) -> None:
    monkeypatch.setattr(installing, "shipped", lambda: pins_of(*packages))


def text(place: Path, name: str) -> str:
    return (place / "root/usr/share" / name / "version").read_text()


def left(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir() if path.name != "lock")


def test_installed_once(place):
    told = []
    with served(Archive.of(ONE, TWO)) as archive:
        made = root.install(mirrors=[archive.address], report=lambda *words: told.append(words))
        asked = len(archive.asked)
        assert root.install(mirrors=["http://127.0.0.1:9"]) == made == root.installed()
        assert len(archive.asked) == asked
    assert (text(place, "one"), text(place, "two")) == ("one 1", "two 1")
    assert (place / "root/finished").exists()
    assert left(place) == ["root"]
    assert made.hash == pins_of(ONE, TWO).hash
    assert made.pins == pins_of(ONE, TWO)
    size = ONE[0].size + TWO[0].size
    assert told == [("installing", ONE[0].size, size), ("installing", size, size), ("finishing", size, size)]


def test_an_interrupted_one_goes_on(place):
    with served(Archive.of(ONE, TWO)) as archive:
        archive.files[TWO[0].file] = b"x" * TWO[0].size
        with pytest.raises(DesktopError, match=r"two_1.deb is not the pinned file \(SHA-256 [0-9a-f]{64}\)"):
            root.install(mirrors=[archive.address])
        assert root.installed() is None
        assert left(place) == ["packages"]
        archive.files[TWO[0].file] = TWO[1]
        archive.asked.clear()
        root.install(mirrors=[archive.address])
    assert [name for name in archive.asked if name.startswith("pool")] == [TWO[0].file]
    assert left(place) == ["root"]


def test_a_stored_package_that_was_damaged_is_fetched_again(place):
    (place / "packages").mkdir(parents=True)
    (place / "packages" / f"one_{ONE[0].sha256[:16]}.deb").write_bytes(b"x" * ONE[0].size)
    with served(Archive.of(ONE, TWO)) as archive:
        root.install(mirrors=[archive.address])
    assert text(place, "one") == "one 1"


@pytest.mark.parametrize("failure", [DesktopError("no"), OSError("no room"), KeyboardInterrupt()])
def test_an_old_folder_stays_until_the_new_one_is_whole(place, monkeypatch, failure):
    def fail(made: Path) -> None:
        raise failure

    with served(Archive.of(ONE, TWO, THREE)) as archive:
        old = root.install(mirrors=[archive.address])
        pin(monkeypatch, ONE, THREE)
        with monkeypatch.context() as patch:
            patch.setattr(installing, "finish", fail)
            with pytest.raises(DesktopError if isinstance(failure, OSError) else type(failure)):
                root.install(mirrors=[archive.address])
        assert root.installed() == old
        assert text(place, "two") == "two 1"
        assert left(place) == ["packages", "root"]
        root.install(mirrors=[archive.address])
    assert text(place, "three") == "three 1"
    assert not (place / "root/usr/share/two").exists()
    assert left(place) == ["root"]


def test_a_longer_file_is_not_read_to_its_end(place):
    with served(Archive.of(ONE, TWO)) as archive:
        archive.files[ONE[0].file] = ONE[1] + b"x" * 10**7
        with pytest.raises(DesktopError, match="is longer than"):
            root.install(mirrors=[archive.address])


def test_one_at_a_time(place):
    place.mkdir()
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for work in (root.install, root.remove):
            with pytest.raises(DesktopError, match="another installation"):
                work()


def test_what_cannot_be_installed(place, monkeypatch):
    with pytest.raises(DesktopError, match="no optional packages are called 'games'; there are mail, media"):
        root.install(["games"])
    with monkeypatch.context() as patch:
        patch.setattr(installing.platform, "machine", lambda: "aarch64")
        with pytest.raises(DesktopError, match="pinned for Linux on amd64 alone, and this is Linux on aarch64"):
            root.install()
    with monkeypatch.context() as patch:
        patch.setattr(installing.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(2, 1, 10**9))
        with served(Archive.of(ONE, TWO)) as archive, pytest.raises(DesktopError, match=r"has 1\.0 GB free"):
            root.install(mirrors=[archive.address])
    monkeypatch.setattr(installing, "why_forbidden", lambda: "user namespaces are forbidden here")
    with pytest.raises(DesktopError, match="user namespaces are forbidden here"):
        root.install()


def test_on_the_command_line(place):
    run = CliRunner().invoke
    assert run(app, ["desktop", "install", "--remove"]).output == "no root folder is installed\n"
    with served(Archive.of(ONE, TWO)) as archive:
        done = run(app, ["desktop", "install", "--mirror", archive.address])
    assert done.exit_code == 0, done.output
    assert f"the root folder is {place}/root, hash {pins_of(ONE, TWO).hash}" in done.output
    assert "hash " + pins_of(ONE, TWO).hash in run(app, ["doctor", "--no-play", "--no-desktop"]).output
    assert run(app, ["desktop", "install", "--remove"]).output == "removed the root folder\n"
    assert left(place) == []
    assert run(app, ["desktop", "install", "--mirror", "ftp://here"]).exit_code == 2


def test_why_sandboxes_are_forbidden(monkeypatch):
    monkeypatch.setattr(namespaces, "_SANDBOX", ["--no-such-option"])
    monkeypatch.setattr(namespaces, "_TRY", "import sys; sys.exit('Operation not permitted')")
    namespaces.why_forbidden.cache_clear()
    try:
        said = namespaces.why_forbidden()
    finally:
        namespaces.why_forbidden.cache_clear()
    assert said.startswith("user namespaces are forbidden here (")
    assert "\n" not in said
    assert all(way in said for way in ('"docker"', '"http"', "container"))


SOURCES = """\
# Types: deb
Types: deb deb-src
URIs: http://one.test/debian/ https://two.test/debian
Suites: bookworm
 bookworm-updates
Signed-By:
 -----BEGIN

Types: deb-src
URIs: http://sources.test/debian

Enabled: no
Types: deb
URIs: http://off.test/debian
"""


def test_the_machines_own_mirror(tmp_path, monkeypatch):
    (tmp_path / "sources.list.d").mkdir()
    assert configured(tmp_path) == []
    (tmp_path / "sources.list").write_text(
        "# deb http://comment.test/debian x main\ndeb-src http://sources.test/x x main\n"
        "deb [arch=amd64 signed-by=/a b.gpg]  http://three.test/debian bookworm main\n"
        "deb cdrom:[Debian]/ bookworm main\n"
    )
    (tmp_path / "sources.list.d/a.list").write_text("deb\thttp://four.test/debian/\tbookworm main\n\xff")
    (tmp_path / "sources.list.d/b.sources").write_text(SOURCES)
    (tmp_path / "sources.list.d/c.sources.bak").write_text(SOURCES.replace("one", "five"))
    names = ("three", "four", "one", "two")
    assert [address.split("//")[1].split(".")[0] for address in configured(tmp_path)] == list(names)


def test_the_mirror_that_is_taken(monkeypatch, tmp_path):
    monkeypatch.delenv(mirrors.VARIABLE, raising=False)
    lists = {f"dists/{suite}/InRelease": b"-----BEGIN PGP" for suite in ("bookworm",)}
    security = {"dists/bookworm-security/InRelease": b"-----BEGIN PGP"}
    both = {f"debian/{name}": data for name, data in lists.items()}
    both |= {f"debian-security/{name}": data for name, data in security.items()}
    with served(Archive(both)) as one, served(Archive({"dists/bookworm/InRelease": b"<html>"})) as other:
        monkeypatch.setattr(mirrors, "configured", lambda: [other.address, f"{one.address}/debian"])
        found = find_mirror()
        assert (found.main, found.security) == (f"{one.address}/debian", f"{one.address}/debian-security")
        with pytest.raises(DesktopError, match=r"in the given mirrors has Debian 12 \(bookworm\): name a mirror"):
            find_mirror([other.address])
        monkeypatch.setenv(mirrors.VARIABLE, other.address)
        with pytest.raises(DesktopError, match=r"Debian 12 \(bookworm\)"):
            find_mirror()
        monkeypatch.setenv(mirrors.VARIABLE, f"{one.address}/debian")
        assert find_mirror().main == f"{one.address}/debian"
    folder = tmp_path / "disk"
    for name, data in both.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    assert find_mirror([f"file://{folder}/debian/"]).security == f"file://{folder}/debian-security"


class Signer:
    """A key of its own, and texts signed with it."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("gpg") is None or shutil.which("gpgv") is None:
            pytest.skip("gpg is not installed")
        folder.mkdir(mode=0o700)
        self._gpg = ["gpg", "--homedir", str(folder), "--batch", "--quiet", "--passphrase", ""]
        self.run("--quick-generate-key", "archive@example.org", "ed25519", "sign")
        self.keys = folder / "keys.gpg"
        self.keys.write_bytes(self.run("--export"))

    def run(self, *words: str, given: bytes = b"") -> bytes:
        return subprocess.run([*self._gpg, *words], input=given, capture_output=True, check=True).stdout

    def signed(self, content: bytes) -> bytes:
        return self.run("--clearsign", given=content)

    def end(self) -> None:
        subprocess.run(["gpgconf", "--homedir", self._gpg[2], "--kill", "all"], check=False)


@pytest.fixture(scope="module")
def signer(tmp_path_factory):
    made = Signer(Path(tmp_path_factory.mktemp("gpg")) / "home")
    yield made
    made.end()


def listed(signer: Signer, *packages) -> dict[str, bytes]:
    """The signed indexes of an archive with these packages."""
    files = {}
    for suite in ("bookworm", "bookworm-updates", "bookworm-security"):
        stanzas = [
            f"Package: {pin.name}\nVersion: {pin.version}\nFilename: {pin.file}\n"
            f"Size: {pin.size}\nSHA256: {pin.sha256}\n"
            for pin, _ in (packages if suite == "bookworm" else ())
        ]
        plain = "\n".join(stanzas).encode()
        packed = lzma.compress(plain)
        name = "main/binary-amd64/Packages"
        release = f"Codename: {suite}\nDate: Tue, 24 Nov 2026 02:12:15 UTC\nComponents: main\nSHA256:\n"
        for each, content in ((f"{name}.xz", packed), (name, plain)):
            release += f" {hashlib.sha256(content).hexdigest()} {len(content)} {each}\n"
        files[f"dists/{suite}/InRelease"] = signer.signed(release.encode())
        files[f"dists/{suite}/{name}.xz"] = packed
    return files


@pytest.fixture
def today(place, monkeypatch, signer):
    """An archive in which the pinned version of a package has been replaced."""
    newer = package("two", "2")
    names = [type("Line", (), {"name": name, "section": "session"}) for name in ("one", "two")]
    monkeypatch.setattr(pinned, "packages", lambda: names)
    monkeypatch.setattr(pinned, "_TOOLS", ())
    monkeypatch.setattr(
        installing, "verified", lambda text, scratch, tool: verified(text, scratch, keys=signer.keys, tool=tool)
    )
    archive = Archive.of(ONE, newer)
    archive.files |= listed(signer, ONE, newer)
    with served(archive):
        yield archive


def test_a_version_that_is_gone_is_replaced_by_todays(place, today):
    made = root.install(mirrors=[today.address])
    assert text(place, "two") == "two 2"
    assert made.hash != pins_of(ONE, TWO).hash
    assert made.pins.day == "Tue, 24 Nov 2026 02:12:15 UTC"
    again = root.install(mirrors=[today.address])
    assert again == made
    assert left(place) == ["root"]


def test_an_index_of_somebody_else_is_refused(place, today, tmp_path):
    other = Signer(tmp_path / "other")
    try:
        today.files["dists/bookworm/InRelease"] = other.signed(b"Codename: bookworm\n")
    finally:
        other.end()
    with pytest.raises(DesktopError, match="an index of the archive is not signed by Debian"):
        root.install(mirrors=[today.address])
    assert root.installed() is None


@pytest.mark.parametrize("change", ["unsigned", "altered", "another suite", "another index"])
def test_an_index_that_was_changed_is_refused(place, today, signer, change):
    name = "dists/bookworm/InRelease"
    if change == "unsigned":
        today.files[name] = b"-----BEGIN PGP SIGNED MESSAGE-----\nCodename: bookworm\n"
    elif change == "altered":
        today.files[name] = today.files[name].replace(b"Components: main", b"Components: evil")
    elif change == "another suite":
        today.files[name] = today.files["dists/bookworm-updates/InRelease"]
    else:
        today.files["dists/bookworm/main/binary-amd64/Packages.xz"] += b"x"
    with pytest.raises(DesktopError):
        root.install(mirrors=[today.address])
    assert root.installed() is None


def test_debians_own_signature(tmp_path):
    """The real archive's index, where this machine has a mirror and the keys."""
    try:
        mirror = find_mirror()
    except DesktopError as error:
        pytest.skip(str(error))
    text = mirrors.fetch(f"{mirror.main}/dists/bookworm/InRelease", 1 << 22)
    if shutil.which("gpgv") is None or not Path(KEYS).is_file():
        pytest.skip("gpgv or debian-archive-keyring is not installed")
    assert b"Codename: bookworm" in verified(text, tmp_path)
    with pytest.raises(DesktopError, match="not signed by Debian"):
        verified(text.replace(b"Codename: bookworm", b"Codename: trixie"), tmp_path)


@pytest.mark.slow
def test_todays_list_without_gpgv_on_the_machine(tmp_path, monkeypatch):
    """The pinned gpgv and keys check the real archive's indexes, from which the list is made as the pinned one was."""
    try:
        mirror = find_mirror()
    except DesktopError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(signature.shutil, "which", lambda name: None)
    for name in ("packages", "scratch"):
        (tmp_path / name).mkdir()
    try:
        made = installing._of_today(root.shipped(), tmp_path / "packages", mirror, tmp_path / "scratch")
    except DesktopError as error:
        if "is not there" not in str(error):
            raise
        pytest.skip(str(error))
    assert len(list((tmp_path / "packages").iterdir())) == len(installing._CHECKING)
    assert {pin.name for pin in root.shipped().all} <= {pin.name for pin in made.all}


def test_a_package_comes_from_its_archive(tmp_path):
    pin, data = package("one")
    with served(Archive({"pool/updates/main/one.deb": data})) as security, served(Archive({})) as main:
        to = tmp_path / "one.deb"
        Mirror(main.address, security.address).download("pool/updates/main/one.deb", pin.size, pin.sha256, to)
        assert to.read_bytes() == data
        assert main.asked == []
