"""What keys and clicks do in the editor, the terminal, the file manager and on the background."""

import pytest
from simulator_hands import STATE, Hands

DESKTOP = "/home/user/Desktop"


def names(hands: Hands) -> list[str]:
    tree = hands.client.list_directory(DESKTOP)
    assert tree is not None
    return [child["name"] for child in tree["children"]]


def listed(hands: Hands) -> list[str]:
    """Names in the file manager's list."""
    x = 170 + 1
    cells = [node for node in hands.elements("table-cell") if f"({x - 1}," in str(node.attrib)]
    return [cell.get("name", "") for cell in cells]


# --- editor ---


@pytest.fixture
def editor(hands: Hands) -> Hands:
    hands.client.upload(f"{DESKTOP}/a.txt", b"hello\nworld\n")
    hands.client.open_file(f"{DESKTOP}/a.txt")
    return hands


def test_typing_and_saving(editor: Hands) -> None:
    assert editor.titles() == ["~/Desktop/a.txt - Mousepad"]
    editor.keys("ctrl+end")
    editor.type("more <&> é")
    assert editor.titles() == ["*~/Desktop/a.txt - Mousepad"]
    assert editor.read(f"{DESKTOP}/a.txt") == "hello\nworld\n"
    assert editor.focused().text == "hello\nworld\nmore <&> é"
    editor.keys("ctrl+s")
    assert editor.titles() == ["~/Desktop/a.txt - Mousepad"]
    assert editor.read(f"{DESKTOP}/a.txt") == "hello\nworld\nmore <&> é"


@pytest.mark.parametrize(
    ("keys", "typed", "text"),
    [
        (["ctrl+a"], "x", "x"),
        (["shift+end"], "bye", "bye\nworld\n"),
        (["down", "home", "shift+end", "delete"], "", "hello\n\n"),
        (["end", "backspace", "backspace"], "p", "help\nworld\n"),
        (["ctrl+right", "right"], "_", "hello\n_world\n"),
        (["shift+down", "ctrl+x", "ctrl+end", "ctrl+v"], "", "world\nhello\n"),
        (["end", "shift+home", "ctrl+c", "end", "ctrl+v"], "", "hellohello\nworld\n"),
        (["right", "right", "delete", "ctrl+z"], "", "hello\nworld\n"),
        (["down", "end", "up", "down"], "!", "hello\nworld!\n"),
        (["ctrl+delete"], "", "\nworld\n"),
        (["shift+right", "left"], "x", "xhello\nworld\n"),
    ],
)
def test_editing(editor: Hands, keys: list[str], typed: str, text: str) -> None:
    editor.keys(*keys)
    editor.type(typed)
    editor.keys("ctrl+s")
    assert editor.read(f"{DESKTOP}/a.txt") == text


def test_undo_takes_back_words_and_redo_brings_them(editor: Hands) -> None:
    editor.type("one two")
    editor.keys("ctrl+z")
    assert (editor.focused().text or "").startswith("onehello")
    editor.keys("ctrl+z", "ctrl+z")
    assert editor.focused().text == "hello\nworld\n"
    editor.keys("ctrl+y", "ctrl+y")
    assert (editor.focused().text or "").startswith("one twohello")


def test_a_click_sets_the_cursor_and_a_double_click_selects_a_word(editor: Hands) -> None:
    editor.do("pyautogui.click(700, 70)")
    editor.type("!")
    assert editor.focused().text == "hello\nworld!\n"
    editor.do("pyautogui.doubleClick(15, 52)")
    editor.type("bye")
    assert editor.focused().text == "bye\nworld!\n"
    editor.do("pyautogui.moveTo(3, 70); pyautogui.dragTo(600, 70, duration=0.3)")
    editor.keys("delete")
    assert editor.focused().text == "bye\n\n"


def test_closing_asks_about_changes(editor: Hands) -> None:
    editor.type("x")
    editor.keys("alt+f4")
    assert editor.titles() == ["*~/Desktop/a.txt - Mousepad", "Question"]
    editor.keys("escape")
    assert len(editor.titles()) == 1
    editor.keys("alt+f4")
    editor.click("Don't Save")
    assert editor.titles() == ["Desktop"]
    assert editor.read(f"{DESKTOP}/a.txt") == "hello\nworld\n"


def test_closing_can_save(editor: Hands) -> None:
    editor.type("x")
    editor.client.close_window("Mousepad")
    editor.keys("enter")
    assert editor.read(f"{DESKTOP}/a.txt") == "xhello\nworld\n"
    assert editor.titles() == ["Desktop"]


def test_a_new_text_is_saved_under_a_name(hands: Hands) -> None:
    hands.client.launch("gedit")
    hands.type("text")
    hands.keys("ctrl+s")
    hands.type("~/Documents/new.txt\n")
    assert hands.read("~/Documents/new.txt") == "text"
    hands.keys("ctrl+shift+s", "ctrl+a")
    hands.type("other.txt\n")
    assert hands.read("~/Documents/other.txt") == "text"
    hands.keys("ctrl+shift+s", "ctrl+a")
    hands.type("new.txt\n")
    hands.type("!")
    assert hands.titles()[-1] == "Question"
    hands.keys("enter")
    assert hands.titles() == ["~/Documents/new.txt - Mousepad"]


def test_menus_by_mouse_and_by_keys(editor: Hands) -> None:
    editor.click("Edit", "menu")
    editor.click("Select All", "menu-item")
    editor.type("x")
    editor.keys("alt+f", "down", "down", "enter")
    assert editor.read(f"{DESKTOP}/a.txt") == "x"
    editor.click("File", "menu")
    assert any(node.get("name") == "Save As..." for node in editor.elements("menu-item"))
    editor.keys("escape")
    assert not editor.elements("menu-item")


def test_open_dialog(editor: Hands) -> None:
    editor.client.upload(f"{DESKTOP}/sub/b.txt", b"second")
    editor.keys("ctrl+o")
    editor.click("sub", "table-cell", "doubleClick")
    editor.click("b.txt", "table-cell", "doubleClick")
    assert editor.titles()[-1] == "~/Desktop/sub/b.txt - Mousepad"
    assert editor.focused().text == "second"


def test_find_and_replace(editor: Hands) -> None:
    editor.keys("ctrl+r")
    editor.type("O\t0\t")
    editor.do("pyautogui.press('space'); pyautogui.press('enter')")
    assert any(node.get("name") == "2 replaced." for node in editor.elements("label"))
    editor.keys("escape", "ctrl+s")
    assert editor.read(f"{DESKTOP}/a.txt") == "hell0\nw0rld\n"


def test_a_file_that_is_no_text(hands: Hands) -> None:
    hands.client.upload("x.txt", b"\xff\xfe\0")
    hands.client.open_file("~/x.txt")
    assert any("not UTF-8" in node.get("name", "") for node in hands.elements("label"))


# --- terminal ---


def test_terminal(hands: Hands) -> None:
    hands.client.launch(["gnome-terminal"])
    hands.type("mkdir a && cd a\necho hi > x.txt; cat x.txt\nnothing\n")
    assert hands.client.terminal_output() == (
        "user@desktop:~$ mkdir a && cd a\n"
        "user@desktop:~/a$ echo hi > x.txt; cat x.txt\n"
        "hi\n"
        "user@desktop:~/a$ nothing\n"
        "bash: nothing: command not found\n"
        "user@desktop:~/a$"
    )
    assert hands.read("~/a/x.txt") == "hi\n"
    assert hands.focused().tag == "terminal"


def test_line_editing(hands: Hands) -> None:
    hands.client.launch("lxterminal")
    hands.type("echo one > f")
    hands.keys("ctrl+a", "right", "right", "right", "right")
    hands.type(" two")
    hands.keys("enter")
    assert hands.read("~/f") == "two one\n"
    hands.keys("up", "backspace")
    hands.type("g\n")
    assert hands.read("~/g") == "two one\n"
    hands.type("wrong")
    hands.keys("ctrl+c")
    hands.type("mv Do")
    hands.keys("tab")
    hands.type("c\t Des\t")
    assert (hands.client.terminal_output() or "").endswith("$ mv Documents/ Desktop/")
    hands.keys("ctrl+u", "ctrl+l")
    hands.type("exit\n")
    assert hands.titles() == ["Desktop"]


@pytest.mark.parametrize(
    ("typed", "then", "shown"),
    [
        ("", "echo hi", "cho hi"),
        ("", "7echo", "eeeeeeecho"),
        ("", "0echo", "cho"),
        ("echo one two", "bX", "echo one Xtwo"),
        ("echo one two", "xX", "echo one twoX"),
        ("echo one two", "rX", "X"),
        ("echo one two", "[X", "echo one twoX"),
        ("echo one two", "<X", "echo one twoX"),
    ],
)
def test_a_key_after_escape_is_a_command(hands: Hands, typed: str, then: str, shown: str) -> None:
    """As measured in LXTerminal with bash 5.2."""
    hands.client.launch("lxterminal")
    hands.type(typed)
    hands.keys("escape")
    hands.type(then)
    assert hands.client.terminal_output() == f"user@desktop:~$ {shown}"


def test_escape_is_forgotten_after_one_key(hands: Hands) -> None:
    hands.client.launch("lxterminal")
    hands.type("echo one\n")
    hands.keys("escape", "escape")
    hands.type("echo ")
    hands.keys("escape")
    hands.type(".")
    hands.keys("home", "right", "alt+u", "escape")
    hands.type("2")
    assert (hands.client.terminal_output() or "").endswith("one\n(arg: 2) eCHO one")
    hands.keys("backspace")
    assert (hands.client.terminal_output() or "").endswith("one\nuser@desktop:~$ eC one")
    hands.keys("escape", "ctrl+c")
    hands.type("pwd\n")
    assert (hands.client.terminal_output() or "").endswith("eC one^C\nuser@desktop:~$ pwd\n/home/user\nuser@desktop:~$")


def test_many_lines_scroll(hands: Hands) -> None:
    hands.client.upload("many", "".join(f"line {i}\n" for i in range(100)).encode())
    hands.client.launch("lxterminal")
    hands.type("cat many\n")
    text = hands.client.terminal_output() or ""
    assert "line 99" in text
    assert "line 10\n" not in text
    hands.do("pyautogui.scroll(100, 600, 400)")
    assert "line 1\n" in (hands.client.terminal_output() or "")


def test_programs_start_from_the_terminal(hands: Hands) -> None:
    hands.client.launch("lxterminal")
    hands.type("echo hi > a.txt; mousepad a.txt &\n")
    assert hands.titles() == ["LXTerminal", "~/a.txt - Mousepad"]
    hands.keys("alt+tab")
    assert hands.focused().tag == "terminal"


# --- file manager ---


@pytest.fixture
def manager(hands: Hands) -> Hands:
    for name in ("b.txt", "A.txt", "sub/deep.txt", ".hidden"):
        hands.client.upload(f"{DESKTOP}/{name}", name.encode())
    hands.client.open_file(DESKTOP)
    return hands


def test_folders_come_first_then_names(manager: Hands) -> None:
    assert manager.titles() == ["Desktop - Thunar"]
    assert listed(manager) == ["sub", "A.txt", "b.txt"]
    manager.keys("ctrl+h")
    assert listed(manager) == ["sub", ".hidden", "A.txt", "b.txt"]


def test_rename(manager: Hands) -> None:
    manager.keys("end", "f2")
    assert manager.titles()[-1] == 'Rename "b.txt"'
    manager.type("new\n")
    assert "new.txt" in names(manager)
    manager.keys("f2", "ctrl+a")
    manager.type("A.txt\n")
    assert any("already there" in node.get("name", "") for node in manager.elements("label"))
    manager.keys("ctrl+a")
    manager.type("other.md\n")
    assert names(manager) == [".hidden", "A.txt", "other.md", "sub"]


def test_new_folder_and_moving_files(manager: Hands) -> None:
    manager.keys("ctrl+shift+n")
    manager.type("zoo\n")
    manager.click("A.txt", "table-cell")
    manager.do("pyautogui.keyDown('ctrl')")
    manager.click("b.txt", "table-cell")
    manager.do("pyautogui.keyUp('ctrl')")
    manager.keys("ctrl+x")
    manager.click("zoo", "table-cell", "doubleClick")
    assert manager.titles() == ["zoo - Thunar"]
    manager.keys("ctrl+v")
    assert listed(manager) == ["A.txt", "b.txt"]
    manager.keys("alt+up")
    assert names(manager) == [".hidden", "sub", "zoo"]
    assert manager.read(f"{DESKTOP}/zoo/b.txt") == "b.txt"


def test_copying_beside_itself(manager: Hands) -> None:
    manager.keys("end", "ctrl+c", "ctrl+v")
    assert "b (copy 1).txt" in names(manager)


def test_deleting_asks(manager: Hands) -> None:
    manager.keys("end", "delete", "escape")
    assert "b.txt" in names(manager)
    manager.keys("delete", "enter")
    assert "b.txt" not in names(manager)


def test_moving_about(manager: Hands) -> None:
    manager.keys("home", "enter")  # the first Home only gives the row the cursor
    assert manager.titles() == ["Desktop - Thunar"]
    manager.keys("down", "enter")
    assert manager.titles() == ["sub - Thunar"]
    manager.keys("alt+up", "alt+up")
    assert manager.titles() == ["user - Thunar"]
    manager.keys("backspace", "alt+left")
    assert manager.titles() == ["sub - Thunar"]
    manager.keys("ctrl+l")
    manager.type("/home/user/Music\n")
    assert manager.titles() == ["Music - Thunar"]
    manager.click("Desktop", "table-cell")
    manager.type("b.t")
    manager.keys("enter")
    assert manager.titles()[-1] == "~/Desktop/b.txt - Mousepad"


def test_context_menu(manager: Hands) -> None:
    manager.click("b.txt", "table-cell", "rightClick")
    manager.click("Rename...", "menu-item")
    manager.type("c\n")
    assert "c.txt" in names(manager)


def test_selecting_several(manager: Hands) -> None:
    manager.keys("down", "down", "shift+down")
    chosen = [node.get("name") for node in manager.elements("table-cell") if node.get(f"{STATE}selected")]
    assert {"A.txt", "b.txt"} <= set(chosen)
    assert "sub" not in chosen


def test_a_long_list_scrolls(hands: Hands) -> None:
    for i in range(60):
        hands.client.upload(f"{DESKTOP}/f{i:02}.txt", b"")
    hands.client.open_file(DESKTOP)
    assert "f59.txt" not in listed(hands)
    hands.keys("end")
    assert listed(hands)[-1] == "f59.txt"
    hands.do("pyautogui.scroll(50, 600, 300)")
    assert listed(hands)[0] == "f00.txt"


# --- windows and the background ---


def test_icons_open(hands: Hands) -> None:
    hands.client.upload(f"{DESKTOP}/a.txt", b"x")
    hands.click("a.txt", "icon", "doubleClick")
    assert hands.titles() == ["~/Desktop/a.txt - Mousepad"]
    hands.keys("alt+f4")
    hands.click("Terminal", "icon")
    hands.keys("enter")
    assert hands.titles() == ["LXTerminal"]


def test_the_menu_of_programs(hands: Hands) -> None:
    hands.do("pyautogui.rightClick(900, 500)")
    hands.click("Files", "menu-item")
    assert hands.titles() == ["user - Thunar"]


def test_two_clicks_far_apart_are_no_double_click(hands: Hands) -> None:
    x, y = hands.middle("Terminal", "icon")
    hands.do(f"pyautogui.click({x}, {y}); time.sleep(1); pyautogui.click({x}, {y})")
    assert hands.titles() == ["Desktop"]
    hands.do(f"pyautogui.click({x}, {y}); pyautogui.click({x}, {y})")
    assert hands.titles() == ["LXTerminal"]


def test_there_is_an_end_to_windows(hands: Hands) -> None:
    hands.client.launch("lxterminal")
    for _ in range(20):
        hands.type("lxterminal\n")
        hands.keys("alt+tab")
    assert len(hands.titles()) == 12
    hands.keys("ctrl+shift+n")
    assert any("close one first" in node.get("name", "") for node in hands.elements("label"))


def test_the_cross_closes(editor: Hands) -> None:
    editor.do("pyautogui.click(1271, 8)")
    assert editor.titles() == ["Desktop"]
