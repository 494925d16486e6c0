"""What counts as content, and as painted."""

import numpy as np
import pytest

from rlanything_envs.osworld.accessibility import Element
from rlanything_envs.osworld.ready import contents, painted, program_of


def element(role, name="", box=(50, 50, 100, 100)):
    return Element(role, name, "", "", *box, frozenset())


@pytest.mark.parametrize(
    ("command", "shell", "program"),
    [
        (["gimp"], False, "gimp"),
        ("libreoffice --impress", False, "office"),
        (["/usr/bin/google-chrome", "--remote-debugging-port=1337"], False, "chrome"),
        (["socat", "tcp-listen:9222,fork", "tcp:localhost:1337"], False, None),
        ("VLC_VERBOSE=-1 vlc /home/user/a.mp4", True, "vlc"),
        (["VLC_VERBOSE=-1 vlc"], True, "vlc"),
        ("A=1", True, None),
        ("", False, None),
    ],
)
def test_programs_that_have_windows(command, shell, program):
    assert program_of(command, shell) == program


def test_a_splash_screen_has_no_content():
    splash = [element("frame", "GIMP Startup"), element("image"), element("label", "Looking"), element("progress-bar")]
    window = [
        element("frame", "GIMP"),
        element("menu", "File"),
        element("push-button"),
        element("text", box=(0, 0, 0, 0)),
    ]
    found = contents([element("label"), *splash, *window, element("dialog", "Tip"), element("push-button", "OK")])
    assert [(item.name, size) for item, size in found] == [("GIMP Startup", 0), ("GIMP", 2), ("Tip", 1)]
    assert contents([]) == []


def test_a_window_of_one_colour_is_not_painted():
    pixels = np.zeros((200, 200, 3), np.uint8)
    pixels[:, 150:] = 255
    assert not painted(pixels, element("frame"))
    pixels[0:20, 0:60] = 90  # a menu bar
    assert painted(pixels, element("frame"))
    assert not painted(pixels, element("frame", box=(500, 500, 10, 10)))
