"""Files get other names."""

from rlanything_task_pools.osworld.checks import both, contains, folder
from rlanything_task_pools.osworld.kinds._browsing import chosen
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Level, State, draw_several, named, opened, pressed
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """A folder with a few text files, of which one, two or three get other names."""
    topic = rng.pick(words.topics)
    place = f"{DESKTOP}/{topic}"
    drawn = draw_several(rng, words.files, 7)
    count = 4 + rng.below(2)
    names = sorted(f"{stem}.txt" for stem in drawn[:count])
    people = draw_several(rng, words.people, 3)
    changes = {
        names[i]: f"{stem}_{person.lower()}.txt"
        for i, stem, person in zip(rng.shuffled(count), [*drawn[count:], drawn[0]], people, strict=False)
    }
    content = {
        name: f"{sentence}\n" for name, sentence in zip(names, draw_several(rng, words.sentences, count), strict=True)
    }

    def level(number: int) -> Level:
        done = dict(list(changes.items())[:number])
        now = {done.get(name, name): text for name, text in content.items()}
        listed = " and ".join(f'"{old}" to "{new}"' for old, new in done.items())
        gone: dict[str, bytes | None] = {f"{place}/{old}": None for old in done}
        keys, shown = [], list(names)
        for old, new in done.items():
            keys += [chosen(shown, (), old) + "; " + pressed("f2"), named(new)]
            shown = [new if name == old else name for name in shown]
        return Level(
            goal=f'In the folder "{topic}" on the Desktop, rename {listed}.',
            evaluator=both(
                folder(place, list(now)), *(contains(f"{place}/{new}", content[old]) for old, new in done.items())
            ),
            after=gone | {f"{place}/{name}": text.encode() for name, text in now.items()},
            steps=3.0 * number,
            hints=(
                "Select the file in the file manager and press F2 to change its name.",
                "The name has to end with .txt as before.",
            ),
            keys=keys,
        )

    return State(
        files={f"{place}/{name}": text.encode() for name, text in content.items()},
        levels=[level(number) for number in (1, 2, 3)],
        opened=[opened(place)],
    )


KIND = Kind("rename_files", ("os",), make)
