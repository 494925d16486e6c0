"""Values and plain files."""

import contextlib
import itertools
import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from osworld_desk import Desk, Printed, Web, score_files, score_value

from rlanything_verifiers.osworld import EvaluatorError, File, check_evaluator, evaluate
from rlanything_verifiers.osworld.errors import Unreadable
from rlanything_verifiers.osworld.matching import ValueRule, likeness, line_likeness, pattern, searches
from rlanything_verifiers.osworld.structured import read_json, read_yaml


@pytest.mark.parametrize(
    ("func", "result", "rules", "wanted"),
    [
        ("exact_match", "Directory exists.\n", {"expected": "Directory exists.\n"}, 1),
        ("exact_match", "Directory exists.", {"expected": "Directory exists.\n"}, 0),
        ("exact_match", [1, 2], {"expected": [1, 2]}, 1),
        ("exact_match", [2, 1], {"expected": [1, 2]}, 0),
        ("match_in_list", "Bing", {"expected": ["Microsoft Bing", "Bing"]}, 1),
        ("match_in_list", "Bin", {"expected": ["Microsoft Bing", "Bing"]}, 0),
        ("is_in_list", ["/a", "/b"], {"expected": "/b"}, 1),
        ("is_in_list", ["/a", "/b/c"], {"expected": "/b"}, 0),
        ("is_in_list", "some text", {"expected": "me t"}, 1),
        ("is_in_list", "some text", {"expected": "met"}, 0),
        ("check_include_exclude", "a b c", {"include": ["a", "c"], "exclude": ["d"]}, 1),
        ("check_include_exclude", "a b c", {"include": ["a", "d"]}, 0),
        ("check_include_exclude", "a b c", {"include": ["a"], "exclude": ["c"]}, 0),
        ("check_include_exclude", "", {}, 1),
        ("fuzzy_match", "abcd", {"expected": "abcd"}, 1),
        ("fuzzy_match", "abcd", {"expected": "wxyz"}, 0),
        ("fuzzy_match", "abcd", {"expected": "abxy"}, 0.5),
        ("check_direct_json_object", '{"a": 1, "b": 2}', {"expected": {"a": 1}}, 1),
        ("check_direct_json_object", "{'a': 1}\n", {"expected": {"a": 1}}, 1),
        ("check_direct_json_object", '{"a": 2}', {"expected": {"a": 1}}, 0),
        ("check_direct_json_object", "not json", {"expected": {"a": 1}}, 0),
        ("check_direct_json_object", "[1]", {"expected": {"a": 1}}, 0),
        ("check_direct_json_object", "[" * 100_000, {"expected": {"a": 1}}, 0),
        ("check_direct_json_object", {"a": [1, 2]}, {"expected": {"a": [2, 1]}}, 0),
        ("check_direct_json_object", {"a": [1, 2]}, {"expected": {"a": [2, 1]}, "ignore_list_order": True}, 1),
        ("check_direct_json_object", {"a": "b c"}, {"expected": {"a": "c"}, "expect_in_result": True}, 1),
        ("check_direct_json_object", {"a": "b c"}, {"expected": {"a": "d"}, "expect_in_result": True}, 0),
        ("check_direct_json_object", {"a": ["b"]}, {"expected": {"a": ["b", "d"]}, "expect_in_result": True}, 1),
        ("check_direct_json_object", {"a": ["c"]}, {"expected": {"a": ["b", "d"]}, "expect_in_result": True}, 0),
        ("check_direct_json_object", {}, {"expected": {"a": "d"}, "expect_in_result": True}, 0),
        ("is_extension_installed", "x\nmattn.lisp\n", {"type": "contain", "expected": "mattn.lisp"}, 1),
        ("is_extension_installed", "x\n", {"type": "contain", "expected": "mattn.lisp"}, 0),
        ("is_extension_installed", "x\n", {"type": "not_contain", "expected": "mattn.lisp"}, 1),
        ("is_extension_installed", "x\n", {"type": "not_contain", "expected": "x"}, 0),
        ("is_utc_0", "Local time: x\n   Time zone: Etc/UTC (UTC, +0000)\nNTP service: n/a\n", None, 1),
        ("is_utc_0", "Local time: x\n   Time zone: Europe/Vienna (CET, +0100)\n", None, 0),
        ("is_utc_0", "nothing (UTC, +0000)", None, 0),
        ("check_gnome_favorite_apps", "['a.desktop', 'b.desktop']\n", {"expected": ["b.desktop", "a.desktop"]}, 1),
        ("check_gnome_favorite_apps", "['a.desktop']", {"expected": ["b.desktop", "a.desktop"]}, 0),
        ("check_gnome_favorite_apps", "@as []", {"expected": []}, 1),
        ("check_gnome_favorite_apps", "__import__('os').getcwd()", {"expected": []}, 0),
        ("check_gnome_favorite_apps", "(" * 50_000, {"expected": []}, 0),
        ("check_text_enlarged", "1.25\n", None, 1),
        ("check_text_enlarged", "1.0\n", None, 0),
        ("check_text_enlarged", "large", None, 0),
        ("check_left_panel", '<a><document-frame name="Slides View"/></a>', None, 1),
        ("check_left_panel", '<a><document-frame name="Slide View"/></a>', None, 0),
        ("check_left_panel", "<a>", None, 0),
    ],
)
def test_values(func, result, rules, wanted):
    assert score_value(func, result, rules) == pytest.approx(wanted)


def test_a_result_of_the_wrong_kind_is_an_error_of_the_evaluator():
    with pytest.raises(EvaluatorError, match=r"evaluator\.result\.rules"):
        score_value("fuzzy_match", [1], {"expected": "x"})


@pytest.mark.parametrize(
    ("result", "expected", "options", "wanted"),
    [
        ("a", "a", {}, 1),
        ("A", "a", {}, 0),
        ("A", "a", {"ignore_case": True}, 1),
        (1, "1", {}, 1),
        (["1", "A"], [1, "a"], {"type": "list"}, 0),
        (["1", "A"], [1, "a"], {"type": "list", "ignore_case": True}, 1),
        (["1"], [1, 2], {"type": "list"}, 0),
        ("x", [1], {"type": "list"}, 0),
    ],
)
def test_literal_match(result, expected, options, wanted):
    assert score_value("literal_match", result, expected, **options) == wanted


def test_clipboard():
    desk = Desk(command=lambda command, shell: Printed("/home/secret.docx\n"))
    evaluator = {
        "func": "is_in_vm_clickboard",
        "expected": {"type": "vm_command_line", "command": "xsel", "shell": True},
    }

    def score(rules):
        given = evaluator | {"result": {"type": "rule", "rules": {"expected": rules}}}
        check_evaluator(given)
        return evaluate(given, desk, last_action="DONE", files=Web())

    assert score("/home/secret.docx") == 1
    assert score(["secret", "home"]) == 1
    assert score(["secret", "house"]) == 0
    assert score("/home/public.docx") == 0


# --- text files ---


@pytest.mark.parametrize(
    ("result", "expected", "options", "wanted"),
    [
        (b"a b\n", b"a b\n", {}, 1),
        (b"a b\r\n", b"a b\n", {}, 1),
        (b"\xef\xbb\xbfa b\n", b"a b\n", {}, 1),
        (b"a  b\n", b"a b\n", {}, 0),
        (b"a\t\n b", b"a b\n", {"ignore_blanks": True}, 1),
        (b"ab", b"a b\n", {"ignore_blanks": True}, 0),
        (b"A b\n", b"a b\n", {"ignore_case": True}, 1),
        (b"\xe9", "é".encode(), {}, 1),
    ],
)
def test_compare_text_file(result, expected, options, wanted):
    assert score_files("compare_text_file", result, expected, **options) == wanted


def test_text_against_text():
    assert score_files("diff_text_file", b"a\nb\nc\nd", b"a\nb\nc\nd") == 1
    assert score_files("diff_text_file", b"a\nb\nx\ny", b"a\nb\nc\nd") == 0.5
    assert score_files("diff_text_file", b"", b"a") == 0
    assert score_files("compare_csv", b"a,1\nb,2\n", b"a,1\nb,2") == 1
    assert score_files("compare_csv", b"a,1\nb,3\n", b"a,1\nb,2") == 0
    assert score_files("compare_csv", b" a,1\nB,2\n", b"a,1\nb,2") == 0
    assert score_files("compare_csv", b" a,1\nB,2\n", b"a,1\nb,2", strict=False, ignore_case=True) == 1
    assert score_files("compare_csv", b"x", [b"y", b"x"]) == 1
    assert score_files("compare_csv", b"z", [b"y", b"x"]) == 0
    program = b"#!/usr/bin/python\n# coding: utf-8\n\ndef f():\n\treturn 1   \n"
    assert score_files("compare_python_pure_text", program, b"def f():\n    return 1") == 1
    assert score_files("compare_python_pure_text", program, b"def f():\n  return 1") == 0
    assert score_files("compare_result_files", b"It is 42.5 in all", b"42.5\n") == 1
    assert score_files("compare_result_files", b"42.50001", b"42.5") == 1
    assert score_files("compare_result_files", b"42.6", b"42.5") == 0
    assert score_files("compare_result_files", b"about fourty", b"42.5") == 0
    assert score_files("compare_result_files", b" yes\n", b"yes") == 1
    assert score_files("compare_result_files", b"no", b"yes") == 0
    assert score_files("is_included_all_json_objects", b'{"a": 1}', b'{"a": 1, "b": 2}') == 1
    assert score_files("is_included_all_json_objects", b'{"a": 2}', b'{"a": 1, "b": 2}') == 0
    assert score_files("is_included_all_json_objects", b"[]", b'{"a": 1, "b": 2}') == 0


def test_terminal_and_text():
    evaluator = {"func": "compare_terminal_and_txt", "expected": {"type": "vm_terminal_output"}}
    evaluator["result"] = {"type": "vm_file", "path": "/a", "dest": "a"}
    for terminal, wanted in (("text", 1), ("texts", 0), (None, 0)):
        desk = Desk({"/a": b"text"}, terminal=terminal)
        assert evaluate(evaluator, desk, last_action="DONE", files=Web()) == wanted


@pytest.mark.parametrize(
    ("func", "result", "rules", "wanted"),
    [
        ("file_contains", b"CPU %user", {"expected": ["CPU", "%user"]}, 1),
        ("file_contains", b"CPU %user", {"expected": ["CPU", "%nice"]}, 0),
        ("check_line_number", b"10:20:30 a\nb\n23:59:60 c", {"expected": "2"}, 1),
        ("check_line_number", b"10:20:30 a\n24:00:00 c", {"expected": 2}, 0),
        ("compare_config", b"text\n", {"expected": "text\n"}, 1),
        ("compare_config", b"text", {"expected": "text\n"}, 0),
        ("check_list", b"one 1\ntwo 2\n", {"expect": [r"^\w+ \d$", "two"], "unexpect": ["three"]}, 1),
        ("check_list", b"one 1\ntwo 2\n", {"expect": ["three"]}, 0),
        ("check_list", b"one 1\ntwo 2\n", {"expect": ["1\\n", "2\\n$"], "unexpect": ["1\\ntwo"]}, 1),
        ("check_list", b"one 1\ntwo 2\n", {"expect": ["one"], "unexpect": ["^two"]}, 0),
        ("check_csv", b"a,b\n1,2\n3,4\n", {"expect": [{"a": "3", "b": "4"}, {"b": "2"}], "unexpect": [{"a": "5"}]}, 1),
        ("check_csv", b"a,b\n1,2\n3,4\n", {"expect": [{"a": "3", "b": "2"}]}, 0),
        ("check_csv", b"a,b\n1,2\n3,4\n", {"unexpect": [{"a": "3"}]}, 0),
        ("check_csv", b'a\n"' + b"x" * 200_000 + b'"', {"expect": [{"a": "1"}]}, 0),
        ("check_json_settings", b'{"a": 1, /* c */ "b": [2,], // d\n}', {"expected": {"b": [2]}}, 1),
        ("check_json_settings", b'{"a": 1}', {"expected": {"a": 2}}, 0),
        ("check_json_settings", b'{"a": null}', {"expected": {"b": None}}, 0),
        ("check_json_settings", b"{", {"expected": {"a": 2}}, 0),
        (
            "check_json_keybindings",
            b'// mine\n[{"key": "ctrl+j", "command": "x"}]',
            {"expected": {"key": "ctrl+j", "command": "x"}},
            1,
        ),
        (
            "check_json_keybindings",
            b'[{"key": "ctrl+k", "command": "x"}]',
            {"expected": {"key": "ctrl+j", "command": "x"}},
            0,
        ),
        ("check_json_keybindings", b'{"key": 1}', {"expected": "key"}, 0),
    ],
)
def test_files_against_rules(func, result, rules, wanted):
    assert score_files(func, result, rules=rules) == wanted


@pytest.mark.parametrize(
    ("content", "own", "upstream"),
    [
        ('[{"a": 1}]', 1, 1),
        ('// mine\n[{"a": 1}]', 1, 1),
        ('[{"a": 1},]', 1, 0),
        ('[\n// mine\n{"a": 1}]', 1, 0),
        ('[{"a": 2}]', 0, 0),
        ("[" * 50_000, 0, 0),
    ],
)
def test_key_bindings_as_vs_code_and_as_osworld_reads_them(content, own, upstream):
    for reading, wanted in (("own", own), ("upstream", upstream)):
        rules = {"expected": {"a": 1}}
        assert score_files("check_json_keybindings", content.encode(), rules=rules, reading=reading) == wanted
        whole = f'{{"b": {content}}}'.replace("// mine\n[", "[")
        settings = {"expected": {"b": [{"a": 1}]}}
        assert score_files("check_json_settings", whole.encode(), rules=settings, reading=reading) == wanted


def test_check_json():
    found = {"name": "x", "deep": {"list": [1, {"a": "smart mode"}]}, "size": 5}
    expect = [
        {"key": ["name"], "method": "eq", "ref": "x"},
        {"key": ["deep", "list", 1, "a"], "method": "re", "ref": r"\bsmart\b"},
        {"key": ["size"], "method": "approx:0.5", "ref": 5.4},
    ]
    data = json.dumps(found).encode()
    assert score_files("check_json", data, rules={"expect": expect}) == 1
    assert score_files("check_json", b"name: x\nsize: 5\n", rules={"expect": expect[:1]}, is_yaml=True) == 1
    assert score_files("check_json", b"name: y\n", rules={"expect": expect[:1]}, is_yaml=True) == 0
    assert score_files("check_json", b"", rules={"expect": expect[:1]}, is_yaml=True) == 0
    missing = {"key": ["deep", "list", 5], "method": "eq", "ref": 1}
    assert score_files("check_json", data, rules={"expect": [*expect, missing]}) == 0
    assert score_files("check_json", data, rules={"unexpect": [missing]}) == 1
    assert score_files("check_json", data, rules={"unexpect": expect[:1]}) == 0
    with pytest.raises(EvaluatorError, match=r"evaluator\.expected\.rules\.expect\[0\]"):
        score_files("check_json", data, rules={"expect": [{"key": ["a"], "method": "like", "ref": 1}]})


# --- rules for values ---


@pytest.mark.parametrize(
    ("method", "ref", "good", "bad"),
    [
        ("eq", 3, [3, 3.0], [4, "3", None]),
        ("ne", 3, [4, "3"], [3]),
        ("lt", 3, [2], [3, "2", None]),
        ("le", 3, [3], [4]),
        ("gt", 3, [4], [3, []]),
        ("ge", 3, [3], [2]),
        ("approx:0.1", 2.0, [2.05, "1.95", 2], [2.2, "two", None, True]),
        ("re", "^a.c$", ["abc"], ["ab", 7, None]),
        ("re.I.S", "^A.C$", ["a\nc"], ["ab"]),
        ("range.te", [0, 2], [1, 2], [0, 3, "1"]),
        ("range.et", [0, 2], [0, 1], [2]),
        ("str_list_eq", ["a", "b"], ['"a,b"', "a,b"], ["b,a", 3]),
        ("str_set_eq", ["a", "b"], ['"b,a"'], ["a", None]),
    ],
)
def test_value_rules(method, ref, good, bad):
    rule = ValueRule(method=method, ref=ref)
    assert all(rule.holds(value) for value in good)
    assert not any(rule.holds(value) for value in bad)


@pytest.mark.parametrize(
    ("method", "ref"),
    [
        ("", 1),
        ("equal", 1),
        ("approx:", 1),
        ("approx:x", 1),
        ("approx:1", "x"),
        ("re", "("),
        ("re", "a" * 3000),
        ("re.DEBUG", "a"),
        ("re.__class__", "a"),
        ("range.xx", [1, 2]),
        ("range.te", 3),
        ("str_list_eq", "a"),
        ("spreadsheet_range", ["A1"]),
        ("builtins.eval", 1),
    ],
)
def test_malformed_value_rules(method, ref):
    with pytest.raises(EvaluatorError):
        ValueRule(method=method, ref=ref)


@given(
    st.text(max_size=20), st.one_of(st.none(), st.integers(), st.text(max_size=8), st.lists(st.integers(), max_size=3))
)
def test_value_rules_never_fail_on_a_value(method, value):
    for name in (method, "eq", "lt", "re", "approx:1"):
        try:
            rule = ValueRule(method=name, ref=value)
        except EvaluatorError:
            continue
        assert rule.holds(value) in (True, False)
        assert rule.holds(None) in (True, False)


def test_a_regular_expression_that_explodes_does_not_match():
    assert not searches(pattern("^(a|aa|aab?)+$"), "a" * 5000 + "c")
    assert searches(pattern("(?i)X$"), "zzx")


def test_texts_too_long_to_compare_are_unlike():
    assert likeness("ab" * 200_000, "ba" * 200_000) == 0
    assert likeness("ab" * 200_000, "ab" * 200_000) == 1
    assert line_likeness(["a"] * 30_000, ["a"] * 30_000) == 1
    assert line_likeness(["a"] * 30_000, ["b"] * 10) == 0


@given(st.text(max_size=30), st.text(max_size=30))
def test_likeness_is_symmetric_enough(one, other):
    assert 0 <= likeness(one, other) <= 1
    assert (likeness(one, other) == 1) == (one == other)


# --- JSON and YAML ---

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_json_is_read_as_it_was_written(value):
    text = json.dumps(value, indent=1)
    assert read_json(File("a.json", text.encode())) == value
    assert read_json(File("a.json", f"// first\n{text}\n/* last".encode())) == value


def test_json_as_editors_write_it():
    text = '{"a": ["// no, comment", 2, /* one */ 3 , ], // two\n "b": "/*", }'
    assert read_json(File("a.json", text.encode())) == {"a": ["// no, comment", 2, 3], "b": "/*"}


@given(st.text(alphabet='{}[]",:/*\\ \n1a', max_size=60))
def test_any_text_is_json_or_unreadable(text):
    with contextlib.suppress(Unreadable):
        read_json(File("a.json", text.encode()))


@pytest.mark.parametrize("text", ["/*" * 400_000, '"' + '\\"' * 400_000, "," * 800_000, '"\\'])
def test_json_made_to_be_slow(text):
    assert score_files("check_json_settings", text.encode(), rules={"expected": {}}) == 0


@given(VALUES)
def test_yaml_is_read_as_it_was_written(value):
    text = yaml.safe_dump(value, allow_unicode=True)
    assert read_yaml(File("a.yml", text.encode())) == yaml.safe_load(text)


def test_yaml_with_references():
    rules = {"expect": [{"key": ["a", "b", 0], "method": "eq", "ref": 1}]}
    for text in (b"x: &x {b: [1]}\na: *x\n", b"x: &x {b: [1]}\na: {<<: *x}\n"):
        assert score_files("check_json", text, rules=rules, is_yaml=True) == 1


def test_files_and_programs():
    folder = Desk({"/a/b.txt": b""})
    result = {"type": "list_directory", "path": "/a"}
    for name, score in (("b.txt", 1), ("c.txt", 0)):
        evaluator = {"func": "check_file_exists", "result": result, "expected": {"type": "rule", "rules": name}}
        check_evaluator(evaluator)
        assert evaluate(evaluator, folder, last_action="DONE", files=Web()) == score
    assert score_files("check_python_file_by_gold_file", b"a = 1\r\n\n", b"a = 1\n") == 1
    assert score_files("check_python_file_by_gold_file", b"a = 2\n", b"a = 1\n") == 0


def test_answers():
    assert score_value("compare_answer", "42", {"expected": "42"}) == 1
    assert score_value("compare_answer", "43", {"expected": "42"}) == 0
    assert score_value("compare_answer", "", {"expected": ""}) == 0


def test_yaml_made_to_grow():
    letters = "abcdefghijklmnopqrstuvwxyz"
    pairs = list(itertools.pairwise(letters))
    lists = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in pairs)
    merged = "a: &a {x: 1, y: 2}\n" + "".join(f"{b}: &{b} {{<<: [*{a}, *{a}]}}\n" for a, b in pairs)
    for bomb in (lists, merged):
        assert score_files("check_json", bomb.encode(), rules={"expect": []}, is_yaml=True) == 0
    assert score_files("check_json", b"a: !!python/object/apply:os.getcwd []", rules={"expect": []}, is_yaml=True) == 0
