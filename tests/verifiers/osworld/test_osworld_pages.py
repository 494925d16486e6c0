"""Addresses and elements of the page in the browser's active tab."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from osworld_desk import Desk, Printed, Web
from waiting import until

from rlanything_verifiers.osworld import EvaluatorError, check_evaluator, evaluate
from rlanything_verifiers.osworld.getters import pages
from rlanything_verifiers.osworld.getters.pages import Elements, Query, active_tab_html_parse, active_tab_url_parse
from rlanything_verifiers.osworld.registry import Context

TREE = "<d><application name='Chromium'><entry name='Address and search bar'>{}</entry></application></d>"


def context(url, command=lambda command, shell: Printed()):
    return Context(Desk(tree=TREE.format(url), command=command), Web())


def score(url, result, expected):
    evaluator = {"func": "check_direct_json_object", "result": result}
    evaluator["expected"] = {"type": "rule", "rules": {"expected": expected}}
    check_evaluator(evaluator)
    return evaluate(evaluator, Desk(tree=TREE.format(url)), last_action="DONE", files=Web())


def test_parameters_of_an_address():
    url = "x.org/cars?max=50000&amp;zip=10001&amp;list=a,b&amp;day=3&amp;day=4#end"
    found = {"type": "active_tab_url_parse", "parse_keys": ["max", "zip", "day", "none"], "replace": {"day": "time"}}
    assert score(url, found, {"max": "50000", "zip": "10001", "time": "3", "none": ""}) == 1
    assert score(url, found, {"max": "50001"}) == 0
    listed = {"type": "active_tab_url_parse", "parse_keys": ["list"], "split_list": True}
    assert score(url, listed, {"list": ["a", "b"]}) == 1
    assert active_tab_url_parse(Context(Desk(), Web()), Query(parse_keys=["a"])) is None, "no browser"
    with pytest.raises(EvaluatorError, match="none of parse_keys"):
        check_evaluator(
            {"func": "exact_match", "result": {**found, "parse_keys": ["max"]}, "expected": {"type": "rule"}}
        )


def test_parts_of_an_address():
    part = {"type": "url_dashPart", "partIndex": -2, "returnType": "json", "key": "time", "goto_prefix": "https://www."}
    assert score("x.org/uk/november-weather/12?a=b", part, {"time": "november-weather"}) == 1
    last = {**part, "partIndex": -1, "needDeleteId": True}
    assert score("x.org/uk/november-weather/12?a=b", last, {"time": "12"}) == 1
    assert score("x.org", {**part, "partIndex": 9}, {"time": "x"}) == 0


@given(st.text(max_size=80))
def test_any_address_is_taken_apart(text):
    found = active_tab_url_parse(context("x.org/?" + quote(text)), Query(parse_keys=["a"]))
    assert set(found) == {"a"}


PAGE = """<!doctype html><html><body>
<div class="date">Mon, Nov 30</div><div class="city">SEA<span>to</span>NYC</div>
<div class="card"><h3> First </h3></div><div class="card"><h3>Second</h3></div>
<span class="tag">Black</span><span class="tag">On sale</span>
<ul class="list"><li class="catAllProducts"><span>Toys</span></li><li class="catAllProducts"><span>Kids</span></li></ul>
<form><input id="name" value=""></form>
<script>
  document.querySelector("#name").value = " Jane ";
  Element.prototype.querySelectorAll = Document.prototype.querySelectorAll = () => [];
</script></body></html>"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """The address of a page in a browser that listens for a debugger."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium")
    folder = tmp_path_factory.mktemp("browser")
    page = folder / "page.html"
    page.write_text(PAGE)
    command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
    with (folder / "log").open("w") as log:
        running = subprocess.Popen([*command, f"--user-data-dir={folder}", page.as_uri()], stderr=log)
    try:
        port = folder / "DevToolsActivePort"
        until(lambda: port.exists() and port.read_text().strip(), instead=(folder / "log").read_text)
        yield page.as_uri(), int(port.read_text().split()[0])
    finally:
        running.terminate()
        running.wait()


def run_here(command, shell):
    done = subprocess.run([sys.executable, *command[1:]], capture_output=True, text=True, timeout=60, check=False)
    return Printed(done.stdout, done.stderr, done.returncode)


@pytest.mark.slow
def test_elements_of_a_page(browser, monkeypatch):
    url, port = browser
    monkeypatch.setattr(pages, "PORTS", (1, port))

    def found(url=url, **config):
        return active_tab_html_parse(context(url, run_here), Elements(**config))

    assert found(
        category="class",
        class_singleObject={"date": "time", "nothing": "none"},
        class_multiObject={"card": {"1": "card"}},
        class_multiObject_child={"city": {"0": "start", "1": "end"}},
        class_multiObject_only_child={"card": {"0": "first"}},
        class_multiObject_search_exist={"tag": ["Black", "Red", "is_other_exist"]},
    ) == {
        **{"time": "Mon, Nov 30", "none": "", "card": "Second", "start": "SEA", "end": "NYC", "first": "First"},
        **{"Black": True, "Red": False, "is_other_exist": True},
    }
    paths = {"/html/body/div[1]": "date", "//h3": "heading", "/html/nothing": "none"}
    assert found(category="xpath", xpathObject=paths) == {"date": "Mon, Nov 30", "heading": "First", "none": ""}
    assert found(category="input", inputObject={"//input": "name"}) == {"name": "Jane"}
    listed = found(
        category="class&url",
        class_multiObject={"tag": ["black", "on sale"]},
        class_multiObject_li={"list": ["Toys", "Kids"]},
        url_include_expected=["page"],
        url_include_expected_multichoice={"nowhere": "Toys", "other": "Else"},
    )
    known = {"black": True, "on sale": True, "toys": True, "kids": True, "page": True, "else": False}
    assert listed == {**known, "is_other_exist": False}
    assert found(url="https://other.org", category="xpath", xpathObject={"//h3": "a"}) == {}


@pytest.mark.parametrize("printed", ["", "null", "[1]", "[[1, null]]", '{"a": 1}'])
def test_what_is_printed_instead_is_no_failure(printed):
    desk = context("x.org", lambda command, shell: Printed(printed))
    config = Elements(category="xpath", xpathObject={"//a": "a"})
    assert active_tab_html_parse(desk, config) in ({}, {"a": "1"}, {"a": ""})


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"category": "label"}, "category"),
        ({"category": "class", "class_multiObject": {"a": ["b"]}}, "names by place"),
        ({"category": "class&url", "class_multiObject": {"a": {"0": "b"}}}, "lists of texts"),
        ({"category": "class", "class_multiObject_child": {"a": {"x": "b"}}}, "numbers from 0"),
    ],
)
def test_malformed_settings(config, named):
    result = {"type": "active_tab_html_parse", **config}
    with pytest.raises(EvaluatorError, match=named):
        check_evaluator(
            {"func": "exact_match", "result": result, "expected": {"type": "rule", "rules": {"expected": 1}}}
        )


def test_the_program_of_the_guest_needs_nothing_but_python():
    given = json.dumps({"ports": [1], "url": "x", "queries": []})
    program = Path(pages.__file__).with_name("page_program.py")
    done = subprocess.run([sys.executable, "-I", "-S", program, given], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "null"
