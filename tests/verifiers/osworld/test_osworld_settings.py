"""Settings of applications, the browser, the accessibility tree, and the getters."""

import json
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st
from osworld_desk import Desk, Printed, Web, picture, score_files, sheet

from rlanything_verifiers.osworld import GETTERS, METRICS, EvaluatorError, check_evaluator, evaluate, evaluator
from rlanything_verifiers.osworld.urls import same_url, without_query

OFFICE = "/org.openoffice."


def xcu(*items):
    """A file of LibreOffice's settings."""
    body = "".join(
        f'<item oor:path="{OFFICE}{path}"><prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop></item>'
        for path, name, value in items
    )
    return f'<oor:items xmlns:oor="http://openoffice.org/2001/registry">{body}</oor:items>'.encode()


SAVING = ("Office.Common/Save/Document", "AutoSaveTimeIntervall")
FONT = ("Office.Writer/DefaultFont", "Standard")
SCREEN = ("Office.Impress/Misc/Start", "EnablePresenterScreen")
GIMP = b'# (theme "Dark")\n(theme "Light")\n(undo-levels 100)\n(toolbox tool (size 7))\n'
PREFS = rb"""
user_pref("a.b", true);
user_pref("c", "dark theme");
user_pref("n", 3);
user_pref("q\"x", "y");
user_pref("bad", {);
"""
FILTERS = rb"""version="9"
name="Promo"
enabled="yes"
type="17"
action="Move to folder"
actionValue="mailbox://x"
condition="AND (subject,contains,discount) OR (from,is,\"a b\")"
name="All"
enabled="no"
condition="ALL"
"""
STATUS = (
    b"<root><state>%s</state><information><category name='meta'><info name='filename'>%s</info></category>"
    b"</information></root>"
)


@pytest.mark.parametrize(
    ("func", "good", "bad", "rules"),
    [
        ("check_auto_saving_time", xcu((*SAVING, 3)), xcu((*SAVING, 30)), {"minutes": 3}),
        ("check_auto_saving_time", xcu((*SAVING, 9), (*SAVING, 3)), xcu((SAVING[0], "x", 3)), {"minutes": 3}),
        ("find_default_font", xcu((*FONT, "Arial")), xcu((FONT[0], "Heading", "Arial")), {"font_name": "Arial"}),
        ("check_presenter_console_disable", xcu((*SCREEN, "false")), xcu((*SCREEN, "true")), None),
        ("check_presenter_console_disable", xcu((*SCREEN, "False")), xcu(), None),
        ("check_libre_locale", xcu(("Setup/L10N", "ooLocale", "en-GB")), xcu(), {"locale_set": ["de*", "en*"]}),
        ("check_config_status", GIMP, GIMP[:16], {"type:": "key-value", "key": "theme", "value": '"Light"'}),
        (
            "check_config_status",
            b"(undo-levels 100)",
            GIMP.replace(b"100", b"10"),
            {"key": "undo-levels", "value": "100"},
        ),
        ("check_config_status", GIMP, b"(toolbox tip (size 7))", {"key": ["toolbox", "tool"], "value": "7"}),
        (
            "is_vlc_recordings_folder",
            b"input-record-path=/home\n",
            b"#input-record-path=/home",
            {"recording_file_path": "/home"},
        ),
        ("check_qt_bgcone", b"qt-bgcone=0\n", b"#qt-bgcone=0", {"expected_qt_bgcone": 0}),
        ("check_qt_max_volume", b"qt-max-volume=200", b"", {"expected_qt_max_volume": 200}),
        ("check_qt_max_volume", b"", b"qt-max-volume=200", {"expected_qt_max_volume": "125"}),
        ("check_qt_minimal_view", b"qt-minimal-view=1", b"qt-minimal-view=0", {"expected_qt_minimal_view": 1}),
        (
            "check_global_key_play_pause",
            b"global-key-play-pause=x",
            b"key-play-pause=x",
            {"expected_global_key_play_pause": 1},
        ),
        (
            "check_one_instance_when_started_from_file",
            b"one-instance-when-started-from-file=0",
            b"one-instance=0",
            {"expected_one_instance_when_started_from_file": 0},
        ),
        (
            "check_qt_slider_colours",
            b"qt-slider-colours=1;2;3",
            b"",
            {"type": "match", "expected_qt_slider_colours": "1;2;3"},
        ),
        ("check_qt_slider_colours", b"qt-slider-colours=1;2;99", b"qt-slider-colours=1;2;100", {"type": "blackish"}),
        (
            "is_vlc_playing",
            STATUS % (b"playing", b"a.mp4"),
            STATUS % (b"paused", b"a.mp4"),
            {"type": "file_name", "file_name": "a.mp4"},
        ),
        (
            "is_vlc_playing",
            STATUS % (b"playing", b"/x/a.mp4"),
            STATUS % (b"playing", b"ba.mp4"),
            {"type": "file_name", "file_name": "a.mp4"},
        ),
        (
            "is_vlc_playing",
            STATUS % (b"playing", b"a.mp4"),
            (STATUS % (b"playing", b"a.mp4")).replace(b"filename", b"artist"),
            {"type": "file_name", "file_name": "a.mp4"},
        ),
        ("check_qt_bgcone", b"qt-bgcone=1\n", b"\xff\xfe\xfa\n", {"expected_qt_bgcone": 1}),
        (
            "is_vlc_playing",
            STATUS % (b"playing", b"m.m3u8"),
            STATUS % (b"playing", b"n.m3u8"),
            {"type": "url", "url": "https://x/m.m3u8"},
        ),
        (
            "check_thunderbird_prefs",
            PREFS,
            PREFS.replace(b"true", b"false"),
            {"expect": {"a.b": {"method": "eq", "ref": True}}},
        ),
        ("check_thunderbird_prefs", PREFS, b"", {"expect": {"c": {"method": "re", "ref": "dark"}}}),
        (
            "check_thunderbird_prefs",
            PREFS,
            PREFS.replace(b"3", b"4"),
            {"expect": {}, "unexpect": {"n": {"method": "gt", "ref": 3}}},
        ),
        (
            "check_thunderbird_filter",
            FILTERS,
            FILTERS.replace(b"discount", b"sale"),
            {"expect": [{"enabled": "yes", "condition": ["AND (subject,contains,discount)", 'OR (from,is,"a b")']}]},
        ),
        (
            "check_thunderbird_filter",
            FILTERS,
            FILTERS.replace(b'"no"', b'"yes"'),
            {"expect": [{"name": "All", "enabled": "no", "condition": ["ALL"]}]},
        ),
        ("check_thunderbird_filter", b"", FILTERS, {"unexpect": [{"name": "All"}]}),
    ],
)
def test_settings_files(func, good, bad, rules):
    assert score_files(func, good, rules=rules, name="settings") == 1
    assert score_files(func, bad, rules=rules, name="settings") == 0
    assert score_files(func, None, rules=rules, name="settings") == 0


def mail(*messages, status="0001", keys=""):
    return "".join(
        f"From - Mon\nX-Mozilla-Status: {status}\nX-Mozilla-Keys: {keys}\n\n{text}\n" for text in messages
    ).encode()


def test_folders_of_mail():
    def score(result, expected, **options):
        return score_files("check_thunderbird_folder", result, expected, **options)

    gold = mail("one", "two")
    assert score(mail("two", "one"), gold) == 1
    assert score(mail("one"), gold) == 0
    assert score(mail("one", "two", "two"), gold) == 1
    assert score(mail("one", "two", "two"), gold, remove_duplicate=False) == 0
    assert score(gold + mail("three", status="0009"), gold) == 1
    assert score(gold + mail("three", status="0009"), gold, remove_deleted=False) == 0
    assert score(mail("one", "two", status="0000"), gold) == 0
    assert score(mail("one", "two", status="0000"), gold, ignore_status=True) == 1
    assert score(mail("one", "two", keys="work"), gold) == 0
    assert score(mail("one", "two", keys="work"), gold, ignore_keys=True) == 1
    assert score([gold, mail("x")], [gold, mail("x")]) == 1
    assert score([gold, mail("y")], [gold, mail("x")]) == 0


@pytest.mark.parametrize(
    ("func", "rules"),
    [
        ("is_vlc_playing", {"type": "url", "file_name": "a"}),
        ("check_qt_slider_colours", {"type": "match"}),
        ("check_font_size", {"type": "range", "min": 3}),
        ("is_shortcut_on_desktop", {"type": "name", "exec": "x"}),
        ("is_expected_bookmarks", {"type": "bookmark_bar_folders_names", "urls": []}),
        ("is_expected_url_pattern_match", {"expected": ["("]}),
        ("check_list", {"expect": ["("]}),
        ("check_accessibility_tree", [{"text": "x"}]),
        ("check_accessibility_tree", [{"xpath": "//["}]),
        ("check_accessibility_tree", [{"selectors": ["a["]}]),
        ("check_accessibility_tree", [{"xpath": "//a" * 1000}]),
    ],
)
def test_malformed_rules(func, rules):
    result = {"type": "rule", "rules": {}}
    if func in ("is_vlc_playing", "check_qt_slider_colours", "check_list"):
        result = {"type": "vm_file", "path": "/a", "dest": "a"}
    if func == "check_accessibility_tree":
        result = {"type": "accessibility_tree"}
    with pytest.raises(EvaluatorError, match=r"evaluator\.expected\.rules"):
        check_evaluator({"func": func, "result": result, "expected": {"type": "rule", "rules": rules}})


# --- what getters find ---

PROFILE = "/home/user/.config/google-chrome"


def desk(preferences=None, local=None, **more):
    files = {
        "/Default/Preferences": preferences,
        "/Local State": local,
        "/Default/Bookmarks": more.pop("bookmarks", None),
    }
    desktop = Desk({PROFILE + name: json.dumps(value).encode() for name, value in files.items() if value is not None})
    for name, value in more.items():
        setattr(desktop, name, value)
    return desktop


def score(func, getter, rules, desktop, **config):
    evaluator = {"func": func, "result": {"type": getter, **config}}
    if rules is not None:
        evaluator["expected"] = {"type": "rule", "rules": rules}
    check_evaluator(evaluator)
    return evaluate(evaluator, desktop, last_action="DONE", files=Web())


TREE = """<desktop-frame xmlns:st="https://accessibility.ubuntu.example.org/ns/state"
 xmlns:attr="https://accessibility.ubuntu.example.org/ns/attributes">
<application name="%s"><frame name="w"><entry name="Address and search bar" st:showing="true">%s</entry>
<label attr:id="tip">Hello there</label></frame></application></desktop-frame>"""
BAR = {
    "type": "folder",
    "name": "Liked Authors",
    "children": [{"type": "url", "url": u} for u in ("https://a1", "https://b2")],
}
BOOKMARKS = {"roots": {"bookmark_bar": {"children": [BAR, {"type": "url", "name": "x", "url": "https://x"}]}}}
TABS = json.dumps(
    [
        {"type": "page", "title": "A", "url": "https://www.a.com/"},
        {"type": "worker"},
        {"type": "page", "url": "http://b.org/x"},
    ]
)
SETTINGS = {
    "default_search_provider_data": {"template_url_data": {"short_name": "Bing"}},
    "profile": {"name": "Thomas", "default_content_setting_values": {"cookies": 4}},
    "webkit": {"webprefs": {"default_font_size": 20}},
    "enable_do_not_track": True,
    "safebrowsing": {"enabled": True, "enhanced": False},
    "session": {"restore_on_startup": 5},
    "extensions": {"settings": {"x": {"path": "/home/user/ext", "manifest": {"name": "Ext"}}, "y": 3}},
}


def equal(value):
    return {"expected": value}


def browser(tree="%s", name="Google Chrome", address="a.com/x"):
    return Desk(tree=(TREE if tree == "%s" else tree) % (name, address))


def listening(printed=TABS):
    return Desk(command=lambda command, shell: Printed(printed))


ADDRESS = {"goto_prefix": "https://www."}


@pytest.mark.parametrize(
    ("func", "getter", "rules", "good", "bad", "config"),
    [
        ("match_in_list", "default_search_engine", equal(["Bing"]), desk(SETTINGS), desk({}), {}),
        ("match_in_list", "default_search_engine", equal(["Google"]), desk(), desk(SETTINGS), {}),
        ("exact_match", "profile_name", equal("Thomas"), desk(SETTINGS), desk({"profile": []}), {}),
        ("exact_match", "chrome_language", equal("fr"), desk(local={"intl": {"app_locale": "fr"}}), desk(), {}),
        ("check_font_size", "chrome_font_size", {"type": "range", "min": 16, "max": 99}, desk(SETTINGS), desk(), {}),
        ("check_font_size", "chrome_font_size", {"type": "value", "value": 16}, desk(), desk(SETTINGS), {}),
        ("exact_match", "enable_do_not_track", equal("true"), desk(SETTINGS), desk({}), {}),
        ("exact_match", "enable_safe_browsing", equal("true"), desk(SETTINGS), desk({}), {}),
        (
            "exact_match",
            "enable_enhanced_safety_browsing",
            equal("false"),
            desk(SETTINGS),
            desk({"safebrowsing": {"enhanced": True}}),
            {},
        ),
        (
            "exact_match",
            "new_startup_page",
            equal("true"),
            desk(SETTINGS),
            desk({"session": {"restore_on_startup": 1}}),
            {},
        ),
        ("exact_match", "new_startup_page", equal("true"), desk({}), desk({"session": {}}), {}),
        ("exact_match", "data_delete_automacally", equal("true"), desk(SETTINGS), desk({}), {}),
        ("is_in_list", "find_unpacked_extension_path", equal("/home/user/ext"), desk(SETTINGS), desk({}), {}),
        (
            "is_expected_installed_extensions",
            "find_installed_extension_name",
            equal(["Ext"]),
            desk(SETTINGS),
            desk({}),
            {},
        ),
        (
            "check_enabled_experiments",
            "enabled_experiments",
            {"type": "names", "names": ["a"]},
            desk(local={"browser": {"enabled_labs_experiments": ["a@1"]}}),
            desk(),
            {},
        ),
        (
            "is_expected_bookmarks",
            "bookmarks",
            {"type": "bookmark_bar_folders_names", "names": ["Liked Authors"]},
            desk(bookmarks=BOOKMARKS),
            desk(bookmarks={"roots": {}}),
            {},
        ),
        (
            "is_expected_bookmarks",
            "bookmarks",
            {"type": "bookmark_bar_websites_urls", "urls": ["https://x"]},
            desk(bookmarks=BOOKMARKS),
            desk(),
            {},
        ),
        (
            "is_expected_bookmark_names",
            "bookmarks",
            {"expected": {"x": "https://x"}},
            desk(bookmarks=BOOKMARKS),
            desk(bookmarks={"roots": {"bookmark_bar": {"children": [{"type": "url", "url": "https://x"}]}}}),
            {},
        ),
        (
            "is_expected_bookmarks",
            "bookmarks",
            {"type": "liked_authors_websites_urls", "urls": [["https://a0", "https://a1"], "https://b2"]},
            desk(bookmarks=BOOKMARKS),
            desk(bookmarks={"roots": {"bookmark_bar": {"children": [BAR | {"name": "Authors"}]}}}),
            {},
        ),
        (
            "is_expected_active_tab",
            "active_url_from_accessTree",
            {"type": "url", "url": "https://a.com/x"},
            browser(),
            browser(address="a.com/y"),
            ADDRESS,
        ),
        (
            "is_expected_active_tab_approximate",
            "active_url_from_accessTree",
            {"type": "url", "url": "https://www.a.com/x?q=1"},
            browser(),
            browser(address="b.com/x"),
            ADDRESS,
        ),
        (
            "is_expected_url_pattern_match",
            "active_url_from_accessTree",
            equal(["^https://www", "/x$"]),
            browser(),
            browser(name="Firefox"),
            ADDRESS,
        ),
        (
            "is_expected_url_pattern_match",
            "active_url_from_accessTree",
            equal(["^http://a"]),
            browser(address="http://a"),
            browser(address=""),
            ADDRESS,
        ),
        (
            "is_expected_tabs",
            "open_tabs_info",
            {"type": "url", "urls": ["http://b.org/x", "https://a.com"]},
            listening(),
            listening("[]"),
            {},
        ),
        (
            "is_expected_tabs",
            "open_tabs_info",
            {"type": "url", "urls": ["http://b.org/x", "https://a.com"]},
            listening(),
            listening("nothing"),
            {},
        ),
        (
            "is_expected_search_query",
            "active_tab_info",
            {"expect": {"pattern": "a\\.com"}},
            listening(),
            listening(""),
            {},
        ),
        (
            "check_accessibility_tree",
            "accessibility_tree",
            [{"xpath": "//label[@attr:id='tip']", "text": "Hello there"}],
            browser(),
            browser("<a>%s%s</a>"),
            {},
        ),
        (
            "check_accessibility_tree",
            "accessibility_tree",
            [{"selectors": ["application[name=Firefox] label", 'entry[st|showing="true"]']}],
            browser(),
            browser(tree=TREE.replace("true", "false")),
            {},
        ),
        (
            "exact_match",
            "vm_command_error",
            equal("oops"),
            Desk(command=lambda c, s: Printed(error="oops")),
            Desk(),
            {"command": ["x"]},
        ),
        ("exact_match", "vm_terminal_output", equal("$ ls"), Desk(terminal="$ ls"), Desk(), {}),
        (
            "check_moved_jpgs",
            "list_directory",
            equal(["a.jpg"]),
            Desk({"/p/a.jpg": b""}),
            Desk({"/p/a.jpg": b"", "/p/b.jpg": b""}),
            {"path": "/p"},
        ),
        ("check_moved_jpgs", "list_directory", equal(["a.jpg"]), Desk({"/p/a.jpg": b""}), Desk(), {"path": "/p"}),
        (
            "is_shortcut_on_desktop",
            "shortcuts_on_desktop",
            {"type": "name", "name": "Maps"},
            Desk({"/home/user/Desktop/m.desktop": b"[Desktop Entry]\nName=Maps\n"}),
            Desk({"/home/user/Desktop/m.txt": b"Name=Maps\n"}),
            {},
        ),
        (
            "is_shortcut_on_desktop",
            "shortcuts_on_desktop",
            {"type": "exec", "exec": "a b"},
            Desk({"/home/user/Desktop/m.desktop": b"Exec=a b"}),
            Desk({"/home/user/Desktop/m.desktop": b"Exec=a bc"}),
            {},
        ),
        (
            "check_include_exclude",
            "default_video_player",
            {"include": ["vlc"]},
            Desk(command=lambda c, s: Printed("vlc.desktop\nvlc.desktop\nx.desktop\n")),
            Desk(),
            {},
        ),
        (
            "exact_match",
            "vm_screen_size",
            equal({"width": 1920, "height": 1080}),
            Desk(),
            type("Small", (Desk,), {"screen_size": lambda self: (5, 5)})(),
            {},
        ),
        (
            "check_qt_bgcone",
            "vlc_config",
            {"expected_qt_bgcone": 0},
            Desk({"/home/user/.config/vlc/vlcrc": b"qt-bgcone=0"}),
            Desk(),
            {"dest": "vlcrc"},
        ),
        (
            "check_config_status",
            "gimp_config_file",
            {"key": "a", "value": "b"},
            Desk({"/home/user/.config/GIMP/2.10/gimprc": b"(a b)"}),
            Desk(),
            {"dest": "gimprc", "file_name": "gimprc"},
        ),
        (
            "is_vlc_playing",
            "vlc_playing_info",
            {"type": "file_name", "file_name": "a"},
            listening((STATUS % (b"playing", b"a")).decode()),
            Desk(command=lambda c, s: Printed("", "refused", 1)),
            {"dest": "s.xml"},
        ),
        (
            "compare_config",
            "vscode_config",
            equal("x"),
            Desk({"/c": b"x"}),
            Desk(),
            {"vscode_extension_command": "it's", "path": "/c", "dest": "c"},
        ),
        (
            "literal_match",
            "content_from_vm_file",
            ["b", "2", "nan", "2.5"],
            Desk({"/a.xlsx": sheet(["a", 1, 3], ["b", 2, None, 2.5])}),
            Desk({"/a.xlsx": sheet(["a"])}),
            {"path": "/a.xlsx", "file_type": "xlsx", "file_content": "last_row"},
        ),
        ("is_added_to_steam_cart", "rule", {"items": ["a", "b"]}, Desk(), None, {"rules": {"content": "b a"}}),
    ],
)
def test_getters(func, getter, rules, good, bad, config):
    options = {"type": "list"} if func == "literal_match" and getter == "content_from_vm_file" else {}
    evaluator = {"func": func, "result": {"type": getter, **config}, "options": options}
    evaluator["expected"] = {"type": "rule", "rules": rules}
    check_evaluator(evaluator)
    assert evaluate(evaluator, good, last_action="DONE", files=Web()) == 1
    if bad is None:
        evaluator["result"] = {"type": "rule", "rules": {"content": "a"}}
    assert evaluate(evaluator, bad or good, last_action="DONE", files=Web()) == 0


def test_history_and_cookies():
    def database(table, columns, *rows):
        connection = sqlite3.connect(":memory:")
        connection.execute(f"CREATE TABLE {table} ({columns})")
        for row in rows:
            connection.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
        connection.commit()
        return connection.serialize()

    def visited(*urls):
        rows = [(1, url, "t", 5) for url in urls]
        return Desk({PROFILE + "/Default/History": database("urls", "id, url, title, last_visit_time", *rows)})

    def baked(*hosts):
        rows = [(1, host, "c") for host in hosts]
        return Desk({PROFILE + "/Default/Cookies": database("cookies", "creation_utc, host_key, name", *rows)})

    words = {"type": "keywords", "keywords": ["youtube"]}
    assert score("check_history_deleted", "history", words, visited("https://a.org"), dest="h") == 1
    assert score("check_history_deleted", "history", words, visited("https://youtube.com"), dest="h") == 0
    assert score("check_history_deleted", "history", words, visited(), dest="h") == 1
    assert score("check_history_deleted", "history", words, Desk(), dest="h") == 0
    domains = {"type": "domains", "domains": [".amazon.com"]}
    assert score("is_cookie_deleted", "cookie_data", domains, baked(".example.org"), dest="c") == 1
    assert score("is_cookie_deleted", "cookie_data", domains, baked("www.amazon.com"), dest="c") == 0
    assert score("is_cookie_deleted", "cookie_data", domains, baked(), dest="c") == 1
    assert score("is_cookie_deleted", "cookie_data", domains, Desk(), dest="c") == 0


@pytest.mark.parametrize(
    ("func", "getter", "rules"),
    [
        ("check_enabled_experiments", "enabled_experiments", {"type": "names", "names": []}),
        ("is_expected_installed_extensions", "find_installed_extension_name", {"expected": []}),
        ("is_expected_tabs", "open_tabs_info", {"type": "url", "urls": []}),
    ],
)
def test_nothing_is_an_answer(func, getter, rules):
    empty = Desk({PROFILE + "/Local State": b"{}", PROFILE + "/Default/Preferences": b"{}"}, lambda *_: Printed("[]"))
    assert score(func, getter, rules, empty) == 1
    some = {key: value or ["other"] for key, value in rules.items()}
    assert score(func, getter, some, empty) == 0


def test_a_browser_without_state_has_no_experiments_switched_off():
    assert score("check_enabled_experiments", "enabled_experiments", {"type": "names", "names": []}, Desk()) == 0


def test_no_file_is_no_answer():
    slot = METRICS["compare_image_list"].slots[0]
    assert [evaluator._missing(value, slot) for value in (None, [], [None], [1])] == [True, True, True, False]


def test_screen_and_window():
    evaluator = {"func": "is_vlc_fullscreen", "result": {"type": "vm_screen_size"}}
    evaluator["expected"] = {"type": "vm_window_size", "app_class_name": "vlc"}
    check_evaluator(evaluator)
    for windows, wanted in (({"vlc": (1920, 1080)}, 1), ({"vlc": (1920, 1040)}, 0), ({}, 0)):
        assert evaluate(evaluator, Desk(windows=windows), last_action="DONE", files=Web()) == wanted


def test_wallpaper():
    evaluator = {"func": "compare_images", "result": {"type": "vm_wallpaper", "dest": "w.png"}}
    evaluator["expected"] = {"type": "cloud_file", "path": "u", "dest": "g.png"}
    for found, wanted in ((picture(), 1), (None, 0), (b"", 0)):
        score = evaluate(evaluator, Desk(picture=found), last_action="DONE", files=Web(u=picture()))
        assert score == pytest.approx(wanted)


def test_files_fetched_before():
    several = {"type": "vm_file", "path": ["/a", "/b"], "dest": ["first", "second"], "multi": "true"}
    earlier = {"type": "cache_file", "path": "second"}
    rule = {"type": "rule", "rules": {"expect": ["two"]}}
    evaluator = {
        "func": ["check_list", "check_list"],
        "result": [several, earlier],
        "expected": [{"type": "rule", "rules": {}}, rule],
    }
    check_evaluator(evaluator)
    assert evaluate(evaluator, Desk({"/a": b"one", "/b": b"two"}), last_action="DONE", files=Web()) == 1
    assert evaluate(evaluator, Desk({"/a": b"one", "/b": b"three"}), last_action="DONE", files=Web()) == 0
    assert evaluate(evaluator, Desk({"/a": b"one"}), last_action="DONE", files=Web()) == 0


def test_every_getter_is_tried_in_some_test():
    from pathlib import Path

    texts = "".join(path.read_text() for path in Path(__file__).parent.glob("*.py"))
    assert [name for name in GETTERS if f'"{name}"' not in texts] == []


def test_every_metric_is_tried_in_some_test():
    from pathlib import Path

    from rlanything_verifiers.osworld import METRICS

    texts = "".join(path.read_text() for path in Path(__file__).parent.glob("*.py"))
    assert [name for name in METRICS if f'"{name}"' not in texts] == []


# --- addresses ---


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://www.a.com", "https://a.com/", True),
        ("a.com", "http://www.a.com", True),
        ("https://a.com", "http://a.com", False),
        ("https://a.com.sg/x", "https://a.com/x", True),
        ("https://a.com/x", "https://a.com/x/", False),
        ("https://a.com/x?q=1", "https://a.com/x?q=2", False),
        ("https://docs.a.org", "https://a.org", False),
        ("http://127.0.0.1", "http://127.0.0.2", False),
        (".amazon.com", "www.amazon.com", True),
        ("http://[::1", "http://[::1", True),
        ("http://[::1", "http://[::2", False),
    ],
)
def test_addresses(one, other, same):
    assert same_url(one, other) is same


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_texts_can_be_compared_as_addresses(one, other):
    assert same_url(one, one)
    assert same_url(one, other) == same_url(other, one)
    assert isinstance(without_query(one), str)
