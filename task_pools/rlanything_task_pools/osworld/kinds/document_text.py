"""The text of a document is changed in the word processor."""

from rlanything_task_pools.osworld.checks import compared
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Level, State, draw_several, opened, pressed, typed
from rlanything_task_pools.osworld.office import Document, Paragraph
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream

SAVE = pressed("ctrl+s")


def make(rng: RngStream, words: Words) -> State:
    """A document with a title and a few paragraphs."""
    name = f"{rng.pick(words.files)}.docx"
    path = f"{DESKTOP}/{name}"
    city, other = draw_several(rng, words.places, 2)
    *lines, new, more = draw_several(rng, words.sentences, 5)
    title, better = f"Notes from {city}", f"Letters from {other}"
    texts = [title, *lines]

    def level(goal: str, after: list[str], steps: float, hints: tuple[str, ...], keys: list[str]) -> Level:
        gold = _file(after)
        return Level(
            f'In the document "{name}" on the Desktop, {goal} Save the file.',
            compared("compare_docx_files", path, gold, ignore_blanks=False),
            {path: gold},
            steps,
            (*hints, "Press Ctrl+S to save the file."),
            [*keys, SAVE],
        )

    at_end = "Ctrl+End goes to the end, Enter begins a paragraph."
    at_top = "Ctrl+Home and Shift+End select the first line."
    add = [f"{pressed('ctrl+end', 'enter')}; {typed(new)}"]
    retitle = [f"{pressed('ctrl+home', 'shift+end')}; {typed(better)}"]
    added = f'add the paragraph "{new}" at the end.'
    titled = f'replace the title "{title}" by "{better}"'
    insert = [f"{pressed('ctrl+home', 'end', 'enter')}; {typed(more)}"]
    return State(
        files={path: _file(texts)},
        levels=[
            level(added, [*texts, new], 2, (at_end,), add),
            level(f"{titled}.", [better, *lines], 3, (at_top,), retitle),
            level(f"{titled}, and {added}", [better, *lines, new], 5, (at_top, at_end), retitle + add),
            level(
                f'{titled}, insert the paragraph "{more}" right below it, and {added}',
                [better, more, *lines, new],
                7,
                (at_top, at_end),
                retitle + insert + add,
            ),
        ],
        opened=[opened(path)],
    )


def _file(texts: list[str]) -> bytes:
    return Document([Paragraph(text) for text in texts]).to_bytes()


KIND = Kind("document_text", ("libreoffice_writer",), make)
