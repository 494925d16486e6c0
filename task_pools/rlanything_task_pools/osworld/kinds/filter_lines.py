"""Some lines of a file are written into another, perhaps sorted."""

from rlanything_task_pools.osworld.checks import text_is
from rlanything_task_pools.osworld.kinds._logs import log_lines
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Level, State, draw_several, terminal, typed
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """A log, and a file for some of its lines."""
    name, out = draw_several(rng, words.files, 2)
    lines, events, _ = log_lines(rng, words, 10 + rng.below(6))
    event = events[0]
    some = [line for line in lines if event in line]
    first = 3 + rng.below(4)
    source, target = f"~/Desktop/{name}.log", f"{DESKTOP}/{out}.txt"

    def level(what: str, kept: list[str], steps: float, hint: str, command: str) -> Level:
        text = "\n".join(kept) + "\n"
        return Level(
            f'From the file "{name}.log" on the Desktop, write {what} into the file "{out}.txt" on the Desktop.',
            text_is(target, text),
            {target: text.encode()},
            steps,
            (hint, "What a command prints goes into a file with > FILE at its end."),
            [typed(f"{command} > ~/Desktop/{out}.txt\n")],
        )

    return State(
        files={f"{DESKTOP}/{name}.log": ("\n".join(lines) + "\n").encode()},
        levels=[
            level(
                f"the first {first} lines",
                lines[:first],
                1,
                "head -n 3 FILE prints three lines.",
                f"head -n {first} {source}",
            ),
            level(
                f'all lines that contain "{event}", in the same order',
                some,
                1.5,
                "grep WORD FILE prints the lines with a word.",
                f"grep {event} {source}",
            ),
            level(
                f'all lines that contain "{event}", the last one first',
                some[::-1],
                2,
                "tac prints lines in the opposite order.",
                f"grep {event} {source} | tac",
            ),
            level(
                f'the first {first} of the lines that do not contain "{event}"',
                [line for line in lines if event not in line][:first],
                2.5,
                "grep -v WORD FILE prints the lines without a word.",
                f"grep -v {event} {source} | head -n {first}",
            ),
        ],
        opened=[terminal()],
    )


KIND = Kind("filter_lines", ("os",), make)
