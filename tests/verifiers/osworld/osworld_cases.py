"""Evaluations of files and values with known content, for the comparison with OSWorld's own metrics."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from docx.enum.text import WD_BREAK, WD_COLOR_INDEX, WD_LINE_SPACING
from docx.shared import Pt as DocxPt
from docx.shared import RGBColor as DocxColor
from lxml import etree
from openpyxl.styles import Font, PatternFill
from osworld_desk import letter, picture, sheet, show, zipped
from osworld_sounds import tone
from PIL import Image, ImageEnhance, ImageOps
from pptx.dml.color import RGBColor
from pptx.enum.text import PP_ALIGN
from pptx.util import Inches, Pt

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


@dataclass(frozen=True)
class Case:
    """One evaluation.

    Attributes:
        metric: Name.
        arguments: Result and, where there is one, expectation: bytes of a file, or a value.
        suffix: Of the files.
        options: Options of the metric.
        name: Describes it.
    """

    metric: str
    arguments: tuple[Any, ...]
    name: str
    suffix: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


def against(metric: str, files: Mapping[str, bytes], suffix: str, *options: dict[str, Any]) -> Iterator[Case]:
    """Each file against the first one, the first against each, and each against itself."""
    first = next(iter(files))
    pairs = dict.fromkeys(pair for name in files for pair in ((name, first), (first, name), (name, name)))
    for (one, other), chosen in product(pairs, options or ({},)):
        yield Case(metric, (files[one], files[other]), f"{one} / {other} {chosen or ''}".strip(), suffix, chosen)


def with_rules(
    metric: str, files: Mapping[str, bytes], suffix: str, rules: list[Any], *options: dict[str, Any]
) -> Iterator[Case]:
    """Each file with each of some rules."""
    for name, rule, chosen in product(files, rules, options or ({},)):
        yield Case(metric, (files[name], rule), f"{name} / {json.dumps(rule)[:80]}", suffix, chosen)


def alone(metric: str, files: Mapping[str, bytes], suffix: str) -> Iterator[Case]:
    """Each file."""
    return (Case(metric, (data,), name, suffix) for name, data in files.items())


# --- text documents ---

TEXTS = ("It was a dark night.", "Rain fell\tin torrents. Wind.", "The end has come. Now", "")


def documents() -> dict[str, bytes]:
    """Documents that differ from the first in one thing."""

    def first(change: Callable[[Any], Any]) -> Callable[[Any], None]:
        return lambda made: change(made.paragraphs[0]) and None

    def run(change: Callable[[Any], Any]) -> Callable[[Any], None]:
        return lambda made: [change(part.runs[0]) for part in made.paragraphs if part.runs] and None

    def cell(text: str, rows: int = 2) -> Callable[[Any], None]:
        def change(made: Any) -> None:
            table = made.add_table(rows, 2)
            table.cell(0, 0).text = text
            table.cell(rows - 1, 1).text = "last"

        return change

    def set_font(run: Any, **values: Any) -> None:
        for name, value in values.items():
            setattr(run.font, name, value)

    changes: dict[str, Callable[[Any], None]] = {
        "same": lambda made: None,
        "bold": run(lambda r: set_font(r, bold=True)),
        "italic 14": run(lambda r: set_font(r, italic=True, size=DocxPt(14))),
        "italic 12": run(lambda r: set_font(r, italic=True, size=DocxPt(12))),
        "font": run(lambda r: set_font(r, name="Arial")),
        "struck": run(lambda r: set_font(r, strike=True)),
        "lowered": run(lambda r: set_font(r, subscript=True)),
        "red": run(lambda r: set_font(r, color=None) if False else setattr(r.font.color, "rgb", DocxColor(255, 0, 0))),
        "highlighted": run(lambda r: set_font(r, highlight_color=WD_COLOR_INDEX.YELLOW)),
        "centred": first(lambda p: setattr(p, "alignment", 1)),
        "double": first(lambda p: setattr(p.paragraph_format, "line_spacing_rule", WD_LINE_SPACING.DOUBLE)),
        "break": first(lambda p: p.runs[0].add_break(WD_BREAK.PAGE)),
        "stop": first(lambda p: p.paragraph_format.tab_stops.add_tab_stop(DocxPt(100))),
        "more": lambda made: made.add_paragraph("One more.") and None,
        "blank": lambda made: made.add_paragraph("   ") and None,
        "table": cell("cell"),
        "table, tab": cell("a\tb"),
        "table, lines": cell("a\nb"),
        "table, other": cell("a b"),
        "table, rows": cell("cell", rows=3),
        "picture": lambda made: made.add_picture(io.BytesIO(picture(8, 8))) and None,
        "picture, other": lambda made: made.add_picture(io.BytesIO(picture(8, 8, ImageOps.mirror))) and None,
    }
    made = {name: letter(*TEXTS, change=change) for name, change in changes.items()}
    made["case"] = letter(*(text.upper() for text in TEXTS))
    made["order"] = letter(*TEXTS[::-1])
    made["words"] = letter(*TEXTS[:2], "The end had come. Now", "")
    made["spaces"] = letter("It was  a dark night.", *TEXTS[1:])
    made["empty"] = letter()
    made["trains"] = letter("08:00:00,T1,S1,1", "08:05:00,T2,S1,1", "08:09:00,T1,S2,4")
    made["trains, once"] = letter("08:00:00,T1,S1,1", "08:05:00,T2,S1,1")
    made["references"] = letter("Text.", "References", "Smith, A. (2001). On things.", "Lee, B. (2002). On more.")
    return made


def text_documents() -> Iterator[Case]:
    """Cases of the metrics of text documents."""
    files = documents()
    texts = ("case", "order", "words", "spaces", "empty", "more", "blank", "bold")
    some = {name: files[name] for name in ("same", *texts)}
    switches = ("ignore_blanks", "ignore_case", "ignore_order", "content_only", "fuzzy_match", "delete_empty_lines")
    options = [{}, {"ignore_blanks": False}, *({name: True} for name in switches[1:])]
    options += [{"ignore_blanks": False, name: True} for name in switches[1:]]
    yield from against("compare_docx_files", some, ".docx", *options)
    for name in ("compare_docx_files_and_ignore_new_lines", "compare_docx_lines", "compare_init_lines"):
        yield from against(name, some, ".docx")
    tables = {name: files[name] for name in files if name.startswith("table")}
    yield from against("compare_docx_tables", {"same": files["same"], **tables}, ".docx")
    yield from against("compare_docx_tables", tables, ".docx")
    pictures = {name: files[name] for name in ("same", "picture", "picture, other", "more")}
    for name in ("compare_docx_images", "compare_contains_image"):
        yield from against(name, pictures, ".docx")
    yield from against("compare_line_spacing", {name: files[name] for name in ("same", "double", "more")}, ".docx")
    yield from against("check_tabstops", {name: files[name] for name in ("same", "stop", "more")}, ".docx")
    yield from against("compare_subscript_contains", {name: files[name] for name in ("same", "lowered")}, ".docx")
    yield from against("compare_highlighted_text", {name: files[name] for name in ("same", "highlighted")}, ".docx")
    trains = {name: files[name] for name in ("trains, once", "trains", "same")}
    yield from against("check_no_duplicates", trains, ".docx")
    looks = {name: files[name] for name in ("same", "italic 14", "italic 12", "struck", "red", "words")}
    for name in ("check_italic_font_size_14", "evaluate_strike_through_last_paragraph"):
        yield from against(name, looks, ".docx")
    yield from against("compare_references", {"a": files["references"], "b": files["same"]}, ".docx")
    every = ("evaluate_alignment", "is_first_line_centered", "has_page_numbers_in_footers", "evaluate_conversion")
    for name in (*every, "evaluate_spacing"):
        yield from alone(name, files, ".docx")
    breaks = {name: files[name] for name in ("same", "break", "empty")}
    yield from with_rules("contains_page_break", breaks, ".docx", [{"page_break_count": 1}, {"page_break_count": 2}])
    yield from with_rules("compare_font_names", files, ".docx", [{"font_name": "Arial"}])


# --- slide shows ---


def shows() -> dict[str, bytes]:
    """Slide shows that differ from the first in one thing."""

    def paragraph(made: Any) -> Any:
        return made.slides[0].shapes.title.text_frame.paragraphs[0]

    def font(name: str, value: Any) -> Callable[[Any], None]:
        return lambda made: setattr(paragraph(made).runs[0].font, name, value)

    def colour(made: Any) -> None:
        paragraph(made).runs[0].font.color.rgb = RGBColor(255, 0, 0)

    def bullet(made: Any) -> None:
        etree.SubElement(paragraph(made)._p.get_or_add_pPr(), f"{A}buChar").set("char", "-")

    def background(made: Any) -> None:
        made.slides[0].background.fill.solid()
        made.slides[0].background.fill.fore_color.rgb = RGBColor(0, 0, 255)

    def box(made: Any, text: str = "box", top: float = 3) -> None:
        shape = made.slides[0].shapes.add_textbox(Inches(1), Inches(top), Inches(3), Inches(1))
        shape.text_frame.text = text

    def table(made: Any, bold: bool | None = None, text: str = "cell") -> None:
        cell = made.slides[0].shapes.add_table(2, 2, 0, 0, Inches(2), Inches(1)).table.cell(0, 0)
        cell.text = text
        cell.text_frame.paragraphs[0].runs[0].font.bold = bold

    def group(made: Any, align: Any = None) -> None:
        inner = made.slides[0].shapes.add_group_shape().shapes.add_textbox(0, 0, Inches(1), Inches(1))
        inner.text_frame.text = "inner"
        inner.text_frame.paragraphs[0].alignment = align

    def image(made: Any, width: float = 2) -> None:
        made.slides[0].shapes.add_picture(io.BytesIO(picture()), 0, 0, Inches(width))

    def master(made: Any, rgb: tuple[int, int, int]) -> None:
        made.slide_master.background.fill.solid()
        made.slide_master.background.fill.fore_color.rgb = RGBColor(*rgb)

    def move(made: Any, factor: float) -> None:
        title = made.slides[0].shapes.title
        title.left, title.top, title.width, title.height = (int(Inches(part) * factor) for part in (1, 1, 4, 1))

    changes: dict[str, Callable[[Any], Any]] = {
        "same": lambda made: None,
        "bold": font("bold", True),
        "not bold": font("bold", False),
        "italic": font("italic", True),
        "underlined": font("underline", True),
        "not underlined": font("underline", False),
        "size": font("size", Pt(40)),
        "font": font("name", "Arial"),
        "red": colour,
        "struck": lambda made: paragraph(made).runs[0].font._element.set("strike", "sngStrike"),
        "centred": lambda made: setattr(paragraph(made), "alignment", PP_ALIGN.CENTER),
        "left": lambda made: setattr(paragraph(made), "alignment", PP_ALIGN.LEFT),
        "level": lambda made: setattr(paragraph(made), "level", 2),
        "bullet": bullet,
        "background": background,
        "master": lambda made: master(made, (0, 255, 0)),
        "note": lambda made: setattr(made.slides[0].notes_slide.notes_text_frame, "text", "note"),
        "box": box,
        "box, other text": lambda made: box(made, "other"),
        "box, lower": lambda made: box(made, top=5),
        "box, little lower": lambda made: box(made, top=3.005),
        "table": table,
        "table, bold": lambda made: table(made, True),
        "table, text": lambda made: table(made, text="other"),
        "group": group,
        "group, centred": lambda made: group(made, PP_ALIGN.CENTER),
        "picture": image,
        "picture, wide": lambda made: image(made, 4),
        "moved": lambda made: move(made, 1.0),
        "moved, a little": lambda made: move(made, 1.003),
        "moved, more": lambda made: move(made, 1.2),
        "runs": lambda made: setattr(paragraph(made).add_run(), "text", ""),
        "upright": lambda made: setattr(made, "slide_width", 5_000_000),
    }
    made = {name: show("One", "Two", change=change) for name, change in changes.items()}
    made["text"] = show("One!", "Two")
    made["fewer"] = show("One")
    made["numbers"] = show("1", "2")
    return made


def slide_shows() -> Iterator[Case]:
    """Cases of the metrics of slide shows."""
    files = shows()
    yield from against("compare_pptx_files", files, ".pptx")
    for name in ("box", "table", "group", "picture", "moved"):
        some = {other: data for other, data in files.items() if other.startswith(name)}
        yield from against("compare_pptx_files", some, ".pptx")
        yield from against("compare_pptx_files", some, ".pptx", {"examine_shape": False})
    for name in ("text", "font_bold", "alignment", "bullets", "note"):
        some = {other: files[other] for other in ("same", "bold", "centred", "bullet", "note", "text")}
        yield from against("compare_pptx_files", some, ".pptx", {f"examine_{name}": False})
    yield from alone("check_slide_orientation_Portrait", files, ".pptx")
    yield from alone("check_slide_numbers_color", {"numbers": files["numbers"]}, ".pptx")
    fill = [{"rgb": [0, 0, 255]}, {"rgb": [0, 255, 0], "original_rgb": [0, 0, 255]}]
    yield from with_rules("evaluate_presentation_fill_to_rgb_distance", files, ".pptx", fill)
    yield from against("check_image_stretch_and_center", {"a": files["picture"], "b": files["picture, wide"]}, ".pptx")


# --- sheets ---


def sheets() -> Iterator[Case]:
    """Cases of the metrics of sheets."""
    rows = (["item", "qty"], ["apple", 3], ["pear", 5.5], ["plum", None])

    def book(change: Callable[[Any], Any] = lambda made: None, title: str = "Sheet1", *more: list[Any]) -> bytes:
        return sheet(*rows, *more, change=change, title=title)

    files = {
        "same": book(),
        "value": book(lambda made: made.__setitem__("B2", 4)),
        "type": book(lambda made: made.__setitem__("B2", "3")),
        "title": book(title="Other"),
        "row": book(lambda made: None, "Sheet1", ["fig", 1]),
        "bold": book(lambda made: setattr(made["A1"], "font", Font(bold=True))),
        "fill": book(lambda made: setattr(made["A1"], "fill", PatternFill("solid", start_color="FFFF0000"))),
        "frozen": book(lambda made: setattr(made, "freeze_panes", "A2")),
        "zoom": book(lambda made: setattr(made.sheet_view, "zoomScale", 60)),
        "width": book(lambda made: setattr(made.column_dimensions["A"], "width", 40)),
        "hidden": book(lambda made: setattr(made.row_dimensions[2], "hidden", True)),
    }
    pair = {"sheet_idx0": 0, "sheet_idx1": "EI0"}
    rules: list[dict[str, Any]] = [
        {"type": "sheet_name"},
        {"type": "sheet_data", **pair},
        {"type": "sheet_data", **pair, "precision": 0},
        {"type": "style", **pair, "props": ["font_bold", "fgcolor"]},
        {"type": "freeze", **pair},
        {"type": "zoom", "sheet_idx": 0, "method": "lt", "ref": 100},
        {"type": "row_props", **pair, "props": ["hidden"]},
        {"type": "check_cell", "sheet_idx": 0, "coordinate": "B2", "props": {"value": {"method": "eq", "ref": 3}}},
    ]
    for rule in rules:
        yield from against("compare_table", files, ".xlsx", {"rules": [rule]})


# --- pictures, sounds ---


def pictures() -> Iterator[Case]:
    """Cases of the metrics of pictures."""
    changes: dict[str, Callable[[Image.Image], Image.Image]] = {
        "same": lambda image: image,
        "darker": lambda image: ImageEnhance.Brightness(image).enhance(0.6),
        "brighter": lambda image: ImageEnhance.Brightness(image).enhance(1.4),
        "contrast": lambda image: ImageEnhance.Contrast(image).enhance(1.5),
        "colourful": lambda image: ImageEnhance.Color(image).enhance(1.8),
        "mirrored": ImageOps.mirror,
        "inverted": ImageOps.invert,
        "small": lambda image: image.resize((48, 32)),
        "gray": lambda image: image.convert("L").convert("RGB"),
        "few colours": lambda image: image.convert("P", palette=Image.Palette.ADAPTIVE, colors=4),
    }
    files = {name: picture(96, 64, change) for name, change in changes.items()}
    pairs = ("compare_images", "compare_image_list", "check_structure_sim", "check_structure_sim_resized")
    changed = ("brightness_decrease", "contrast_increase", "saturation_increase")
    for name in (
        *pairs,
        "check_image_mirror",
        "check_sharper",
        *(f"check_{each}_and_structure_sim" for each in changed),
    ):
        yield from against(name, files, ".png")
    sizes = [{"height": 64, "width": 96}, {"height": 64}, {"width": 48, "height": None}]
    yield from with_rules("check_image_size", files, ".png", sizes)
    yield from with_rules("check_image_file_size", files, ".png", [{"max_size": 100}, {"max_size": 10**6}])
    yield from alone("check_triangle_position", files, ".png")
    yield from alone("check_green_background", {}, ".png")


def sounds() -> Iterator[Case]:
    """Cases of the metric of sounds."""
    files = {"same": tone(2, 300), "slower": tone(2.5, 300), "higher": tone(2, 900), "short": tone(0.2, 300)}
    files["silence"] = tone(2, 0)
    yield from against("compare_audios", files, ".wav")


# --- text and settings files ---


def settings() -> Iterator[Case]:
    """Cases of the metrics of settings files."""
    keys = {
        "check_qt_bgcone": ("qt-bgcone", "expected_qt_bgcone"),
        "check_qt_max_volume": ("qt-max-volume", "expected_qt_max_volume"),
        "check_qt_minimal_view": ("qt-minimal-view", "expected_qt_minimal_view"),
        "check_global_key_play_pause": ("global-key-play-pause", "expected_global_key_play_pause"),
        "check_one_instance_when_started_from_file": (
            "one-instance-when-started-from-file",
            "expected_one_instance_when_started_from_file",
        ),
        "is_vlc_recordings_folder": ("input-record-path", "recording_file_path"),
    }
    for metric, (key, expected) in keys.items():
        files = {"none": b"# nothing\n", "undecodable": b"\xff\xfe\xfa x\n", "other": b"a=b\n"}
        files |= {f"{key}={value}": f"[core]\n{key}={value}\n".encode() for value in ("0", "1", "125", "200", "/home")}
        yield from with_rules(metric, files, "", [{expected: value} for value in ("0", "1", "125", "200", "/home")])

    def status(**info: str) -> bytes:
        lines = "".join(f"<info name='{name}'>{text}</info>" for name, text in info.items() if name != "state")
        state = info.get("state", "playing")
        category = f"<category name='meta'>{lines}</category>"
        return f"<root><state>{state}</state><information>{category}</information></root>".encode()

    playing = {
        "file": status(filename="a.mp4"),
        "path": status(uri="file:///home/a.mp4"),
        "title": status(title="a.mp4", filename="b.mp4"),
        "artist": status(artist="a.mp4"),
        "stream": status(url="http://x.org/live.m3u8"),
        "stream name": status(filename="live.m3u8"),
        "paused": status(filename="a.mp4", state="paused"),
        "nothing": status(),
    }
    names = [{"type": "file_name", "file_name": "a.mp4"}, {"type": "url", "url": "http://x.org/live.m3u8"}]
    yield from with_rules("is_vlc_playing", playing, ".xml", names)
    prefs = {"set": b'user_pref("a.b", 3);\nuser_pref("c", "x");\n', "empty": b"", "odd": b'user_pref("a.b", );\n'}
    expects = [{"expect": {"a.b": {"method": "eq", "ref": 3}}}, {"unexpect": {"c": {"method": "re", "ref": "x"}}}]
    yield from with_rules("check_thunderbird_prefs", prefs, ".js", expects)
    gimp = {"set": b'# c\n(theme "Dark")\n(undo-levels 100)\n', "empty": b"# nothing\n"}
    wanted = [{"key": "theme", "value": '"Dark"'}, {"key": "undo-levels", "value": "100"}, {"key": "x", "value": "1"}]
    yield from with_rules("check_config_status", gimp, "", [{"type": "key-value", **each} for each in wanted])


def texts() -> Iterator[Case]:
    """Cases of the metrics of plain text."""
    files = {
        "same": b"one\ntwo  words\nthree\n",
        "case": b"One\nTWO  words\nthree\n",
        "blanks": b"one\ntwo words\nthree\n",
        "no end": b"one\ntwo  words\nthree",
        "line": b"one\ntwo  words\nfour\n",
        "windows": b"one\r\ntwo  words\r\nthree\r\n",
        "empty": b"",
    }
    yield from against("compare_text_file", files, ".txt", {}, {"ignore_blanks": True}, {"ignore_case": True})
    yield from against("compare_csv", files, ".csv", {}, {"strict": False}, {"ignore_case": True})
    yield from against("diff_text_file", files, ".txt")
    yield from against("compare_python_pure_text", files, ".py")
    yield from against("compare_result_files", {**files, "number": b"3.5", "text": b"about 3.5"}, ".txt")
    yield from with_rules("file_contains", files, ".txt", [{"expected": ["one"]}, {"expected": ["two words", "x"]}])
    lists = [{"expect": ["^two", "e\\n"]}, {"expect": ["three$"]}, {"unexpect": ["four"]}, {"expect": ["one\\ntwo"]}]
    yield from with_rules("check_list", files, ".txt", lists)
    clock = {"times": b"12:30:00 a\n1:02:03\n23:59:60\nx\n", "none": b"a\n"}
    yield from with_rules("check_line_number", clock, ".txt", [{"expected": 1}, {"expected": 2}, {"expected": 0}])
    tables = {"a": b"a,b\n1,2\n3,4\n", "b": b"a,b\n1,5\n", "empty": b"a,b\n"}
    yield from with_rules("check_csv", tables, ".csv", [{"expect": [{"a": "1", "b": "2"}]}, {"unexpect": [{"b": "5"}]}])
    data = {"a": b'{"a": {"b": [1, 2]}, "c": "x"}', "b": b'{"a": {"b": [3]}}', "list": b"[1]", "none": b"null"}
    rule = {"method": "eq", "ref": 1}
    rules = [{"expect": [{"key": ["a", "b", 0], **rule}]}, {"unexpect": [{"key": ["c"], "method": "re", "ref": "x"}]}]
    yield from with_rules("check_json", data, ".json", rules)
    yaml = {"anchor": b"x: &x {b: [1]}\na: *x\n", "merge": b"x: &x {b: [1]}\na: {<<: *x}\n", "plain": b"a: {b: [2]}\n"}
    yield from with_rules("check_json", yaml, ".yaml", rules, {"is_yaml": True})
    loose = {"comment": b'{"c": "x"} // c', "comma": b'{"c": "x",}'}
    wanted = [{"expected": {"c": "x"}}, {"expected": {"c": "y"}}]
    yield from with_rules("check_json_settings", {**data, **loose}, ".json", wanted)
    keys = {"head": b'// keys\n[{"c": "x"}]', "below": b'[\n// a\n{"c": "x"}]', "comma": b'[{"c": "x"},]', **data}
    yield from with_rules("check_json_keybindings", keys, ".json", [{"expected": {"c": "x"}}])
    pages = {
        "set": b"<html><style>body {background-image: url('a.png')}</style></html>",
        "other": b'<html><style>body {background-image: url("a.png")}</style></html>',
        "none": b"<p>background-image: url('a.png')</p>",
    }
    yield from with_rules("check_html_background_image", pages, ".html", [{"value": "a.png"}, {"value": "b.png"}])
    yield from against("compare_htmls", pages, ".html")
    zips = {"a": zipped({"a.txt": "x"}), "b": zipped({"a.txt": "y"}), "c": zipped({"b.txt": "x"})}
    yield from against("compare_zip_files", zips, ".zip")


def values() -> Iterator[Case]:
    """Cases of the metrics of plain values."""
    outputs = ["one\ntwo", "", "one", "True", "1.5", "{'a': 1}", '{"a": "one", "b": [1, 2]}']
    for output in outputs:
        for expected in ("one", "one\ntwo", "True"):
            for metric in ("exact_match", "fuzzy_match", "compare_answer"):
                yield Case(metric, (output, {"expected": expected}), f"{output!r} / {expected!r}")
        rules = {"include": ["one"], "exclude": ["two"]}
        yield Case("check_include_exclude", (output, rules), f"{output!r} include one, exclude two")
        yield Case("match_in_list", (output, {"expected": ["one", "True"]}), f"{output!r} in one, True")
        yield Case("is_in_list", (output, {"expected": "one"}), f"one in {output!r}")
        for wanted in ({"a": "one"}, {"a": 1}, {"b": [2, 1]}):
            yield Case("check_direct_json_object", (output, {"expected": wanted}), f"{output!r} / {wanted}")
        yield Case("literal_match", (output, "one"), f"{output!r} is one")
        yield Case("check_text_enlarged", (output,), f"{output!r}")
    apps = ["['a.desktop', 'b.desktop']", "['b.desktop', 'a.desktop']", "[]", "nothing"]
    for output in apps:
        yield Case("check_gnome_favorite_apps", (output, {"expected": ["a.desktop", "b.desktop"]}), output)
    for zone in ("               Time zone: UTC (UTC, +0000)", "Time zone: Europe/Berlin (CET, +0100)"):
        yield Case("is_utc_0", (f"Local time: x\nUniversal time: x\nRTC time: x\n{zone}\nSystem clock: yes",), zone)
    for listed in ("a.b\nc.d", "c.d"):
        for kind in ("contain", "not_contain"):
            yield Case("is_extension_installed", (listed, {"type": kind, "expected": "a.b"}), f"{listed!r} {kind}")


def cases() -> list[Case]:
    """All of them."""
    parts = (text_documents, slide_shows, sheets, pictures, sounds, settings, texts, values)
    return [case for part in parts for case in part()]
