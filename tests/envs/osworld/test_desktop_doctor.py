"""What is missing, and the one command that installs it."""

import io
import os
import re
import signal
import subprocess
import sys
import tarfile

import pytest
from typer.testing import CliRunner

from rlanything_agents.tools.cli import app
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.osworld.desktop import MissingPackages, make_desktop
from rlanything_envs.osworld.desktop import doctor as practice
from rlanything_envs.osworld.desktop import packages as listed
from rlanything_envs.osworld.desktop.image import context, dockerfile
from rlanything_envs.osworld.desktop.packages import OPTIONAL, Package, install_command, install_packages, packages
from rlanything_envs.osworld.desktop.root.folder import VARIABLE


@pytest.fixture
def lacking(monkeypatch, tmp_path):
    """A machine without two of the packages, and without a root folder."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    some = (
        Package("sandbox", "/no/such/bwrap", "bubblewrap"),
        Package("session", "/bin/sh", "dash"),
        Package("applications", "/no/such/*/gimp", "gimp"),
    )
    monkeypatch.setattr(listed, "packages", lambda: some)


def test_the_list():
    names = [package.name for package in packages()]
    assert len(names) == len(set(names)) > 30
    assert {package.section for package in packages()} == {
        "sandbox", "session", "accessibility", "looks", "applications", *OPTIONAL,
    }  # fmt: skip
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name) for name in names)
    assert all(package.file.startswith("/usr/") for package in packages())
    assert {"xvfb", "openbox", "libreoffice-calc", "libgail-common", "chromium", "bubblewrap"} <= set(names)


def test_missing_packages_are_named_before_anything_starts(lacking):
    with pytest.raises(
        MissingPackages, match=r"the system lacks bubblewrap\): run `rlanything desktop install`"
    ) as failure:
        make_desktop("bwrap").start()
    assert isinstance(failure.value, InfrastructureError)


def test_only_root_needs_no_sudo(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert install_command(("a", "b")) == "sudo apt-get install -y --no-install-recommends a b"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert install_command(("a", "b")) == "apt-get install -y --no-install-recommends a b"


def test_the_doctor_names_what_is_missing_and_one_command(lacking):
    done = CliRunner().invoke(app, ["doctor", "--no-play"])
    assert "warning desktop packages       no root folder is installed, and the system lacks bubblewrap" in done.output
    assert done.output.count("rlanything desktop install") == 1
    assert done.output.splitlines()[-1].startswith("Ready for: ")


def test_the_doctor_starts_a_desktop(bwrap_desktop):
    found = {finding.topic: finding for finding in practice.examine()}
    assert found["bwrap desktop"].good is True
    assert "first screenshot (1920x1080)" in found["bwrap desktop"].said
    assert "bwrap desktop" not in {finding.topic for finding in practice.examine(start=False)}


def test_nothing_to_install():
    if listed.missing():
        pytest.skip(f"not installed: {' '.join(listed.missing())}")
    assert install_packages() == ()


def test_only_root_installs(lacking, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    done = CliRunner().invoke(app, ["desktop", "install", "--system"])
    assert done.exit_code == 2
    assert "only root can install packages" in done.output


def test_the_image_has_every_package_but_the_sandbox():
    text = dockerfile("debian:bookworm-slim")
    assert text.startswith("FROM debian:bookworm-slim\n")
    assert set(re.search(r"--no-install-recommends (.*) \\", text)[1].split()) == {
        package.name for package in packages() if package.section not in ("sandbox", *OPTIONAL)
    }


def test_what_the_image_is_built_from():
    with tarfile.open(fileobj=io.BytesIO(context("base"))) as tar:
        names = tar.getnames()
        assert tar.extractfile("Dockerfile").read().decode() == dockerfile("base")
        assert tar.getmember("guest/bin/google-chrome").mode & 0o111
    assert {"guest/__main__.py", "guest/lib/pyautogui/__init__.py", "guest/home/.config/openbox/rc.xml"} <= set(names)
    assert not [name for name in names if "__pycache__" in name]


def test_conformance_on_the_command_line():
    done = CliRunner().invoke(app, ["doctor", "--guest", "ftp://nowhere"])
    assert done.exit_code == 2
    assert "http://HOST:PORT" in done.output


def test_a_desktop_is_served_until_it_is_ended(bwrap_desktop):
    command = [sys.executable, "-m", "rlanything_agents", "serve", "desktop", "--env", "screen=[800, 600]"]
    process = subprocess.Popen([*command, "--port", "0", "--token", "abc"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url, _, token = process.stdout.readline().split()
        assert token == "abc"
        assert make_desktop("http", url=url, token="abc").client.screen_size() == (800, 600)
    finally:
        process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
