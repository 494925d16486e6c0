"""Files that real applications wrote, by keyboard, on a real desktop."""

import io
import time

import openpyxl
import pytest
from osworld_desk import Web, letter, saved, sheet
from waiting import until

from rlanything_verifiers.osworld import check_evaluator, evaluate

HOME = "~/Desktop"


@pytest.fixture(scope="module")
def client(bwrap_desktop):
    bwrap_desktop.reset()
    return bwrap_desktop.client


def edited(client, name: str, data: bytes, option: str, keys: str) -> None:
    """Open a file in LibreOffice, type, save."""
    client.upload(f"{HOME}/{name}", data)
    client.launch(["soffice", "--norestore", "--nologo", option, client.desktop_path() + f"/{name}"])
    until(lambda: name in client.execute(["wmctrl", "-l"]).output and name in client.accessibility_tree())
    assert client.act(f"{keys}; pyautogui.hotkey('ctrl', 's')").returncode == 0
    until(lambda: client.read_file(f"{HOME}/{name}") not in (data, None, b""))
    time.sleep(1)


def score(client, func, name, expected=None, gold=None, **options):
    evaluator = {
        "func": func,
        "result": {"type": "vm_file", "path": f"{HOME}/{name}", "dest": name},
        "options": options,
    }
    if expected is not None:
        evaluator["expected"] = {"type": "rule", "rules": expected}
    if gold is not None:
        evaluator["expected"] = {"type": "cloud_file", "path": "gold", "dest": f"gold-{name}"}
    check_evaluator(evaluator)
    return evaluate(evaluator, client, last_action="DONE", files=Web(gold=gold))


@pytest.mark.slow
def test_a_sheet_edited_in_calc(client):
    rows = [["item", "qty"], ["apple", 3], ["pear", 5]]
    name, data, gold = "stock.xlsx", sheet(*rows), sheet(*rows, ["total", 8])
    pair = {"sheet_idx0": 0, "sheet_idx1": "EI0"}
    values = [{"type": "sheet_data", **pair}, {"type": "sheet_name"}]
    bold = openpyxl.load_workbook(io.BytesIO(gold))
    for place in ("A1", "B1"):
        bold.active[place].font = openpyxl.styles.Font(bold=True)
    looks = [{"type": "style", **pair, "props": ["font_bold", "bgcolor"]}, {"type": "freeze", **pair}]
    client.upload(f"{HOME}/{name}", data)
    assert score(client, "compare_table", name, gold=gold, rules=values) == 0
    keys = (
        "pyautogui.hotkey('ctrl', 'home'); pyautogui.press('down', presses=3); "
        "pyautogui.write('total\\t=SUM(B2:B3)\\n'); pyautogui.hotkey('ctrl', 'home'); "
        "pyautogui.hotkey('shift', 'right'); pyautogui.hotkey('ctrl', 'b')"
    )
    edited(client, name, data, "--calc", keys)
    assert score(client, "compare_table", name, gold=gold, rules=values) == 1
    assert score(client, "compare_table", name, gold=saved(bold), rules=looks) == 1
    assert score(client, "compare_table", name, gold=gold, rules=looks) == 0
    cell = {"type": "check_cell", "sheet_idx": 0, "coordinate": "B4", "props": {"value": {"method": "eq", "ref": 8}}}
    assert score(client, "compare_table", name, rules=[cell]) == 1
    assert score(client, "compare_table", name, rules=[cell | {"coordinate": "B3"}]) == 0


def test_a_letter_edited_in_writer(client):
    name, data = "letter.docx", letter("Dear all", "nothing to say")
    keys = (
        "pyautogui.hotkey('ctrl', 'home'); pyautogui.hotkey('ctrl', 'e'); "
        "pyautogui.hotkey('ctrl', 'end'); pyautogui.write('!')"
    )
    client.upload(f"{HOME}/{name}", data)
    assert score(client, "is_first_line_centered", name) == 0
    edited(client, name, data, "--writer", keys)
    assert score(client, "is_first_line_centered", name) == 1
    assert score(client, "compare_docx_files", name, gold=letter("Dear all", "nothing to say!")) == 1
    assert score(client, "compare_docx_files", name, gold=data) == 0


def test_what_the_desktop_itself_says(client):
    size = {"type": "rule", "rules": {"expected": dict(zip(("width", "height"), client.screen_size(), strict=True))}}
    evaluator = {"func": "exact_match", "result": {"type": "vm_screen_size"}, "expected": size}
    assert evaluate(evaluator, client, last_action="DONE", files=Web()) == 1
    shown = {"func": "check_accessibility_tree", "result": {"type": "accessibility_tree"}}
    shown["expected"] = {"type": "rule", "rules": [{"xpath": "//application[@name='soffice']"}]}
    assert evaluate(shown, client, last_action="DONE", files=Web()) == 1
