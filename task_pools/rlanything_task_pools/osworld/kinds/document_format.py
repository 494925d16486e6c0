"""A document gets another look: a centered title, another font, a page break."""

from dataclasses import replace

from rlanything_task_pools.osworld.checks import both, compared, file, ruled
from rlanything_task_pools.osworld.kinds.base import (
    DESKTOP,
    Kind,
    Level,
    State,
    draw_several,
    named,
    opened,
    pressed,
    typed,
)
from rlanything_task_pools.osworld.office import Document, Paragraph
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream

SAVE = pressed("ctrl+s")
FONTS = ("Liberation Sans", "DejaVu Sans", "Liberation Mono")


def make(rng: RngStream, words: Words) -> State:
    """A document in one font, whose title is on the left."""
    name = f"{rng.pick(words.files)}.docx"
    path = f"{DESKTOP}/{name}"
    font = rng.pick(FONTS)
    title, better = (f"Notes from {place}" for place in draw_several(rng, words.places, 2))
    lines = [title, *draw_several(rng, words.sentences, 4)]
    plain = [Paragraph(text) for text in lines]
    last = len(plain) - 1

    def level(goal: str, done: list[Paragraph], steps: float, hints: tuple[str, ...], keys: list[str]) -> Level:
        gold = Document(done).to_bytes()
        checks = [compared("compare_docx_layout", path, gold)]
        if not any(paragraph.page_break for paragraph in done):  # the program gives a page break no font
            checks.append(ruled("compare_font_names", file(path), {"font_name": done[0].font}))
        return Level(
            f'In the document "{name}" on the Desktop, {goal}. Save the file.',
            both(*checks),
            {path: gold},
            steps,
            (*hints, "Press Ctrl+S to save the file."),
            [*keys, SAVE],
        )

    how_center = "Put the cursor into the title and press Ctrl+E."
    how_font = "Select all with Ctrl+A and choose the font in the box with the name of the font."
    how_break = "Put the cursor before the paragraph and press Ctrl+Enter."
    center = [pressed("ctrl+home", "ctrl+e")]
    at_last = [pressed("ctrl+end", "home", "ctrl+enter")]
    at_second = [pressed("ctrl+home", "down", "home", "ctrl+enter")]
    centered = [replace(plain[0], centered=True), *plain[1:]]
    broken = [*plain[:last], replace(plain[last], page_break=True)]
    second = replace(plain[1], page_break=True)
    retitled = [replace(centered[0], text=better), second, *broken[2:]]
    return State(
        files={path: Document(plain).to_bytes()},
        levels=[
            level("center the title", centered, 2, (how_center,), center),
            level(
                f'begin a new page right before the last paragraph, "{lines[last]}"', broken, 3, (how_break,), at_last
            ),
            level(
                f"center the title and set the font of the whole text to {font}",
                [replace(paragraph, font=font) for paragraph in centered],
                5,
                (how_center, how_font),
                [*_in_font(font), *center],
            ),
            level(
                f'replace the title by "{better}", center it, and begin a new page right before the second paragraph, '
                f'"{lines[1]}", and another one before the last, "{lines[last]}"',
                retitled,
                8,
                (how_center, how_break),
                [f"{pressed('ctrl+home', 'shift+end')}; {typed(better)}", *center, *at_last, *at_second],
            ),
        ],
        opened=[opened(path)],
    )


def _in_font(name: str) -> list[str]:
    return [pressed("ctrl+a"), pressed("alt+o"), pressed("down*5", "enter"), pressed("tab"), named(name)]


KIND = Kind("document_format", ("libreoffice_writer",), make)
