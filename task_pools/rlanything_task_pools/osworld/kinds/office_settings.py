"""Settings of LibreOffice: who uses it, and how often it saves by itself."""

from rlanything_task_pools.osworld.checks import both, contains, file, later, ruled
from rlanything_task_pools.osworld.kinds.base import Kind, Level, State, agreed, draw_several, launched, pressed, typed
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream

PATH = "/home/user/.config/libreoffice/4/user/registrymodifications.xcu"
SPACES = (
    'xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
)
QUIET = {
    ("Office.Common/Misc", "FirstRun"): "false",
    ("Office.Common/Misc", "ShowTipOfTheDay"): "false",
    ("Office.Common/Save/Document", "WarnAlienFormat"): "false",
    ("Setup/Office", "ooSetupInstCompleted"): "true",
}
"""No dialog comes up by itself."""
PERSON = "UserProfile/Data"
SAVING = "Office.Common/Save/Document"

OPTIONS = [pressed("alt+t"), f"{pressed('up', 'enter')}; time.sleep(4)"]
"""The last entry of the menu Tools."""

Settings = dict[tuple[str, str], str]


def make(rng: RngStream, words: Words) -> State:
    """A word processor of a user without a name that does not save by itself."""
    people, cities = draw_several(rng, words.people, 4), draw_several(rng, words.places, 2)
    often, seldom = 2 + rng.below(4), 6 + rng.below(6)
    before: Settings = {**QUIET, (SAVING, "AutoSave"): "false"}

    def level(goal: str, given: Settings, steps: float, hints: tuple[str, ...], keys: list[str]) -> Level:
        checks = [contains(PATH, *(_value(name, value) for (_, name), value in given.items()))]
        if minutes := given.get((SAVING, "AutoSaveTimeIntervall")):
            checks.append(ruled("check_auto_saving_time", file(PATH), {"minutes": int(minutes)}))
        return Level(
            f"In LibreOffice, {goal}.",
            later(both(*checks), 2),
            {PATH: _file({**before, **given})},
            steps,
            ("Alt+F12 opens the options.", *hints),
            keys,
        )

    def saves(minutes: int) -> Settings:
        return {(SAVING, "AutoSave"): "true", (SAVING, "AutoSaveTimeIntervall"): str(minutes)}

    data = "The user data are the first page of the options."
    page = "Saving is on the page General of Load/Save."
    return State(
        files={PATH: _file(before)},
        levels=[
            level(
                f'set the first name of the user to "{people[0]}" in the user data',
                {(PERSON, "givenname"): people[0]},
                3,
                (data,),
                _person(people[0]),
            ),
            level(
                f'set the first name of the user to "{people[1]}" and the city to "{cities[0]}" in the user data',
                {(PERSON, "givenname"): people[1], (PERSON, "l"): cities[0]},
                4,
                (data,),
                _person(people[1], cities[0]),
            ),
            level(
                f"switch on saving by itself every {often} minutes",
                saves(often),
                5,
                (page,),
                [*OPTIONS, *_saving(often)],
            ),
            level(
                f"switch on saving by itself every {seldom} minutes, and set the first name of the user to "
                f'"{people[2]}" in the user data',
                {**saves(seldom), (PERSON, "givenname"): people[2]},
                7,
                (page, data),
                [*OPTIONS, f"{pressed('tab*2')}; {typed(people[2])}", pressed("shift+tab*2"), *_saving(seldom)],
            ),
        ],
        opened=[launched("soffice", "--writer")],
    )


def _person(first: str, city: str = "") -> list[str]:
    """The options open on the page of the user data; its first fields are company, first and last name, initials."""
    to_city = [pressed("tab*4") + "; " + typed(city)] if city else []
    return [*OPTIONS, f"{pressed('tab*2')}; {typed(first)}", *to_city, agreed()]


def _saving(minutes: int) -> list[str]:
    """The page General of Load/Save is behind the eleven pages after the user data, and its third box is for saving."""
    page = f"{pressed('down*12', 'right', 'down')}; time.sleep(1)"
    return [page, pressed("tab*3", "space", "tab"), f"{pressed('ctrl+a')}; {typed(str(minutes))}; {agreed()}"]


def _value(name: str, value: str) -> str:
    return f'oor:name="{name}" oor:op="fuse"><value>{value}</value>'


def _file(settings: Settings) -> bytes:
    items = "".join(
        f'<item oor:path="/org.openoffice.{path}"><prop {_value(name, value)}</prop></item>\n'
        for (path, name), value in settings.items()
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<oor:items {SPACES}>\n{items}</oor:items>\n'.encode()


KIND = Kind("office_settings", ("libreoffice_writer",), make)
