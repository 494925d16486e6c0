"""The accessibility tree as lines of text."""

import re
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.osworld import accessibility
from rlanything_envs.osworld.accessibility import Element, linearise, read_elements

SPACE = "https://accessibility.ubuntu.example.org/ns/"
HEAD = f'<desktop-frame xmlns:st="{SPACE}state" xmlns:cp="{SPACE}component" xmlns:val="{SPACE}value" name="main">'


def node(role, name="", text="", place=(10, 20), size=(100, 40), states=("enabled",), inside="", more=""):
    shown = "".join(f' st:{state}="true"' for state in ("showing", "visible", *states))
    where = f' cp:screencoord="{place}" cp:size="{size}"' if place else ""
    return f"<{role} name={quoteattr(name)}{shown}{where}{more}>{escape(text)}{inside}</{role}>"


def tree(*nodes):
    return HEAD + "".join(nodes) + "</desktop-frame>"


def test_lines():
    xml = tree(
        node(
            "frame",
            "a.txt - Editor",
            states=("enabled", "active"),
            inside=node("push-button", "Save") + node("push-button", "Undo", states=()),
        ),
        node("text", "", "one\ntwo <&>", states=("enabled", "focused", "editable")),
        node("table-cell", "B2", "3", states=("enabled", "editable", "focused")),
        node("label", "Name:", "Name:"),
        node("slider", "Volume", more=' val:value="0.5"'),
    )
    scaled = linearise(xml, lambda x, y: (x * 10, y * 10))
    assert scaled == linearise(xml).replace("(60, 40)", "(600, 400)"), "as an agent writes coordinates"
    assert linearise(xml).split("\n") == [
        'frame "a.txt - Editor" (60, 40) active',
        'push-button "Save" (60, 40)',
        'push-button "Undo" (60, 40) disabled',
        'text text="one\\ntwo <&>" (60, 40) focused editable',
        'table-cell "B2" text="3" (60, 40) focused',
        'label "Name:" (60, 40)',
        'slider "Volume" value=0.5 (60, 40)',
    ]


def test_a_button_without_a_name_is_told_by_its_neighbour():
    nameless = ("enabled", "focusable")
    xml = tree(
        node("frame", "Sheet", inside=node("push-button", "Elsewhere", place=(0, 200), size=(50, 20))),
        node(
            "dialog",
            "Sort",
            place=(0, 0),
            size=(900, 900),
            inside=node("toggle-button", place=(200, 200), states=nameless)
            + node("label", "Column", place=(80, 210), size=(60, 20))
            + node("combo-box", place=(90, 300), states=nameless)
            + node("check-box", place=(200, 100), states=("focusable",)),
        ),
        node("window", "Other", place=(0, 0), size=(20, 20), inside=node("toggle-button", states=nameless)),
    )
    assert [line for line in linearise(xml).split("\n") if "button" in line or "box" in line] == [
        'push-button "Elsewhere" (25, 210)',
        'toggle-button beside "Column" (250, 220)',
        'combo-box beside "Column" (140, 320)',
        'toggle-button beside "Other" (60, 40)',
    ]


def test_elements_of_the_active_window_are_not_crowded_out(monkeypatch):
    """A dialog is the last in the tree: its buttons were cut off where the window below has many elements."""
    many = "".join(node("push-button", f"Tool {number}") for number in range(50))
    ok = node("push-button", "OK")
    xml = tree(
        node("frame", "Sheet", inside=many),
        node("dialog", "Colours", states=("active",), inside=many.replace("Tool", "Colour") + ok),
        node("window", "", inside=node("menu-item", "Standard")),
        node("frame", "Other", inside=many),
    )
    monkeypatch.setattr(accessibility, "MAX_LINES", 60)
    lines = linearise(xml).split("\n")
    assert lines[-1] == "(95 more elements are not shown)"
    assert [line for line in lines if '"OK"' in line or '"Standard"' in line]
    assert sum("Colour" in line for line in lines) == 51
    names = [line.split('"')[1] for line in lines[:-1]]
    assert names.index("Colours") < names.index("OK") < names.index("Standard") < names.index("Other")


def test_what_is_left_out():
    xml = tree(
        node("panel", "Toolbar"),
        node("push-button", states=("focusable",)),
        node("push-button", "nowhere", place=None),
        node("push-button", "flat", size=(0, 20)),
        node("table-cell", "C3"),
        node("table-cell", "report.txt"),
        node("table-cell", "A1", states=("enabled", "focused")),
        f'<push-button name="hidden" cp:screencoord="(1, 2)" cp:size="(3, 4)" xmlns:cp="{SPACE}component"/>',
    )
    assert linearise(xml).split("\n") == ['table-cell "report.txt" (60, 40)', 'table-cell "A1" (60, 40) focused']


def test_elements():
    (element,) = read_elements(tree(node("push-button", "  Save\n as ", "x", (-5, 7), (10, 11), ("focused",))))
    states = frozenset({"showing", "visible", "focused"})
    assert element == Element("push-button", "Save as", "x", "", 0, 12, 10, 11, states)


def test_limits(monkeypatch):
    many = tree(*(node("push-button", f"b{i}") for i in range(500)))
    lines = linearise(many).split("\n")
    assert len(lines) == 201
    assert lines[-1] == "(300 more elements are not shown)"
    monkeypatch.setattr(accessibility, "MAX_CHARACTERS", 1000)
    short = linearise(many)
    assert len(short) < 1050
    assert "more elements" in short
    monkeypatch.setattr(accessibility, "MAX_TEXT", 3)
    assert linearise(tree(node("label", "abcdef"))) == 'label "ab…" (60, 40)'
    monkeypatch.setattr(accessibility, "MAX_TEXT", 5)
    long = tree(node("terminal", "Terminal", "first\nlast", states=("enabled",)))
    assert linearise(long) == 'terminal "Term…" text="…last" (60, 40)'
    assert len(read_elements(tree(*(node("label", "x") for _ in range(30_000))))) == 20_000


BOMB = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY b{i} "{"&a;" * 10 if i == 0 else f"&b{i - 1};" * 10}">' for i in range(9))
    + "]>"
)


@pytest.mark.parametrize(
    "xml",
    [
        "",
        "no xml",
        "<",
        BOMB + tree(node("label", "&b8;")),
        '<!DOCTYPE x SYSTEM "file:///etc/passwd">' + tree(node("label", "x")),
        "<a>" * 100_000,
        "x" * 16_000_001,
        tree("\ud800"),
        tree('<label name="x" cp:screencoord="(9999999999, 1)" cp:size="(1, 1)"/>'),
    ],
    ids=["empty", "text", "cut", "bomb", "external", "deep", "large", "surrogate", "far"],
)
def test_hostile_trees_give_nothing(xml):
    assert read_elements(xml) == []
    assert linearise(xml) == ""


def test_a_tree_that_breaks_off_gives_what_was_before():
    whole = tree(node("label", "one"), node("label", "two"))
    assert linearise(whole[: whole.index("two")]) == 'label "one" (60, 40)'


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=20)


@given(st.lists(st.tuples(WORDS, WORDS, st.integers(-9, 3000), st.integers(1, 500)), max_size=8))
def test_every_line_names_an_element(parts):
    nodes = [node("label", name, text, (x, x), (size, size)) for name, text, x, size in parts]
    found = read_elements(tree(*nodes))
    assert len(found) == len(parts)
    for element, (name, text, x, size) in zip(found, parts, strict=True):
        assert element.name == " ".join(name.split())
        assert element.text == text.strip()
        assert (element.x, element.y) == (x + size // 2, x + size // 2)
    lines = [line for line in linearise(tree(*nodes)).split("\n") if line]
    assert len(lines) == sum(bool(element.name or element.text) for element in found)
    assert all(re.fullmatch(r'label( ".*")?( text=".*")? \(-?\d+, -?\d+\)', line, re.DOTALL) for line in lines)
