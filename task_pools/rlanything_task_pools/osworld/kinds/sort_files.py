"""Files are moved into folders."""

from rlanything_task_pools.osworld.checks import both, contains, folder
from rlanything_task_pools.osworld.kinds._browsing import cut_into
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Level, State, draw_several, opened
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """A folder with notes, tables and a page, and two folders that hold one file each."""
    topic, *folders = draw_several(rng, words.topics, 3)
    place = f"{DESKTOP}/{topic}"
    drawn = draw_several(rng, words.files, 7)
    notes = [f"{stem}.txt" for stem in drawn[:2]]
    tables = [f"{stem}.csv" for stem in drawn[2:4]]
    page = f"{drawn[4]}.md"
    loose = [*notes, *tables, page]
    kept = {folders[0]: f"{drawn[5]}.csv", folders[1]: f"{drawn[6]}.txt"}
    files = {f"{place}/{name}": f"{name}: {sentence}\n" for name, sentence in zip(loose, words.sentences, strict=False)}
    files |= {f"{place}/{name}/{inside}": f"{inside}\n" for name, inside in kept.items()}

    def level(goal: str, moves: dict[str, str], steps: float, hints: tuple[str, ...]) -> Level:
        left = [name for name in loose if name not in moves]
        inside = {name: [kept[name], *(file for file, to in moves.items() if to == name)] for name in folders}
        after: dict[str, bytes | None] = {}
        keys, shown = [], list(loose)
        for name, to in moves.items():
            after |= {f"{place}/{name}": None, f"{place}/{to}/{name}": files[f"{place}/{name}"].encode()}
            keys += cut_into(shown, folders, name, to)
            shown.remove(name)
        checks = [folder(f"{place}/{name}", held) for name, held in inside.items()]
        checks += [contains(f"{place}/{to}/{name}", files[f"{place}/{name}"]) for name, to in moves.items()]
        return Level(goal, both(folder(place, [*left, *folders]), *checks), after, steps, hints, keys)

    where = f'In the folder "{topic}" on the Desktop'
    cut = "Select a file, press Ctrl+X, open the other folder and press Ctrl+V."
    up = "Alt+Up goes back to the folder above."
    first, second = folders
    return State(
        files={path: text.encode() for path, text in files.items()},
        levels=[
            level(f'{where}, move the file "{page}" into the folder "{second}".', {page: second}, 4, (cut, up)),
            level(
                f'{where}, move all .csv files into the folder "{first}".',
                dict.fromkeys(sorted(tables), first),
                8,
                (cut, up, f'There are two such files, "{tables[0]}" and "{tables[1]}".'),
            ),
            level(
                f'{where}, move all .csv files into the folder "{first}" and all .txt files into the folder '
                f'"{second}". Leave everything else where it is.',
                dict.fromkeys(sorted(tables), first) | dict.fromkeys(sorted(notes), second),
                16,
                (cut, up, "There are two files of each sort."),
            ),
        ],
        opened=[opened(place)],
    )


KIND = Kind("sort_files", ("os",), make)
