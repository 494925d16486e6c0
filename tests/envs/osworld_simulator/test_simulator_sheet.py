"""Cells, formulas, sorting, and the files they are stored in."""

import io
import math
import zipfile
from datetime import datetime

import openpyxl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from simulator_hands import Hands, rows_of, workbook

from rlanything_envs.osworld.desktop.simulator.cells import edit_text, read_typed
from rlanything_envs.osworld.desktop.simulator.formulas import (
    Formula,
    FormulaError,
    address,
    parse,
    place_of,
    shifted,
    stored,
)
from rlanything_envs.osworld.desktop.simulator.functions import Failure
from rlanything_envs.osworld.desktop.simulator.workbook import Workbook, WorkbookError

FILE = "/home/user/Desktop/t.xlsx"
ROWS = [["name", "qty", "price"], ["pear", 3, 1.5], ["Apple", 12, 0.25], ["fig", 7, 4]]


@pytest.fixture
def sheet(hands: Hands) -> Hands:
    hands.client.upload(FILE, workbook(ROWS, ["Second"]))
    hands.client.open_file(FILE)
    return hands


def cell(hands: Hands, name: str) -> str:
    return hands.element(name, "table-cell").text or ""


def saved(hands: Hands, values: bool = True) -> list[list[object]]:
    hands.keys("ctrl+s")
    return hands.sheet(FILE, values)


def test_what_is_shown(sheet: Hands) -> None:
    assert sheet.titles() == ["t.xlsx - LibreOffice Calc"]
    assert [cell(sheet, name) for name in ("A1", "B2", "C3", "D4")] == ["name", "3", "0.25", ""]
    assert sheet.focused().get("name") == "A1"
    assert sheet.element("Name Box", "text").text == "A1"


def test_typing_moves_on(sheet: Hands) -> None:
    sheet.keys("ctrl+home")
    sheet.do("pyautogui.press('down', presses=4)")
    sheet.type("kiwi\t2\t0.5\ngrape\n")
    assert saved(sheet)[4:] == [["kiwi", 2, 0.5], ["grape", None, None]]
    assert sheet.focused().get("name") == "A7"


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=SUM(B2:B4)", 22),
        ("=sum(b2:b4)", 22),
        ("=SUM(B2:B4", 22),
        ("=AVERAGE(B2:B4)", 22 / 3),
        ("=MIN(B2:B4)", 3),
        ("=MAX(B1:B9)", 12),
        ("=COUNT(A1:C4)", 6),
        ("=COUNTA(A1:A9)", 4),
        ("=B2*C2", 4.5),
        ("=B2+B3-B4/2", 11.5),
        ("=-B2^2", 9),
        ("=(1+2)*3", 9),
        ("=50%*4", 2),
        ('=A2&" x"', "pear x"),
        ("=B2>B3", False),
        ('=IF(B3>10;"many";"few")', "many"),
        ('=COUNTIF(B2:B4,">5")', 2),
        ('=SUMIF(A2:A4,"fig",C2:C4)', 4),
        ("=ROUND(AVERAGE(B2:B4),2)", 7.33),
        ("=MOD(-7,3)", 2),
        ('=LEN("abc")+LEFT("77",1)', 10),
        ("=SUM($B$2:B$4,1)", 23),
        ("=SUM(Second.A1:A3)", 0),
        ("=1/0", "#DIV/0!"),
        ("=nothing(1)", "#NAME?"),
        ('=A2*"x"', "#VALUE!"),
    ],
)
def test_formulas_are_stored_with_their_values(sheet: Hands, formula: str, value: object) -> None:
    sheet.do("pyautogui.press('right', presses=4)")
    sheet.type(f"{formula}\n")
    found = saved(sheet)[0][4]
    assert found == pytest.approx(value) if isinstance(value, float) else found == value
    kept = saved(sheet, values=False)[0][4]
    assert isinstance(kept, str)
    assert kept.startswith("=")


def test_values_follow_what_they_are_made_of(sheet: Hands) -> None:
    sheet.keys("right", "ctrl+down", "down")
    sheet.type("=SUM(B2:B4)\n=B5*2\n")
    assert cell(sheet, "B6") == "44"
    sheet.keys("ctrl+home", "right", "down")
    sheet.type("100\n")
    assert cell(sheet, "B6") == "238"
    sheet.keys("ctrl+z")
    assert cell(sheet, "B6") == "44"


def test_circles_and_long_chains(sheet: Hands) -> None:
    sheet.do("pyautogui.press('right', presses=4)")
    sheet.type("=F1\t=E1\n")
    assert cell(sheet, "E1") == "Err:522"
    book = Workbook()
    book.put("Sheet1", {(0, 0): (1, None)} | {(i, 0): (Formula(f"=A{i}+1"), None) for i in range(1, 3000)})
    assert book.value("Sheet1", 2999, 0) == 3000
    book.put("Sheet1", {(i, 1): (Formula(f"=B{i}&B{i}" if i else '="x"'), None) for i in range(60)})
    assert isinstance(book.value("Sheet1", 59, 1), Failure)
    book.put("Sheet1", {(i, 2): (Formula("=SUM(A1:A3000)"), None) for i in range(2000)})
    assert isinstance(book.value("Sheet1", 0, 2), float)


@pytest.mark.parametrize(("name", "order"), [("Sort Ascending", [3, 7, 12]), ("Sort Descending", [12, 7, 3])])
def test_sorting_by_the_column_of_the_cursor(sheet: Hands, name: str, order: list[int]) -> None:
    sheet.click("B3", "table-cell")
    sheet.click(name, "push-button")
    rows = saved(sheet)
    assert rows[0] == ROWS[0]
    assert [row[1] for row in rows[1:]] == order
    assert sorted(map(tuple, rows[1:]), key=str) == sorted(map(tuple, ROWS[1:]), key=str)
    sheet.keys("ctrl+z")
    assert saved(sheet) == ROWS


def test_sorting_ignores_case_and_uses_the_menu(sheet: Hands) -> None:
    sheet.click("A2", "table-cell")
    sheet.click("Data", "menu")
    sheet.click("Sort Ascending", "menu-item")
    assert [row[0] for row in saved(sheet)] == ["name", "Apple", "fig", "pear"]


def test_a_text_is_completed_from_its_column(sheet: Hands) -> None:
    sheet.do("pyautogui.press('down', presses=4)")
    sheet.type("app\n")
    sheet.type("pea")
    sheet.keys("backspace", "enter")
    assert [row[0] for row in saved(sheet)][4:] == ["Apple", "pe"]


def test_name_box_and_selections(sheet: Hands) -> None:
    sheet.click("Name Box")
    sheet.type("b2:c4\n")
    assert sheet.element("Name Box").text == "B2:C4"
    assert any(node.get("name") == "Average: 4.625; Sum: 27.75" for node in sheet.elements("label"))
    sheet.keys("delete")
    assert [row[1:] for row in saved(sheet)] == [["qty", "price"], [None, None], [None, None], [None, None]]
    sheet.click("Name Box")
    sheet.type("AB200\n")
    sheet.type("far\n")
    assert cell(sheet, "AB200") == "far"
    assert sheet.client.act("pyautogui.hotkey('ctrl', 'home')").returncode == 0
    assert sheet.element("A1", "table-cell") is not None


def test_copying_moves_references_along(sheet: Hands) -> None:
    sheet.click("D2", "table-cell")
    sheet.type("=B2*$C$2\n")
    sheet.keys("up", "ctrl+c", "down", "shift+down", "ctrl+v")
    assert [row[3] for row in saved(sheet, values=False)] == [None, "=B2*$C$2", "=B3*$C$2", "=B4*$C$2"]
    sheet.keys("ctrl+home", "ctrl+c")
    assert [row[3] for row in saved(sheet)] == [None, 4.5, 18, 10.5]


def test_dragging_selects_and_fill_down(sheet: Hands) -> None:
    (x, y), (to_x, to_y) = sheet.middle("B2", "table-cell"), sheet.middle("B4", "table-cell")
    sheet.do(f"pyautogui.moveTo({x}, {y}); pyautogui.dragTo({to_x}, {to_y}, 0.3)")
    assert sheet.element("Name Box").text == "B2:B4"
    sheet.keys("ctrl+d")
    assert [row[1] for row in saved(sheet)] == ["qty", 3, 3, 3]


def test_editing_a_cell(sheet: Hands) -> None:
    sheet.click("A2", "table-cell", "doubleClick")
    sheet.type("s\n")
    sheet.keys("f2")
    sheet.type("t")
    sheet.keys("escape", "up", "f2", "left")
    sheet.type("x\n")
    assert [row[0] for row in saved(sheet)] == ["name", "pearxs", "Apple", "fig"]


def test_sheets(sheet: Hands) -> None:
    sheet.click("Second", "page-tab")
    sheet.type("here\n")
    sheet.click("Second", "page-tab", "doubleClick")
    sheet.type("Other\n")
    sheet.click("Add", "push-button")
    sheet.keys("ctrl+s")
    data = sheet.client.read_file(FILE)
    assert data is not None
    book = openpyxl.load_workbook(io.BytesIO(data))
    assert book.sheetnames == ["Sheet", "Other", "Sheet1"]
    assert book["Other"]["A1"].value == "here"


def test_freezing_and_bold(sheet: Hands) -> None:
    sheet.keys("ctrl+b", "down")
    sheet.click("Freeze Rows and Columns", "push-button")
    sheet.do("pyautogui.press('pagedown', presses=3)")
    assert cell(sheet, "A1") == "name"
    assert not [node for node in sheet.elements("table-cell") if node.get("name") == "A2"]
    sheet.keys("ctrl+s")
    data = sheet.client.read_file(FILE)
    assert data is not None
    page = openpyxl.load_workbook(io.BytesIO(data)).worksheets[0]
    assert page.freeze_panes == "A2"
    assert page["A1"].font.b


def test_csv(hands: Hands) -> None:
    path = "/home/user/Desktop/c.csv"
    hands.client.upload(path, b'a,b\n1,"x, y"\n')
    hands.client.launch(["soffice", "--calc", path])
    assert hands.titles()[-1] == "Text Import - [c.csv]"
    hands.keys("enter", "down", "down")
    hands.type("2.50\tz\n")
    hands.keys("ctrl+s")
    assert hands.read(path) == 'a,b\n1,"x, y"\n2.5,z\n'


def test_unsaved_changes_are_asked_about(sheet: Hands) -> None:
    sheet.type("x\n")
    sheet.keys("alt+f4")
    assert sheet.titles()[-1] == "Question"
    sheet.click("Don't Save")
    assert sheet.sheet(FILE) == ROWS


def test_a_file_is_the_same_each_time(hands: Hands) -> None:
    book = Workbook(workbook(ROWS))
    first, second = book.data("Sheet"), Workbook(book.data("Sheet")).data("Sheet")
    assert book.data("Sheet") == first
    assert rows_of(first) == rows_of(second) == ROWS
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(2024, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("data", [b"", b"PK\3\4", b"not a workbook", workbook(ROWS)[:-100]])
def test_what_is_no_workbook(hands: Hands, data: bytes) -> None:
    with pytest.raises(WorkbookError):
        Workbook(data)
    hands.client.upload(FILE, data)
    hands.client.open_file(FILE)
    assert any("cannot be opened" in node.get("name", "") for node in hands.elements("label"))


def test_a_file_that_unpacks_to_too_much() -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * (40 << 20))
    with pytest.raises(WorkbookError, match="too large"):
        Workbook(bomb.getvalue())


VALUES = st.one_of(
    st.integers(-(10**12), 10**12),
    st.floats(-1e9, 1e9, allow_nan=False).filter(lambda number: number == 0 or abs(number) > 1e-9),
    st.booleans(),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20),
)


@given(st.dictionaries(st.tuples(st.integers(0, 30), st.integers(0, 10)), VALUES, max_size=12))
@example({(0, 0): "=1+1"})
@example({(0, 0): "_x0041_"})
def test_contents_come_back_from_a_file(cells: dict[tuple[int, int], object]) -> None:
    book = Workbook()
    assert book.put("Sheet1", {place: (value, None) for place, value in cells.items()})  # type: ignore[misc]
    again = Workbook(book.data("Sheet1"))
    for place, value in cells.items():
        found = again.content("Sheet1", *place)
        if isinstance(value, float):
            assert isinstance(found, (int, float))
            assert math.isclose(found, value, rel_tol=1e-14)  # openpyxl writes 15 digits
        else:
            assert found == value


@given(st.text(max_size=30))
@example("=")
@example("=" + "(" * 200)
@example("=" + "-" * 500 + "1")
@example("=ABC1048577")
@example("='x'!A1:'y'!B2")
@example("='")
@example("\x00\x0b")
def test_any_text_can_be_typed(text: str) -> None:
    content, _ = read_typed(text)
    book = Workbook()
    book.put("Sheet1", {(0, 0): (content, None)})
    book.text("Sheet1", 0, 0)
    edit_text(book.content("Sheet1", 0, 0))
    rows_of(book.data("Sheet1"))


PIECES = [
    "1",
    "2.5",
    "A1",
    "$B$2",
    "A1:B3",
    "Sheet1.A1",
    "'Sheet1'!B2",
    '"x"',
    "TRUE",
    "+",
    "-",
    "*",
    "/",
    "^",
    "&",
]
PIECES += ["(", ")", ",", ";", "%", "SUM(", "IF(", "COUNTIF(", "ROUND(", "SQRT(", "nothing(", " ", "=", "<", "<>"]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_any_formula(pieces: list[str]) -> None:
    text = "=" + "".join(pieces)
    book = Workbook()
    book.put("Sheet1", {(5, 5): (Formula(text), None), (0, 0): (2, None), (1, 1): ("t", None)})
    book.value("Sheet1", 5, 5)
    shifted(text, 3, -2)
    try:
        tree = parse(text)
    except FormulaError:
        return
    assert parse(shifted(text, 0, 0)) == tree
    assert parse(stored(text)) == tree


NUMBERS = st.integers(1, 99)


@given(st.lists(st.tuples(NUMBERS, st.sampled_from(["+", "-", "*", "/"])), min_size=1, max_size=8), NUMBERS)
def test_arithmetic_is_pythons(parts: list[tuple[int, str]], last: int) -> None:
    text = "".join(f"{number}{sign}" for number, sign in parts) + str(last)
    book = Workbook()
    book.put("Sheet1", {(0, 0): (Formula(f"={text}"), None)})
    value = book.value("Sheet1", 0, 0)
    assert isinstance(value, float)
    assert math.isclose(value, eval(text), rel_tol=1e-12)


@given(st.integers(0, 1_048_575), st.integers(0, 16_383))
def test_addresses(row: int, column: int) -> None:
    assert place_of(address(row, column)) == (row, column)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("7", 7),
        ("007", 7),
        ("-2.50", -2.5),
        ("1,200", 1200),
        ("1e3", 1000),
        (".5", 0.5),
        ("50%", 0.5),
        ("$5", 5),
        ("TRUE", True),
        ("2024-03-05", datetime(2024, 3, 5)),
        ("3/5/2024", datetime(2024, 3, 5)),
        ("'7", "7"),
        ("12a", "12a"),
        ("1.2.3", "1.2.3"),
        ("2024-13-05", "2024-13-05"),
        ("-", "-"),
        ("", None),
    ],
)
def test_what_is_read_from_typed_text(text: str, content: object) -> None:
    found = read_typed(text)[0]
    assert (found, type(found)) == (content, type(content))
