"""Lines of a log are counted, and the number is written into a file."""

from rlanything_task_pools.osworld.checks import text_is
from rlanything_task_pools.osworld.kinds._logs import log_lines
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Level, State, draw_several, terminal, typed
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """A log, and a file that is to hold one number."""
    name, out = draw_several(rng, words.files, 2)
    lines, events, services = log_lines(rng, words, 12 + rng.below(10))
    event, service = events[0], services[0]
    text = "\n".join(lines) + "\n"
    some = [line for line in lines if event in line]
    log, target = f"{DESKTOP}/{name}.log", f"{DESKTOP}/{out}.txt"

    def level(what: str, count: int, steps: float, hint: str, command: str) -> Level:
        return Level(
            f'Count {what} in the file "{name}.log" on the Desktop, and write only the number into the file '
            f'"{out}.txt" on the Desktop.',
            text_is(target, f"{count}"),
            {target: f"{count}\n".encode()},
            steps,
            (hint, "A number that a command prints goes into a file with > FILE at its end."),
            [typed(f"{command} > ~/Desktop/{out}.txt\n")],
        )

    source = f"~/Desktop/{name}.log"
    return State(
        files={log: text.encode()},
        levels=[
            level("all lines", len(lines), 1, "wc -l < FILE prints the number of lines.", f"wc -l < {source}"),
            level(
                f'the lines that contain "{event}"',
                len(some),
                1.5,
                "grep -c WORD FILE prints the number of lines with a word.",
                f"grep -c {event} {source}",
            ),
            level(
                f'the lines that contain both "{event}" and "{service}"',
                sum(service in line for line in some),
                2,
                "grep WORD FILE | grep -c OTHER counts lines with two words.",
                f"grep {event} {source} | grep -c {service}",
            ),
            level(
                f'the lines that contain neither "{event}" nor "{service}"',
                sum(event not in line and service not in line for line in lines),
                2.5,
                "grep -v WORD FILE prints the lines without a word.",
                f"grep -v {event} {source} | grep -vc {service}",
            ),
        ],
        opened=[terminal()],
    )


KIND = Kind("count_lines", ("os",), make)
