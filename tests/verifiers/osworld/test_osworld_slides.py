"""Slide shows: each metric both ways."""

import io

import pytest
from lxml import etree
from osworld_desk import Desk, Web, picture, repacked, saved, score_files, show
from pptx.dml.color import RGBColor
from pptx.enum.dml import MSO_THEME_COLOR
from pptx.enum.text import PP_ALIGN
from pptx.util import Emu, Inches, Pt

from rlanything_verifiers.osworld import EvaluatorError, evaluate
from rlanything_verifiers.osworld.deck import read_deck
from rlanything_verifiers.osworld.file import File

P = "http://schemas.openxmlformats.org/presentationml/2006/main"


def score(func, result, expected=None, **options):
    return score_files(func, result, expected, name="a.pptx", **options)


def first(made):
    return made.slides[0].shapes.title.text_frame.paragraphs[0]


def box(made, text="box", slide=0, left=1.0, top=1.0):
    shape = made.slides[slide].shapes.add_textbox(Inches(left), Inches(top), Inches(3), Inches(1))
    shape.text_frame.text = text
    return shape


def note(made, text):
    made.slides[0].notes_slide.notes_text_frame.text = text


def background(made, rgb):
    fill = made.slides[0].background.fill
    fill.solid()
    fill.fore_color.rgb = RGBColor(*rgb)


def bullet(made, character):
    shape = first(made)._p.get_or_add_pPr()
    etree.SubElement(shape, "{http://schemas.openxmlformats.org/drawingml/2006/main}buChar").set("char", character)


def underline(made, value):
    first(made).runs[0].font.underline = value


def strike(made, value="sngStrike"):
    first(made).runs[0].font._element.set("strike", value)


def color(made, rgb):
    first(made).runs[0].font.color.rgb = RGBColor(*rgb)


def font(name, value):
    return lambda made: setattr(first(made).runs[0].font, name, value)


def group(made, alignment=None):
    grouped = made.slides[0].shapes.add_group_shape()
    inner = grouped.shapes.add_textbox(0, 0, Inches(1), Inches(1))
    inner.text_frame.text = "inner"
    inner.text_frame.paragraphs[0].alignment = alignment


def table(made, text="cell", bold=None, columns=2):
    cell = made.slides[0].shapes.add_table(1, columns, 0, 0, Inches(2), Inches(1)).table.cell(0, 0)
    cell.text = text
    cell.text_frame.paragraphs[0].runs[0].font.bold = bold


NOTHING = lambda made: None  # noqa: E731


@pytest.mark.parametrize(
    ("good", "bad", "option"),
    [
        (NOTHING, lambda made: setattr(first(made).runs[0], "text", "other"), None),
        (lambda made: color(made, (255, 0, 0)), lambda made: color(made, (250, 0, 0)), "examine_color_rgb"),
        (lambda made: color(made, (255, 0, 0)), NOTHING, "examine_color_rgb"),
        (font("bold", True), font("bold", False), "examine_font_bold"),
        (font("bold", False), font("bold", True), "examine_font_bold"),
        (font("italic", True), NOTHING, "examine_font_italic"),
        (lambda made: underline(made, True), NOTHING, "examine_font_underline"),
        (font("size", Pt(30)), font("size", Pt(31)), "examine_font_size"),
        (font("name", "Arial"), font("name", "Ariel"), "examine_font_name"),
        (strike, NOTHING, "examine_strike_through"),
        (lambda made: setattr(first(made), "alignment", PP_ALIGN.RIGHT), NOTHING, "examine_alignment"),
        (
            lambda made: setattr(first(made), "alignment", PP_ALIGN.LEFT),
            lambda made: setattr(first(made), "alignment", PP_ALIGN.CENTER),
            "examine_alignment",
        ),
        (lambda made: note(made, "say this"), lambda made: note(made, "say that"), "examine_note"),
        (
            lambda made: background(made, (0, 0, 255)),
            lambda made: background(made, (0, 0, 250)),
            "examine_background_color",
        ),
        (lambda made: background(made, (0, 0, 255)), NOTHING, "examine_background_color"),
        (lambda made: bullet(made, "•"), NOTHING, "examine_bullets"),
        (lambda made: box(made, left=1), lambda made: box(made, left=1.2), "examine_shape"),
        (lambda made: group(made), lambda made: group(made, PP_ALIGN.CENTER), "examine_alignment"),
        (lambda made: made.slides.add_slide(made.slide_layouts[5]), NOTHING, "examine_number_of_slides"),
        (box, NOTHING, None),
        (group, box, None),
        (lambda made: table(made, bold=True), table, None),
        (table, lambda made: table(made, columns=3), None),
    ],
)
def test_compare_pptx_files(good, bad, option):
    assert score("compare_pptx_files", show("title", change=good), show("title", change=good)) == 1
    assert score("compare_pptx_files", show("title", change=bad), show("title", change=good)) == 0
    if option:
        assert (
            score("compare_pptx_files", show("title", change=bad), show("title", change=good), **{option: False}) == 1
        )


def test_levels():
    def indented(level):
        def change(made):
            box(made).text_frame.paragraphs[0].level = level

        return show("title", change=change)

    assert score("compare_pptx_files", indented(2), indented(2)) == 1
    assert score("compare_pptx_files", indented(1), indented(2)) == 0
    assert score("compare_pptx_files", indented(1), indented(2), examine_indent=False, examine_bullets=False) == 1


def test_a_theme_colour_is_not_looked_up():
    def themed(made):
        first(made).runs[0].font.color.theme_color = MSO_THEME_COLOR.ACCENT_1

    red = show("title", change=lambda made: color(made, (255, 0, 0)))
    assert score("compare_pptx_files", show("title", change=themed), red) == 1


def test_left_is_where_a_text_without_alignment_is():
    left = show("title", change=lambda made: setattr(first(made), "alignment", PP_ALIGN.LEFT))
    assert score("compare_pptx_files", left, show("title")) == 1


def test_lengths_are_about_the_same():
    moved = show("title", change=lambda made: box(made, left=1.004))
    assert score("compare_pptx_files", moved, show("title", change=box)) == 1
    assert score("compare_pptx_files", moved, show("title", change=box), approximately_tolerance=0.001) == 0


def placed(slide, kind, **place):
    """A show of three slides with one thing that has a place."""

    def change(made):
        if kind == "picture":
            shape = made.slides[slide].shapes.add_picture(io.BytesIO(picture()), 0, 0)
        elif kind == "table":
            shape = made.slides[slide].shapes.add_table(1, 1, 0, 0, Inches(1), Inches(1))
        else:
            shape = box(made, kind, slide)
        for name, value in place.items():
            setattr(shape, name, Emu(value))

    return show("a", "b", "c", change=change)


@pytest.mark.parametrize(
    ("option", "slide", "kind", "start", "good", "bad"),
    [
        (
            "examine_title_bottom_position",
            0,
            "Product Comparison",
            {"top": 100_000},
            {"top": 4_000_000},
            {"top": 3_000_000},
        ),
        ("examine_table_bottom_position", 2, "table", {"top": 100_000}, {"top": 4_000_000}, {"top": 3_000_000}),
        ("examine_right_position", 1, "picture", {"left": 100_000}, {"left": 5_000_000}, {"left": 2_000_000}),
        ("examine_top_position", 1, "picture", {"top": 4_000_000}, {"top": 100_000}, {"top": 3_000_000}),
        (
            "examine_image_size",
            0,
            "picture",
            {"width": 900_000},
            {"left": 70_000, "width": 900_000},
            {"width": 500_000},
        ),
        (
            "examine_modify_height",
            0,
            "picture",
            {"height": 900_000},
            {"width": 70_000, "height": 900_000},
            {"height": 500_000},
        ),
        ("examine_shape_for_shift_size", 0, "Elaborate on what you want to discuss.", {}, {"top": 4_000_000}, None),
    ],
)
def test_things_that_tasks_move(option, slide, kind, start, good, bad):
    options = {option: True, "examine_shape": False}
    expected = placed(slide, kind, **start)
    assert score("compare_pptx_files", placed(slide, kind, **start | good), expected, **options) == 1
    assert score("compare_pptx_files", placed(slide, kind, **start | good), expected) == 0
    wrong = placed(slide, "box", top=4_000_000) if bad is None else placed(slide, kind, **start | bad)
    model = placed(slide, "box") if bad is None else expected
    assert score("compare_pptx_files", wrong, model, **options) == 0


def test_orientation():
    def turned(made):
        made.slide_width, made.slide_height = made.slide_height, made.slide_width

    assert score("check_slide_orientation_Portrait", show("a", change=turned)) == 1
    assert score("check_slide_orientation_Portrait", show("a")) == 0


def test_transition():
    def coming(kind):
        def change(made):
            element = etree.SubElement(made.slides[1]._element, f"{{{P}}}transition")
            etree.SubElement(element, f"{{{P}}}{kind}")

        return show("a", "b", change=change)

    rules = {"slide_idx": 1, "transition_type": "dissolve"}
    assert score("check_transition", coming("dissolve"), rules=rules) == 1
    assert score("check_transition", coming("fade"), rules=rules) == 0
    assert score("check_transition", coming("dissolve"), rules=rules | {"slide_idx": 0}) == 0
    assert score("check_transition", coming("dissolve"), rules=rules | {"slide_idx": 7}) == 0


def test_fill():
    rules = {"rgb": [0, 0, 255], "original_rgb": [255, 255, 255]}

    def filled(rgb):
        return show("a", change=lambda made: background(made, rgb))

    assert score("evaluate_presentation_fill_to_rgb_distance", filled((0, 0, 255)), rules=rules) == 1
    assert score("evaluate_presentation_fill_to_rgb_distance", filled((255, 255, 255)), rules=rules) == 0
    assert score("evaluate_presentation_fill_to_rgb_distance", show("a"), rules=rules) == 0
    near = score("evaluate_presentation_fill_to_rgb_distance", filled((0, 0, 128)), rules=rules)
    assert near == pytest.approx(1 - 127 / (255 * 3**0.5))
    assert score("evaluate_presentation_fill_to_rgb_distance", show(), rules=rules) == 0


def test_strikethrough():
    rules = {"slide_index_s": [0], "shape_index_s": [0], "paragraph_index_s": [0]}
    assert score("check_strikethrough", show("a", change=strike), rules=rules) == 1
    assert score("check_strikethrough", show("a"), rules=rules) == 0
    assert score("check_strikethrough", show("a", change=strike), rules=rules | {"shape_index_s": [5]}) == 0


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("red", "C81414", "C89614"),
        ("green", "14C814", "C8C814"),
        ("blue", "1414C8", "14C8C8"),
        ("purple", "C814C8", "C81414"),
        ("yellow", "C8C814", "14C814"),
        ("black", "101010", "603010"),
        ("white", "F0F0F0", "F0F0B0"),
    ],
)
def test_colour_of_page_numbers(name, good, bad):
    def master(value):
        def change(parts):
            place = "ppt/slideMasters/slideMaster1.xml"
            fill = "<a:solidFill><a:srgbClr val='%s'/></a:solidFill>"
            fills = fill % value + fill % "123456"
            tail = f"<x xmlns:a='http://schemas.openxmlformats.org/drawingml/2006/main'>{fills}</x></p:sldMaster>"
            parts[place] = parts[place].replace(b"</p:sldMaster>", tail.encode())

        return repacked(show("a"), change)

    assert score("check_page_number_colors", master(good), rules={"color": name}) == 1
    assert score("check_page_number_colors", master(bad), rules={"color": name}) == 0
    with pytest.raises(EvaluatorError, match="mauve"):
        score("check_page_number_colors", master(good), rules={"color": "mauve"})


def test_stretched_picture():
    def stretched(data=None, **place):
        def change(made):
            size = made.slide_width, made.slide_height
            shape = made.slides[0].shapes.add_picture(io.BytesIO(data or picture()), 0, 0, *size)
            for name, value in place.items():
                setattr(shape, name, Inches(value))

        return show("a", change=change)

    original = stretched(left=1, top=1, width=2, height=1)
    assert score("check_image_stretch_and_center", stretched(), original) == 1
    assert score("check_image_stretch_and_center", stretched(left=1), original) == 0
    assert score("check_image_stretch_and_center", stretched(width=3), original) == 0
    assert score("check_image_stretch_and_center", stretched(picture(24)), original) == 0
    assert score("check_image_stretch_and_center", show("a"), original) == 0


def test_parts_of_a_slide():
    """The getters for what lies behind a slide and what it plays."""
    relation = '<Relationship Id="rId99" Type="http://x/%s" Target="%s"/></Relationships>'

    def related(kind, target, extra=()):
        def change(parts):
            name = "ppt/slides/_rels/slide1.xml.rels"
            parts[name] = parts[name].replace(b"</Relationships>", (relation % (kind, target)).encode())
            slide = parts["ppt/slides/slide1.xml"].replace(
                b"<p:cSld>", b'<p:cSld><p:bg><p:bgPr><a:blipFill><a:blip r:embed="rId99"/></a:blipFill></p:bgPr></p:bg>'
            )
            if b'xmlns:r="' not in slide:
                slide = slide.replace(
                    b"<p:sld ", b'<p:sld xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
                )
            parts["ppt/slides/slide1.xml"] = slide
            parts.update(extra)

        return repacked(show("a"), change)

    gold = picture()
    evaluator = {"func": "compare_images", "expected": {"type": "cloud_file", "path": "u", "dest": "gold.png"}}
    place = {"ppt_file_path": "/a.pptx", "slide_index": "0", "dest": "got.png"}
    for kind, getter in (("image", "background_image_in_slide"), ("audio", "audio_in_slide")):
        evaluator["result"] = {"type": getter, **place}
        inside = related(kind, "../media/it.png", {"ppt/media/it.png": gold})
        beside = related(kind, "file:///home/it.png")
        for files, wanted in (
            ({"/a.pptx": inside}, 1),
            ({"/a.pptx": beside, "/home/it.png": gold}, 1),
            ({"/a.pptx": beside}, 0),
            ({"/a.pptx": related(kind, "../media/gone.png")}, 0),
            ({"/a.pptx": show("a")}, 0),
            ({}, 0),
        ):
            assert evaluate(evaluator, Desk(files), last_action="DONE", files=Web(u=gold)) == wanted


def test_a_deck_is_plain_data():
    deck = read_deck(File("a.pptx", saved(__import__("pptx").Presentation())))
    assert deck == read_deck(File("b.pptx", saved(__import__("pptx").Presentation())))
    assert (deck.width, deck.height, deck.slides) == (9144000, 6858000, ())
