"""Text documents: each metric both ways."""

import pytest
from docx.enum.text import WD_ALIGN_PARAGRAPH, WD_BREAK, WD_COLOR_INDEX, WD_TAB_ALIGNMENT
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Pt, RGBColor
from osworld_desk import letter, picture, repacked, score_files, zipped

from rlanything_verifiers.osworld.metrics.colors import difference, lab_difference


def score(func, result, expected=None, name="a.docx", **options):
    return score_files(func, result, expected, name=name, **options)


def both_ways(func, good, bad, expected=None, **options):
    assert score(func, good, expected, **options) == 1
    assert score(func, bad, expected, **options) == 0


def run(number, **looks):
    """Change the look of the first run of a paragraph."""

    def change(document):
        first = document.paragraphs[number].runs[0]
        for name, value in looks.items():
            setattr(first if name in ("bold", "italic") else first.font, name, value)

    return change


@pytest.mark.parametrize(
    ("result", "options", "wanted"),
    [
        (["One two", "three"], {}, 1),
        (["One  two ", "", "three"], {}, 1),
        (["One two", "Three"], {}, 0),
        (["One two", "Three"], {"ignore_case": True}, 1),
        (["three", "One two"], {}, 0),
        (["three", "One two"], {"ignore_order": True}, 1),
        (["One two", "", "three"], {"ignore_blanks": False}, 0),
        (["One two", "", "three"], {"ignore_blanks": False, "delete_empty_lines": True}, 1),
        (["One two", "tree"], {"fuzzy_match": True}, 24 / 25),
        (["One two", "tree"], {"content_only": True}, 24 / 25),
        (["One two", "tree"], {"fuzzy_match": True, "ignore_blanks": False}, (1 + 8 / 9) / 2),
        (["One two"], {"fuzzy_match": True, "ignore_blanks": False}, 0),
    ],
)
def test_compare_docx_files(result, options, wanted):
    assert score("compare_docx_files", letter(*result), letter("One two", "three"), **options) == pytest.approx(wanted)


def odt(*paragraphs, style=""):
    office = "urn:oasis:names:tc:opendocument:xmlns:"
    names = " ".join(
        f'xmlns:{short}="{office}{long}:1.0"'
        for short, long in (("o", "office"), ("t", "text"), ("s", "style"), ("f", "xsl-fo-compatible"))
    )
    body = "".join(f"<t:p>{text}</t:p>" for text in paragraphs)
    return zipped({"content.xml": f"<o:document {names}>{style}<o:body>{body}</o:body></o:document>"})


def test_opendocument():
    good, bad = odt("One <t:span>two</t:span>"), odt("One three")
    assert score("compare_docx_files", good, odt("One two"), name="a.odt") == 1
    assert score("compare_docx_files", bad, odt("One two"), name="a.odt") == 0
    yellow = '<s:style s:name="T1"><s:text-properties f:background-color="#ffff00"/></s:style>'
    marked = odt('One <t:span t:style-name="T1">two</t:span>', style=yellow)
    assert score("check_highlighted_words", good, odt("One two"), name="a.odt") == 1
    assert score("check_highlighted_words", marked, odt("One two"), name="a.odt") == 0
    assert score("check_highlighted_words", bad, odt("One two"), name="a.odt") == 0


def test_other_ways_to_compare_texts():
    expected = letter("a b", "", "c")
    both_ways("compare_docx_files_and_ignore_new_lines", letter("a b", "c", ""), letter("a", "c"), expected)
    both_ways(
        "compare_docx_files_and_ignore_new_lines", letter("a b", "c"), letter("a b c"), expected, ignore_blanks=False
    )
    both_ways("compare_init_lines", letter("a b", "", "c", "d"), letter("a", "", "c"), expected)
    both_ways("compare_docx_lines", letter("c", "a b"), letter("c", "a"), expected)


def test_tables():
    def table(*cells):
        def change(document):
            made = document.add_table(2, 2)
            for place, text in zip(((0, 0), (0, 1), (1, 0), (1, 1)), cells, strict=True):
                made.cell(*place).text = text

        return letter("t", change=change)

    both_ways("compare_docx_tables", table("a", "b", "c", " d"), table("a", "b", "c", "e"), table("a", "b", "c", "d"))
    assert score("compare_docx_tables", letter("t"), table("a", "b", "c", "d")) == 0
    for one, other in (("a\tb", "ab"), ("a\nb", "ab"), ("a\tb", "a\nb")):
        both_ways("compare_docx_tables", table(one, "", "", ""), table(other, "", "", ""), table(one, "", "", ""))


def test_highlighted_texts():
    def marked(*places):
        def change(made):
            for place in places:
                made.paragraphs[place].runs[0].font.highlight_color = WD_COLOR_INDEX.YELLOW

        return letter("a", "b", "c", change=change)

    both_ways("compare_highlighted_text", marked(1, 2), marked(1), marked(1, 2))
    assert score("compare_highlighted_text", marked(), letter("other")) == 1, "nothing is highlighted in either"


def test_trains_once_each():
    lines = ["08:00:00,T1,S1,1", "08:05:00,T2,S1,1"]
    initial = letter("Trains", *lines, "08:09:00,T1,S2,4")
    assert score("check_no_duplicates", initial, letter(*lines)) == 1
    assert score("check_no_duplicates", initial, initial) == 0
    assert score("check_no_duplicates", initial, letter(lines[0])) == 0


def test_alignment():
    assert score("evaluate_alignment", letter("One two three\tfour five. Short.", "")) == 1
    assert score("evaluate_alignment", letter("One two\tthree four")) == 0
    assert score("evaluate_alignment", letter("One two three four\tfive")) == 0


def test_a_damaged_document_scores_nothing():
    for name in ("word/document.xml", "_rels/.rels"):
        broken = repacked(letter("a"), lambda members, name=name: members.update({name: b"<a"}))
        missing = repacked(letter("a"), lambda members, name=name: members.pop(name) and None)
        for data in (broken, missing):
            assert score("compare_docx_files", data, letter("a")) == 0


def test_pictures():
    import io

    def with_picture(data):
        return letter("t", change=lambda document: document.add_picture(io.BytesIO(data)))

    other = picture(change=lambda image: image.rotate(180))
    as_bmp = picture(kind="BMP")
    both_ways("compare_docx_images", with_picture(as_bmp), with_picture(other), with_picture(picture()))
    assert score("compare_docx_images", letter("t"), with_picture(picture())) == 0
    both_ways("compare_contains_image", with_picture(other), letter("t"), with_picture(picture()))


def test_line_spacing():
    def spaced(number):
        return letter(
            "a", "b", change=lambda document: setattr(document.paragraphs[0].paragraph_format, "line_spacing", number)
        )

    both_ways("compare_line_spacing", spaced(2.0), spaced(1.5), spaced(2.0))
    both_ways("compare_line_spacing", spaced(Pt(20)), letter("a", "c"), spaced(Pt(20)))

    def three(*numbers):
        def change(document):
            for paragraph, number in zip(document.paragraphs, numbers, strict=True):
                paragraph.paragraph_format.line_spacing = number

        return letter("a", "b", "c", change=change)

    both_ways("evaluate_spacing", three(1.0, 2.0, 1.5), three(1.0, 1.5, 2.0))


def test_formulas():
    def with_object(number):
        return letter(
            "a", "b", change=lambda document: document.paragraphs[number].runs[0]._r.append(OxmlElement("w:object"))
        )

    both_ways("compare_insert_equation", with_object(0), with_object(1), with_object(0))


def test_runs():
    both_ways(
        "compare_subscript_contains",
        letter("a", "b", change=run(0, subscript=True)),
        letter("a", "b"),
        letter("a", change=run(0, subscript=True)),
    )
    last = letter("a", "b", change=run(1, strike=True))
    both_ways(
        "evaluate_strike_through_last_paragraph", last, letter("a", "b", change=run(0, strike=True)), letter("a", "b")
    )
    assert (
        score("evaluate_strike_through_last_paragraph", letter("a", "c", change=run(1, strike=True)), letter("a", "b"))
        == 0
    )
    small = letter("a", change=run(0, italic=True, size=Pt(12)))
    both_ways("check_italic_font_size_14", letter("a", change=run(0, italic=True, size=Pt(14))), small, letter("a"))
    both_ways("evaluate_conversion", letter("a", "bC"), letter("a", "ABC"))


def test_font_names():
    both = lambda document: [run(number, name="Arial")(document) for number in (0, 1)]  # noqa: E731
    good, bad = letter("a", "b", change=both), letter("a", "b", change=run(0, name="Arial"))
    assert score("compare_font_names", good, rules={"font_name": "Arial"}) == 1
    assert score("compare_font_names", bad, rules={"font_name": "Arial"}) == 0
    assert score("compare_font_names", letter(), rules={"font_name": "Arial"}) == 0


def test_page_breaks():
    def broken(times):
        return letter(
            "a", change=lambda document: [document.paragraphs[0].runs[0].add_break(WD_BREAK.PAGE) for _ in range(times)]
        )

    assert score("contains_page_break", broken(2), rules={"page_break_count": 2}) == 1
    assert score("contains_page_break", broken(1), rules={"page_break_count": 2}) == 0
    both_ways("contains_page_break", broken(3), letter("a"))
    line = letter("a", change=lambda document: document.paragraphs[0].runs[0].add_break())
    assert score("contains_page_break", line) == 0


def test_layout():
    def laid_out(number, center=0):
        def change(document):
            document.paragraphs[center].alignment = WD_ALIGN_PARAGRAPH.CENTER
            document.paragraphs[number].runs[0].add_break(WD_BREAK.PAGE)

        return letter("a", "b c", " ", "d", change=change)

    both_ways("compare_docx_layout", laid_out(2), laid_out(0), laid_out(1))
    both_ways("compare_docx_layout", laid_out(1), laid_out(1, center=1), laid_out(1))


def test_first_line():
    def aligned(number):
        return letter(
            "a",
            "b",
            change=lambda document: setattr(document.paragraphs[number], "alignment", WD_ALIGN_PARAGRAPH.CENTER),
        )

    both_ways("is_first_line_centered", aligned(0), aligned(1))
    assert score("is_first_line_centered", letter()) == 0


def test_page_numbers():
    def footer(text="", field=None):
        def change(document):
            paragraph = document.sections[0].footer.paragraphs[0]
            paragraph.text = text
            if field:
                code = OxmlElement("w:fldSimple")
                code.set(qn("w:instr"), field)
                paragraph._p.append(code)

        return letter("a", change=change)

    both_ways("has_page_numbers_in_footers", footer("1"), footer("page"))
    for own, wanted in ((None, 1), ("", 0), ("7", 1)):  # text of a second section's footer; None for that of the first

        def two(document, own=own):
            document.sections[0].footer.paragraphs[0].text = "1"
            second = document.add_section().footer
            if own is not None:
                second.is_linked_to_previous = False
                second.paragraphs[0].text = own

        assert score("has_page_numbers_in_footers", letter("a", change=two)) == wanted
    both_ways("has_page_numbers_in_footers", footer(field=" PAGE \\* MERGEFORMAT"), footer(field="PAGEREF x"))


def test_tabstops():
    def tabbed(*inches, text="one two three\tfour"):
        def change(document):
            for inch in inches:
                document.paragraphs[0].paragraph_format.tab_stops.add_tab_stop(Pt(72 * inch), WD_TAB_ALIGNMENT.RIGHT)

        return letter(text, change=change)

    options = {"word_number_split_by_tabstop": 3, "index": 0}
    both_ways("check_tabstops", tabbed(6), tabbed(5, 6), tabbed(6))
    both_ways("check_tabstops", tabbed(6), tabbed(6, text="one two\tthree four"), tabbed(6), **options)
    near = score("check_tabstops", tabbed(5), tabbed(6), **options)
    assert near == pytest.approx(1 - 1 / 6, abs=1e-6), "the text of this page is six inches wide"
    left = letter(
        "one\ttwo", change=lambda document: document.paragraphs[0].paragraph_format.tab_stops.add_tab_stop(Pt(432))
    )
    assert score("check_tabstops", left, tabbed(6, text="one\ttwo")) == 0


def test_colored_words():
    def table(*colors):
        def change(document):
            cell = document.add_table(1, 1).cell(0, 0)
            for word, color in zip(("Apple", "banana"), colors, strict=True):
                cell.paragraphs[0].add_run(word).font.color.rgb = RGBColor(*color)

        return letter("t", change=change)

    both_ways(
        "evaluate_colored_words_in_tables",
        table((255, 0, 0), (0, 0, 254)),
        table((255, 0, 0), (0, 0, 150)),
        table((0, 0, 0), (0, 0, 0)),
    )
    assert score("evaluate_colored_words_in_tables", table((0, 0, 255), (255, 0, 0)), table((0, 0, 0), (0, 0, 0))) == 0


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 3.1571, -77.2803), (50, 0, -82.7485), 2.8615),
        ((50, 2.8361, -74.0200), (50, 0, -82.7485), 3.4412),
        ((50, -1.3802, -84.2814), (50, 0, -82.7485), 1.0),
        ((50, 0, 0), (50, -1, 2), 2.3669),
        ((50, 2.49, -0.001), (50, -2.49, 0.0009), 7.1792),
        ((50, 2.49, -0.001), (50, -2.49, 0.0011), 7.2195),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_color_difference(one, other, distance):
    """The figures that Sharma, Wu and Dalal give for the formula."""
    assert lab_difference(one, other) == pytest.approx(distance, abs=1e-4)
    assert lab_difference(other, one) == pytest.approx(distance, abs=1e-4)


def test_color_difference_of_rgb():
    assert difference((255, 0, 0), (255, 0, 0)) == 0
    assert difference((255, 255, 255), (0, 0, 0)) == pytest.approx(100, abs=0.01)


def test_train_records():
    initial = letter("08:00,A1,S1,P1", "08:05,A1,S2,P1", "08:10,B2,S1,P2")
    gold = letter("08:00,A1,S1,P1", "08:10,B2,S1,P2")
    other = letter("08:05,A1,S2,P1", "08:10,B2,S1,P2")
    assert score("compare_unique_train_records", other, [gold, initial]) == 1
    assert score("compare_unique_train_records", initial, [gold, initial]) == 0
    assert score("compare_unique_train_records", letter("08:00,A1,S1,P1"), [gold, initial]) == 0
    assert score("compare_unique_train_records", letter("09:00,A1,S1,P1", "08:10,B2,S1,P2"), [gold, initial]) == 0


def test_references():
    gold = letter("text", "References", "Smith, 2001. A title.", "Jones, 2002. Another.")
    both_ways("compare_references", gold, letter("text", "References", "x", "y"), gold, content_only=True)
    near = letter("other text", "References", "Smith, 2001. A titel.", "Jones, 2002. Another.")
    assert 0.8 < score("compare_references", near, gold) < 1
    assert score("compare_references", letter("text"), gold) == 0
    assert score("compare_references", letter("text"), letter("other")) == 1
    assert score("compare_references", near, gold, reference_base_result=0.99) == 0


def test_places():
    rules = {"expected": ["Vienna", "Linz", "Graz"]}
    assert score("fuzzy_place_math", letter("Graz Linz", "", "Vienna"), rules=rules) == 1
    assert score("fuzzy_place_math", letter("Graz Linz"), rules=rules) == 0
    assert 0.5 < score("fuzzy_place_math", letter("Graz Lins Wien"), rules=rules) < 1


@pytest.mark.parametrize("encoding", ["aTF-8", "big5", "idna", "rot13"])
def test_an_encoding_that_cannot_be_read(encoding):
    def damage(parts):
        parts["word/document.xml"] = parts["word/document.xml"].replace(b"UTF-8", encoding.encode(), 1)

    assert score("check_tabstops", repacked(letter("one"), damage), letter("one")) == 0
