"""Settings of GIMP: its theme, and how much it remembers."""

from rlanything_task_pools.osworld.checks import both, later, ruled
from rlanything_task_pools.osworld.kinds.base import Kind, Level, State, draw_several, launched, pressed, typed
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream

PATH = "/home/user/.config/GIMP/2.10/gimprc"
THEMES = ("Light", "Gray", "System")


def make(rng: RngStream, words: Words) -> State:
    """The image editor with a dark theme and a short memory."""
    one, two, _ = draw_several(rng, THEMES, 3)
    low, high = 10 + rng.below(15), 30 + rng.below(30)

    def level(goal: str, given: dict[str, str], steps: float, hints: tuple[str, ...], keys: list[str]) -> Level:
        getter = {"type": "gimp_config_file", "file_name": "gimprc", "dest": "gimprc"}
        checks = [ruled("check_config_status", getter, {"key": key, "value": value}) for key, value in given.items()]
        return Level(
            f"In the preferences of GIMP, {goal}.",
            later(both(*checks), 1),
            {PATH: _file({**BEFORE, **given})},
            steps,
            ("Preferences is in the menu Edit.", *hints),
            [*OPEN, *keys, f"{pressed('alt+o')}; time.sleep(3)"],
        )

    theme = "The theme is on the page Theme of Interface."
    undo = "The number of undo levels is on the page System Resources."
    return State(
        files={PATH: _file(BEFORE)},
        levels=[
            level(
                f"set the minimal number of undo levels to {low}", {"undo-levels": str(low)}, 4, (undo,), _levels(low)
            ),
            level(f"change the theme to {one}", {"theme": f'"{one}"'}, 4.5, (theme,), _theme(one)),
            level(
                f"change the theme to {two} and set the minimal number of undo levels to {high}",
                {"theme": f'"{two}"', "undo-levels": str(high)},
                7,
                (theme, undo),
                [*_levels(high), pressed("shift+tab"), *_theme(two)],
            ),
        ],
        opened=[launched("gimp")],
    )


OPEN = [f"{pressed('alt+e')}; time.sleep(1)", f"{pressed('up*5', 'enter')}; time.sleep(4)"]
"""Preferences is the fifth entry from below."""


def _levels(number: int) -> list[str]:
    """The page shown first begins with the undo levels."""
    return [f"{pressed('tab', 'ctrl+a')}; {typed(str(number))}"]


def _theme(name: str) -> list[str]:
    """The page of themes is the eighth below the first; its list begins with the dark one, which is chosen.

    Each theme on the way is put on at once, which takes a moment.
    """
    way = [f"{pressed('down')}; time.sleep(2)"] * sorted(["Dark", *THEMES]).index(name)
    return [f"{pressed('down*8')}; time.sleep(1)", pressed("tab"), *way]


BEFORE = {"theme": '"Dark"', "undo-levels": "7"}


def _file(settings: dict[str, str]) -> bytes:
    return "".join(f"({key} {value})\n" for key, value in settings.items()).encode()


KIND = Kind("gimp_settings", ("gimp",), make)
