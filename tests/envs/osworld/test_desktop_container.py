"""Desktops in containers, where an engine is; the image is built where it is not there."""

import shutil
import time

import pytest

from rlanything_envs.osworld.desktop import DesktopError, make_desktop
from rlanything_envs.osworld.desktop.conformance import check_guest
from rlanything_envs.osworld.desktop.image import GUEST, build_image, dockerfile


def test_the_server_imports_nothing_of_the_home_that_it_starts_in():
    """It is root there, as in a virtual machine."""
    assert '"/usr/bin/python3", "-BPs"' in dockerfile("debian")
    assert "/usr/bin/python3 -BPs" in (GUEST / "init.sh").read_text()


@pytest.mark.usefixtures("docker_engine")
def test_an_image_that_is_not_there():
    with pytest.raises(DesktopError, match=r"no image no-such-desktop.*rlanything desktop build"):
        make_desktop("docker", image="no-such-desktop").start()


@pytest.mark.slow
def test_the_light_desktop_in_a_container(docker_engine):
    if not docker_engine.images.list("rlanything-desktop"):
        if shutil.which("debootstrap", path="/usr/sbin:/usr/bin") is None:
            pytest.skip("the image is not built (rlanything desktop build), and debootstrap is not installed")
        assert list(build_image(base="debootstrap"))[-1] == "built rlanything-desktop"
    before = len(docker_engine.containers.list(all=True))
    with make_desktop("docker", screen=(1280, 720)) as machine:
        assert machine.client.screenshot_array().shape == (720, 1280, 3)
        assert [check for check in check_guest(machine.client.url, machine._token) if not check.passed] == []
        machine.client.upload("~/x", b"1")
        machine.client.launch("mousepad")
        begin = time.monotonic()
        machine.reset()
        assert time.monotonic() - begin < 10
        assert machine.client.read_file("~/x") is None
        assert "mousepad" not in machine.client.execute(["ps", "ax"]).output
    assert len(docker_engine.containers.list(all=True)) == before
