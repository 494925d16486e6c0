"""Spreadsheets: each rule of `compare_table` both ways."""

import datetime
import io

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.chart import BarChart, LineChart, Reference
from openpyxl.formatting.rule import CellIsRule, FormulaRule, Rule
from openpyxl.pivot.cache import CacheDefinition, CacheField, CacheSource, SharedItems, WorksheetSource
from openpyxl.pivot.record import RecordList
from openpyxl.pivot.table import DataField, FieldItem, Location, PivotField, RowColField, TableDefinition
from openpyxl.styles import Color, Font, GradientFill, PatternFill
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.worksheet.datavalidation import DataValidation
from osworld_desk import Desk, Web, repacked, saved, score_files, sheet

from rlanything_verifiers.osworld import EvaluatorError, File, VerifierError, check_evaluator, evaluate
from rlanything_verifiers.osworld.sheets import Book

ROWS = [["item", "qty"], ["apple", 3], ["pear", 5.25]]
EQUAL = {"method": "eq", "ref": 1}
PAIR = {"sheet_idx0": 0, "sheet_idx1": "EI0"}


def score(rules, result, expected=None, beside=None):
    """`beside`: pairs of further files of the desktop and of the task, by name."""
    names = ["book.xlsx", *(beside or {})]
    source = {"path": [f"/{name}" for name in names], "dest": names, "multi": True}
    evaluator = {"func": "compare_table", "result": {"type": "vm_file", **source}}
    evaluator["options"] = {"rules": rules if isinstance(rules, list) else [rules]}
    if expected is not None:
        evaluator["expected"] = {"type": "cloud_file", **source}
    check_evaluator(evaluator)
    desk, web = Desk({"/book.xlsx": result}), Web({"/book.xlsx": expected})
    for name, (mine, gold) in (beside or {}).items():
        desk.files[f"/{name}"], web[f"/{name}"] = mine, gold
    return evaluate(evaluator, desk, last_action="DONE", files=web)


def cell_rule(coordinate, name, method, ref):
    props = {name: {"method": method, "ref": ref}}
    return {"type": "check_cell", "sheet_idx": "RNSheet1", "coordinate": coordinate, "props": props}


def both_ways(rule, good, bad, expected):
    """The rule holds of the first and not of the second."""
    assert score(rule, good, expected) == 1
    assert score(rule, bad, expected) == 0


# --- values ---


def test_sheet_data():
    rule = {"type": "sheet_data", **PAIR}
    both_ways(rule, sheet(*ROWS), sheet(*ROWS[:2], ["pear", 5.26]), sheet(*ROWS))
    assert score(rule, sheet(*ROWS[:2], ["pear", 5.250004]), sheet(*ROWS)) == 1
    assert score(rule | {"precision": 7}, sheet(*ROWS[:2], ["pear", 5.250004]), sheet(*ROWS)) == 0
    assert score(rule, sheet(*ROWS, ["plum", 1]), sheet(*ROWS)) == 0
    assert score(rule, sheet(*ROWS[:2]), sheet(*ROWS)) == 0
    assert score(rule, sheet([], *ROWS), sheet(*ROWS)) == 0, "one row further down"
    assert score(rule, sheet(*ROWS, ["", None]), sheet(*ROWS)) == 1, "an empty text is no value"
    assert score(rule, sheet(["3"]), sheet([3])) == 0, "a text is no number"
    assert score(rule, sheet([True]), sheet([1])) == 0
    assert score(rule, sheet([3.0]), sheet([3])) == 1
    assert score(rule, sheet(["A"]), sheet(["a"])) == 0
    assert score(rule | {"ignore_case": True}, sheet(["A"]), sheet(["a"])) == 1
    day = datetime.datetime(2024, 2, 3)
    both_ways(rule, sheet([day]), sheet([day + datetime.timedelta(1)]), sheet([day]))


def test_formulas_count_by_their_last_result():
    def with_result(value):
        raw = sheet(["=1+1"])
        return repacked(
            raw,
            lambda parts: parts.update(
                {
                    "xl/worksheets/sheet1.xml": parts["xl/worksheets/sheet1.xml"]
                    .replace(b"<v />", f"<v>{value}</v>".encode())
                    .replace(b"<v></v>", f"<v>{value}</v>".encode())
                }
            ),
        )

    both_ways({"type": "sheet_data", **PAIR}, with_result(2), with_result(3), sheet([2]))


@settings(max_examples=25)
@given(st.lists(st.lists(st.none() | st.integers(-999, 999) | st.text("ab<&é", max_size=5), max_size=4), max_size=4))
def test_a_sheet_equals_itself_and_no_sheet_with_one_more_value(rows):
    data = sheet(*rows)
    rule = {"type": "sheet_data", **PAIR}
    assert score(rule, data, data) == 1
    assert score(rule, sheet(*rows, ["more"]), data) == 0


def test_sheet_name():
    both_ways({"type": "sheet_name"}, sheet([1], title="Sales"), sheet([1], title="sales"), sheet([2], title="Sales"))


def test_other_sheets():
    def more(title, value):
        book = openpyxl.load_workbook(io.BytesIO(sheet([1])))
        book.create_sheet(title).append([value])
        return saved(book)

    expected = more("Second", 7)
    for index in (1, "RI1", "RNSecond"):
        for model in ("EI1", "ENSecond"):
            rule = {"type": "sheet_data", "sheet_idx0": index, "sheet_idx1": model}
            both_ways(rule, more("Second", 7), more("Second", 8), expected)
            assert score(rule, sheet([1]), expected) == 0, "the sheet is missing"
    both_ways({"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "RI1"}, more("x", 1), more("x", 2), expected)
    with pytest.raises(EvaluatorError, match="ENThird"):
        score({"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "ENThird"}, expected, expected)
    with pytest.raises(EvaluatorError, match="no expected file"):
        score({"type": "sheet_data", **PAIR}, expected)
    with pytest.raises(EvaluatorError, match="no expected file"):
        score({"type": "sheet_name"}, expected)


def test_all_rules_have_to_hold():
    rules = [{"type": "sheet_data", **PAIR}, {"type": "sheet_name"}]
    both_ways(rules, sheet(*ROWS), sheet(*ROWS, title="x"), sheet(*ROWS))


def test_sheet_print():
    rule = {"type": "sheet_print", **PAIR}
    book = sheet(*ROWS)

    def printed(mine, gold=b"item,qty\napple,3.00\n\n"):
        return {"book-Sheet1.csv": (mine, gold)}

    assert score(rule, book, book, printed(b"item,qty \r\napple,3.00")) == 1
    assert score(rule, book, book, printed(b"item,qty\napple,3")) == 0
    assert score(rule, book, book, printed(b"ITEM,qty\napple,3.00")) == 0
    assert score(rule | {"ignore_case": True}, book, book, printed(b"ITEM,qty\napple,3.00")) == 1
    with pytest.raises(EvaluatorError, match=r"book-Sheet1\.csv was not fetched"):
        score(rule, book, book)


def test_sheet_fuzzy():
    def rule(*cells, kind="exact_match", **more):
        return {"type": "sheet_fuzzy", **PAIR, "rules": [{"range": list(cells), "type": kind, **more}]}

    expected = sheet(["12 Elm Road", "+1 555"], [3, "x"])
    both_ways(rule("A1:B1", "A2"), sheet(["12 Elm Road", "+1 555"], [3, "y"]), sheet(["12 Elm"]), expected)
    both_ways(rule("A1", kind="includes"), sheet(["at 12 Elm Road, north"]), sheet(["12 Elm"]), expected)
    both_ways(rule("A1", kind="included_by"), sheet(["Elm Road"]), sheet(["at 12 Elm Road"]), expected)
    both_ways(rule("A1", kind="fuzzy_match", threshold=90), sheet(["12 Elm Roat"]), sheet(["14 Oak Lane"]), expected)
    cleaned = {"normalization": [["Rd", "Road"]], "ignore_case": True, "trim_leadings": " ", "trim_trailings": "."}
    both_ways(rule("A1", **cleaned), sheet(["  12 elm Rd."]), sheet(["  12 elm St."]), expected)
    both_ways(rule("B1", ignore_chars=" +"), sheet([1, "1555"]), sheet([1, "1556"]), expected)
    for malformed in ("A0", "1", "A1:XFD99999", "A:A", ""):
        with pytest.raises(EvaluatorError, match="not a range"):
            score(rule(malformed), expected, expected)


def test_check_cell_values():
    def rule(coordinate, method, ref):
        return cell_rule(coordinate, "value", method, ref)

    day = datetime.datetime(2024, 2, 3, 12)
    book = sheet(["text", 3, True, day], [None, 2.5])
    for good in (
        rule("A1", "eq", "text"),
        rule("b1", "eq", 3),
        rule("B1", "approx:0.5", 3.4),
        rule("C1", "eq", True),
        rule("D1", "approx:0.0001", 45325.5),
        rule("A2", "eq", None),
        rule("ZZ99", "eq", None),
        rule("A1", "re.I", "^TE"),
    ):
        assert score(good, book) == 1, good
    for bad in (rule("A1", "eq", "Text"), rule("B1", "eq", 4), rule("B1", "eq", "3"), rule("A2", "approx:1", 0)):
        assert score(bad, book) == 0, bad


# --- looks ---


def look(**styles):
    """A sheet whose cell B2 has a look."""

    def change(made):
        for name, value in styles.items():
            setattr(made["B2"], name, value)

    return sheet(*ROWS, change=change)


@pytest.mark.parametrize(
    ("name", "good", "bad", "value"),
    [
        ("font_bold", {"font": Font(bold=True)}, {"font": Font(bold=False)}, True),
        ("font_italic", {"font": Font(italic=True)}, {}, True),
        ("font_underline", {"font": Font(underline="single")}, {"font": Font(underline="double")}, "single"),
        ("font_size", {"font": Font(size=14)}, {"font": Font(size=12)}, 14),
        ("font_name", {"font": Font(name="Arial")}, {"font": Font(name="Ariel")}, "Arial"),
        ("font_family", {"font": Font(family=2)}, {"font": Font(family=3)}, 2),
        ("font_color", {"font": Font(color="00FF00")}, {"font": Font(color="00FE00")}, "FF00FF00"),
        ("font_color", {"font": Font(color=Color(theme=4))}, {"font": Font(color=Color(theme=5))}, "theme:4:0.000"),
        ("font_color", {"font": Font(color=Color(indexed=10))}, {"font": Font(color=Color(indexed=12))}, "FFFF0000"),
        ("bgcolor", {"fill": PatternFill("solid", "FF0000")}, {"fill": PatternFill("solid", "FF0100")}, "FFFF0000"),
        ("fgcolor", {"fill": PatternFill("solid", "FF0000")}, {}, "FFFF0000"),
        ("bgcolor", {}, {"fill": PatternFill("solid", "FF0100")}, "00000000"),
        ("fill_type", {"fill": GradientFill(stop=("FF0000", "00FF00"))}, {}, "gradientFill"),
        ("number_format", {"number_format": "0.00"}, {"number_format": "0.0"}, "0.00"),
        ("hyperlink", {"hyperlink": "https://a"}, {"hyperlink": "https://b"}, "https://a"),
    ],
)
def test_looks(name, good, bad, value):
    both_ways(cell_rule("B2", name, "eq", value), look(**good), look(**bad), sheet())
    both_ways({"type": "style", **PAIR, "props": [name]}, look(**good), look(**bad), look(**good))


def test_merged_cells():
    def merged(place):
        return sheet(*ROWS, change=lambda made: made.merge_cells(place))

    def rule(value):
        return cell_rule("B1", "merge", "eq", value)

    both_ways(rule(True), merged("A1:B1"), merged("A2:B2"), sheet())
    both_ways(rule(False), merged("A2:B2"), merged("A1:B1"), sheet())
    both_ways({"type": "style", **PAIR, "props": ["merge"]}, merged("A1:B1"), merged("A1:B2"), merged("A1:B1"))


def test_looks_of_empty_cells():
    def filled(place):
        return sheet(*ROWS, change=lambda made: setattr(made[place], "fill", PatternFill("solid", "FF0000")))

    both_ways({"type": "style", **PAIR, "props": ["bgcolor"]}, filled("D7"), filled("D8"), filled("D7"))
    assert score({"type": "style", **PAIR, "props": ["font_bold"]}, filled("D7"), sheet(*ROWS)) == 1


RED = PatternFill(bgColor="FF0000", fill_type="solid")
NUMBERS = [[1], [5], [5], [9]]


def conditional(rule):
    return sheet(*NUMBERS, change=lambda made: made.conditional_formatting.add("A1:A10", rule))


def painted(*rows):
    def change(made):
        for row in rows:
            made.cell(row, 1).fill = PatternFill("solid", "FF0000")

    return sheet(*NUMBERS, change=change)


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        (CellIsRule("greaterThan", ["4"], fill=RED), (2, 3, 4)),
        (CellIsRule("lessThan", ["$A$2"], fill=RED), (1,)),
        (CellIsRule("between", ["2", "6"], fill=RED), (2, 3)),
        (CellIsRule("notBetween", ["2", "6"], fill=RED), (1, 4)),
        (CellIsRule("equal", ['"x"'], fill=RED), ()),
        (Rule(type="top10", rank=1, dxf=DifferentialStyle(fill=RED)), (4,)),
        (Rule(type="top10", rank=1, bottom=True, dxf=DifferentialStyle(fill=RED)), (1,)),
        (Rule(type="aboveAverage", dxf=DifferentialStyle(fill=RED)), (4,)),
        (Rule(type="aboveAverage", aboveAverage=False, equalAverage=True, dxf=DifferentialStyle(fill=RED)), (1, 2, 3)),
        (Rule(type="duplicateValues", dxf=DifferentialStyle(fill=RED)), (2, 3)),
        (Rule(type="uniqueValues", dxf=DifferentialStyle(fill=RED)), (1, 4)),
        (Rule(type="containsText", operator="containsText", text="9", dxf=DifferentialStyle(fill=RED)), (4,)),
        (FormulaRule(["ISERROR(A1)"], fill=RED), ()),
    ],
)
def test_conditional_formats_count_as_they_show(rule, rows):
    style = {"type": "style", **PAIR, "props": ["bgcolor"]}
    other = painted(1, 2, 3, 4) if set(rows) != {1, 2, 3, 4} else painted()
    assert score(style, conditional(rule), painted(*rows)) == 1
    assert score(style, conditional(rule), other) == 0


# --- structure ---


def changed(name, value):
    return sheet(*ROWS, change=lambda made: setattr(made, name, value))


def test_freeze():
    frozen, more = changed("freeze_panes", "A2"), changed("freeze_panes", "B2")
    both_ways({"type": "freeze", **PAIR}, frozen, more, frozen)
    both_ways({"type": "freeze", **PAIR}, sheet(), more, sheet())


def test_zoom():
    def zoomed(percent):
        return sheet(*ROWS, change=lambda made: setattr(made.sheet_view, "zoomScale", percent))

    rule = {"type": "zoom", "sheet_idx": 0, "method": "lt", "ref": 260}
    both_ways(rule, zoomed(200), zoomed(260), sheet())
    assert score(rule | {"method": "eq", "ref": 100}, sheet()) == 1
    assert score(rule | {"sheet_idx": 4}, sheet()) == 0


def test_data_validation():
    def validated(ranges="D2:D29", formula='"Pass,Fail,Held"', **more):
        def change(made):
            rule = DataValidation(type="list", formula1=formula, **more)
            rule.add(ranges)
            made.add_data_validation(rule)

        return sheet(*ROWS, change=change)

    wanted = {
        "ranges": {"method": "spreadsheet_range", "ref": ["D2:D29", "D2:D1048576"]},
        "type": {"method": "eq", "ref": "list"},
        "formula1": {"method": "str_set_eq", "ref": ["Pass", "Fail", "Held"]},
    }
    rule = {"type": "data_validation", "sheet_idx": 0, "dv_props": [wanted]}
    both_ways(rule, validated(formula='"Held,Pass,Fail"'), validated(formula='"Pass,Fail"'), sheet())
    both_ways(rule, validated("D2:D1048576"), validated("D2:D28"), sheet())
    both_ways(rule, validated("D2:D40"), validated("D1:D29"), sheet())
    assert score(rule, sheet(*ROWS)) == 0


def test_rows_and_columns():
    def hidden(kind, key, **more):
        def change(made):
            for name, value in (more or {"hidden": True}).items():
                setattr(getattr(made, f"{kind}_dimensions")[key], name, value)

        return sheet(*ROWS, change=change)

    rows = {"type": "row_props", **PAIR, "props": ["hidden"]}
    both_ways(rows, hidden("row", 2), hidden("row", 3), hidden("row", 2))
    high, higher = hidden("row", 2, height=33), hidden("row", 2, height=34)
    both_ways(rows | {"props": ["height"]}, high, higher, high)
    columns = {"type": "col_props", **PAIR, "props": ["hidden"]}
    both_ways(columns, hidden("column", "B"), hidden("column", "A"), hidden("column", "B"))
    one_by_one = sheet(*ROWS, change=lambda made: [setattr(made.column_dimensions[c], "hidden", True) for c in "BC"])
    grouped = sheet(*ROWS, change=lambda made: made.column_dimensions.group("B", "C", hidden=True))
    assert score(columns, one_by_one, grouped) == 1
    widths = columns | {"props": ["width"]}
    both_ways(widths, hidden("column", "B", width=30), hidden("column", "B", width=31), hidden("column", "B", width=30))
    assert score(columns | {"props": ["min", "max"]}, hidden("column", "B"), hidden("column", "B")) == 1


def pivoted(rows=(0,), columns=(1,), data=(2,), width=3, subtotal="sum", name="Pivot"):
    """A sheet with a pivot table over items, shops and quantities; openpyxl reads and writes them, no more."""
    source = [["item", "shop", "qty", None], ["apple", "a", 1, None], ["pear", "b", 2, None]]

    def field(number):
        items = [FieldItem(x=0), FieldItem(x=1), FieldItem(t="default")] if number in (*rows, *columns) else []
        return PivotField(items=items, dataField=number in data)

    def change(made):
        corner = f"{'ABCD'[width - 1]}3"
        cache = CacheDefinition(
            cacheSource=CacheSource(
                type="worksheet", worksheetSource=WorksheetSource(ref=f"A1:{corner}", sheet="Sheet1")
            ),
            cacheFields=[CacheField(name=str(title), sharedItems=SharedItems()) for title in source[0][:width]],
            recordCount=2,
            id="rId1",
        )
        cache.records = RecordList(r=[])
        table = TableDefinition(
            name=name,
            cacheId=1,
            dataCaption="Data",
            location=Location(ref="F1:H5", firstHeaderRow=1, firstDataRow=2, firstDataCol=1),
            pivotFields=[field(number) for number in range(width)],
            rowFields=[RowColField(x=number) for number in rows],
            colFields=[RowColField(x=number) for number in columns],
            dataFields=[DataField(fld=number, subtotal=subtotal) for number in data],
        )
        table.cache = cache
        made.add_pivot(table)

    return sheet(*source, change=change)


def test_pivot_table():
    props = ["col_fields", "row_fields", "data_fields", "filter"]
    rule = {"type": "pivot_table", **PAIR, "pivot_props": props}
    both_ways(rule, pivoted(), pivoted((1,), (0,)), pivoted())
    both_ways(rule, pivoted(), pivoted(subtotal="count"), pivoted())
    both_ways(rule, pivoted(), sheet(*ROWS), pivoted())
    assert score(rule, pivoted(width=4), pivoted()) == 1, "a blank column beside the data does not matter"
    named = rule | {"pivot_props": ["name", "location", "show_headers", "selection", "ordered"]}
    both_ways(named, pivoted(), pivoted(name="Table"), pivoted())


def test_filter():
    def filtered(reference="A1:B3", values=("apple",), sort=None):
        def change(made):
            made.auto_filter.ref = reference
            if values:
                made.auto_filter.add_filter_column(0, list(values))
            if sort:
                made.auto_filter.add_sort_condition(sort)

        return sheet(*ROWS, change=change)

    rule = {"type": "filter", **PAIR}
    both_ways(rule, filtered(), filtered(values=("pear",)), filtered())
    both_ways(rule, filtered(), filtered("A1:B2"), filtered())
    both_ways(rule, filtered(sort="B2:B3"), filtered(sort="A2:A3"), filtered(sort="B2:B3"))
    both_ways(rule, sheet(*ROWS), filtered(), sheet(*ROWS))


def test_chart():
    def charted(kind=BarChart, column=2, title=None, **more):
        def change(made):
            chart = kind()
            chart.add_data(Reference(made, min_col=column, min_row=2, max_row=3))
            chart.title = title
            for name, value in more.items():
                setattr(chart, name, value)
            made.add_chart(chart, "D2")

        return sheet(*ROWS, change=change)

    rule = {"type": "chart", **PAIR, "chart_props": ["type"]}
    both_ways(rule, charted(), charted(LineChart), charted())
    both_ways(rule, charted(), charted(column=1), charted())
    both_ways(rule, charted(), sheet(*ROWS), charted())
    titled = rule | {"chart_props": ["title", "legend", "width", "height", "anchor", "xtitle", "ytitle", "ztitle"]}
    both_ways(titled, charted(title="Sales"), charted(title="sales"), charted(title="Sales"))
    turned = rule | {"chart_props": ["direction"]}
    both_ways(turned, charted(type="bar"), charted(type="col"), charted(type="bar"))


@pytest.mark.parametrize(
    ("rule", "place"),
    [
        ([], r"rules: a list"),
        ([3], r"rules\[0\]\.type"),
        ([{"type": "sheet_smell"}], r"rules\[0\]\.type.*sheet_data"),
        ([{"type": "sheet_name"}, {"type": "sheet_data"}], r"rules\[1\]\.sheet_idx0"),
        ([{"type": "freeze", "sheet_idx0": "X1", "sheet_idx1": 0}], "sheet index"),
        ([{"type": "freeze", "sheet_idx0": -1, "sheet_idx1": 0}], "sheet index"),
        ([{"type": "style", **PAIR, "props": ["smell"]}], "'smell' is unknown"),
        ([{"type": "chart", **PAIR, "chart_props": ["smell"]}], "'smell' is unknown"),
        ([{"type": "pivot_table", **PAIR, "pivot_props": ["smell"]}], "'smell' is unknown"),
        ([{"type": "row_props", **PAIR, "props": ["__class__"]}], "'__class__' is unknown"),
        ([{"type": "col_props", **PAIR, "props": ["smell"]}], "'smell' is unknown"),
        ([cell_rule("1A", "value", "eq", 1)], "'1A' is not a cell"),
        ([cell_rule("A1", "value", "is", 1)], "method"),
        ([cell_rule("A1", "smell", "eq", 1)], "'smell' is unknown"),
        ([{"type": "data_validation", "sheet_idx": 0, "dv_props": [{"smell": EQUAL}]}], "'smell' is unknown"),
        ([{"type": "sheet_fuzzy", **PAIR, "rules": [{"range": ["A1"], "type": "same"}]}], "exact_match"),
    ],
)
def test_malformed_rules(rule, place):
    evaluator = {"func": "compare_table", "result": {"type": "vm_file", "path": "a", "dest": "a"}}
    with pytest.raises(EvaluatorError, match=rf"evaluator\.options\.rules.*{place}|evaluator\.options\.{place}"):
        check_evaluator(evaluator | {"options": {"rules": rule}})


def test_conference_cities():
    rules = {"expected": ["Vienna", ["New York", "NYC"]]}
    good = sheet(["name", "year", "city"], [1, 2, "in Vienna"], [1, 2, "NYC"])
    bad = sheet(["name", "year", "city"], [1, 2, "Linz"], [1, 2, "NYC"])
    assert score_files("compare_conference_city_in_order", good, name="a.xlsx", rules=rules) == 1
    assert score_files("compare_conference_city_in_order", bad, name="a.xlsx", rules=rules) == 0


@settings(max_examples=30)
@given(st.data())
def test_a_damaged_file_is_a_sheet_or_unreadable(data):
    """Bytes of the parts are changed at will: openpyxl may raise anything."""

    def damage(parts):
        name = data.draw(st.sampled_from(sorted(parts)))
        content = bytearray(parts[name])
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        parts[name] = bytes(content)

    file = repacked(look(font=Font(bold=True)), damage)
    rules = [{"type": "style", **PAIR, "props": ["font_bold", "bgcolor"]}, {"type": "sheet_data", **PAIR}]
    assert score(rules, file, sheet(*ROWS)) in (0, 1)


def test_a_damaged_reference_is_no_score():
    with pytest.raises(VerifierError):
        score({"type": "sheet_name"}, sheet(), b"PK")


def test_a_sheet_with_charts_only_has_no_cells():
    book = openpyxl.Workbook()
    book.create_chartsheet("Chart").add_chart(BarChart())
    assert Book(File("a.xlsx", saved(book))).sheet("Chart") is None
    assert Book(File("a.xlsx", saved(book))).sheet("None") is None
