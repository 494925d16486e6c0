"""Settings in a configuration file are changed."""

from rlanything_task_pools.osworld.checks import text_is
from rlanything_task_pools.osworld.kinds._editing import SAVE, appended, with_line
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Level, State, draw_several, opened
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """A file of a section with settings that have numbers."""
    name = f"{rng.pick(words.services)}.ini"
    path = f"{DESKTOP}/{name}"
    *keys, added = draw_several(rng, words.settings, 5)
    numbers = [10 * (1 + number) + rng.below(9) for number in rng.shuffled(9)]
    values = dict(zip(keys, numbers, strict=False))
    first, second, third = (keys[i] for i in rng.shuffled(len(keys))[:3])
    new = {first: numbers[5], second: numbers[6], third: numbers[7], added: numbers[8]}

    def level(changed: list[str], steps: float) -> Level:
        now = values | {key: new[key] for key in changed}
        text = _text(now)
        set_to = [f'"{key}" to {new[key]}' for key in changed if key in values]
        goal = f'In the configuration file "{name}" on the Desktop, set {_listed(set_to)}'
        goal += f', and add the setting "{added}" with the value {new[added]} at the end.' if added in changed else "."
        lines: list[str] = []
        for key in changed:
            if key in values:
                lines += with_line(1 + list(values).index(key), f"{key} = {new[key]}")
            else:
                lines += appended([f"{key} = {new[key]}"])
        return Level(
            f"{goal} Save the file.",
            text_is(path, text),
            {path: text.encode()},
            steps,
            (
                f'Put the cursor at the end of the line that begins with "{first}" and replace its value.',
                "A setting is written as NAME = VALUE on a line of its own.",
                "Press Ctrl+S to save the file.",
            ),
            [*lines, SAVE],
        )

    return State(
        files={path: _text(values).encode()},
        levels=[
            level([first], 3),
            level([first, second], 5),
            level([first, second, third], 7),
            level([first, second, added], 7.5),
        ],
        opened=[opened(path)],
    )


def _text(values: dict[str, int]) -> str:
    return "[main]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


KIND = Kind("edit_config", ("os",), make)
