"""Slides get another background, or stand upright."""

from dataclasses import replace

from rlanything_task_pools.osworld.checks import both, compared, file
from rlanything_task_pools.osworld.kinds._slides import WORDS_ONLY
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Level, State, draw_several, opened
from rlanything_task_pools.osworld.office import Slide, Slides
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream

COLOURS = {"red": "FF0000", "blue": "0000FF", "yellow": "FFFF00"}


def make(rng: RngStream, words: Words) -> State:
    """Two slides on a white ground, wider than high."""
    name = f"{rng.pick(words.files)}.pptx"
    path = f"{DESKTOP}/{name}"
    one, two = (f"About {place}" for place in draw_several(rng, words.places, 2))
    text, other = draw_several(rng, words.sentences, 2)
    colour, second = draw_several(rng, list(COLOURS), 2)
    plain = [Slide(one, text), Slide(two, other)]

    def level(goal: str, ground: str, painted: int, portrait: bool, steps: float, hints: tuple[str, ...]) -> Level:
        done = [
            replace(slide, background=COLOURS[ground]) if number < painted else slide
            for number, slide in enumerate(plain)
        ]
        gold = Slides(done, portrait).to_bytes()
        checks = [compared("compare_pptx_files", path, gold, **WORDS_ONLY, examine_background_color=True)]
        if portrait:
            checks.append({"func": "check_slide_orientation_Portrait", "result": file(path)})
        return Level(
            f'In the presentation "{name}" on the Desktop, {goal}. Save the file.',
            both(*checks),
            {path: gold},
            steps,
            (*hints, "Press Ctrl+S to save the file."),
        )

    page = "Slide Properties in the menu Slide has a page for the background, where Color can be chosen."
    upright = "Slide Properties in the menu Slide has a page with the orientation."
    first = f"give the first slide a {colour} background (#{COLOURS[colour]})"
    turned = "change the orientation of the slides to portrait"
    return State(
        files={path: Slides(plain).to_bytes()},
        levels=[
            level(f"{first} and leave the second one as it is", colour, 1, False, 4, (page,)),
            level(f"give both slides a {colour} background (#{COLOURS[colour]})", colour, 2, False, 6, (page,)),
            level(
                f"{turned}, and give both a {second} background (#{COLOURS[second]})",
                second,
                2,
                True,
                9,
                (upright, page),
            ),
        ],
        opened=[opened(path)],
    )


KIND = Kind("slide_design", ("libreoffice_impress",), make)
