"""What tasks require, stated or implied."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_task_pools.osworld import DOMAIN, import_task, read_payload, requirements_of

EXACT = {"func": "exact_match", "expected": {"type": "rule", "rules": {"expected": "1"}}}


def row(config=(), evaluator=None, **fields):
    evaluator = evaluator or {**EXACT, "result": {"type": "vm_command_line", "command": "cat a"}}
    return {"instruction": "Do it.", "config": list(config), "evaluator": evaluator, **fields}


def required(config=(), evaluator=None, **fields):
    return requirements_of(read_payload(import_task(row(config, evaluator, **fields)).payload))


def execute(command, **more):
    return {"type": "execute", "parameters": {"command": command, **more}}


def printed(command, **more):
    return {**EXACT, "result": {"type": "vm_command_line", "command": command, **more}}


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("pactl list sinks | grep Mute", {"pactl", "grep"}),
        (["timedatectl", "status"], {"timedatectl"}),
        (["bash -c 'x y' && ls; (du .)"], {"bash", "ls", "du"}),
        ("echo password | sudo -S LANG=C mkdir a", {"echo", "mkdir"}),
        ("[ -d ~/a ] && echo yes || echo no", {"echo"}),
        ("$PROGRAM x; ./own.sh; /usr/bin/x", set()),
        ("it's 'odd", set()),
        ("pulseaudio --start\npactl list sinks | head -n 1", {"pulseaudio", "pactl", "head"}),
        ("python3 -c 'one\ntwo'", set()),
        ("cat <<EOF\nnothing here\nEOF", set()),
        ("", set()),
    ],
)
def test_programs_of_commands(command, programs):
    if command:
        found = required([execute(command, shell=True)], printed(["true"]))
        assert found.programs - {"true"} == programs


def test_settings_and_locales():
    found = required([execute("LC_ALL=de_DE.UTF-8 date")], printed(["gsettings", "get", "org.gnome.shell", "apps"]))
    assert (found.schemas, found.locales) == ({"org.gnome.shell"}, {"de_DE.UTF-8"})
    assert "date" in found.programs


def test_applications_and_files():
    open_film = {"type": "open", "parameters": {"path": "/home/user/a.MP4"}}
    assert required([open_film], related_apps=["thunderbird", "os"]).programs == {"cat", "thunderbird", "vlc"}


@pytest.mark.parametrize(
    ("urls", "network"),
    [(["https://example.org"], True), (["file:///a.html", "http://localhost:8000"], False), (["http://[x"], False)],
)
def test_pages_of_the_web(urls, network):
    tabs = {"type": "chrome_open_tabs", "parameters": {"urls_to_open": urls}}
    assert required([tabs]).network is network
    launched = {"type": "launch", "parameters": {"command": ["google-chrome", *urls]}}
    assert required([launched]).network is network


def test_a_page_that_the_agent_has_to_find():
    getter = {"type": "active_url_from_accessTree", "goto_prefix": "https://www."}
    evaluator = {"func": "exact_match", "result": getter, "expected": {"type": "rule", "rules": {"expected": "x"}}}
    assert not required((), evaluator).network
    evaluator["expected"]["rules"]["expected"] = "https://example.org/"
    assert required((), evaluator).network


def test_an_infeasible_task_needs_what_its_set_up_starts():
    launch = {"type": "launch", "parameters": {"command": "VLC_VERBOSE=-1 vlc", "shell": True}}
    found = required([launch], {"func": "infeasible"}, related_apps=["vs_code"])
    assert found.programs == {"vlc"}


def test_what_a_task_states():
    stated = {"programs": ["inkscape"], "schemas": ["org.x"], "locales": ["de_DE.UTF-8"], "network": True}
    found = required(requires=stated)
    assert found.programs >= {"inkscape"}
    assert (found.schemas, found.locales, found.network) == ({"org.x"}, {"de_DE.UTF-8"}, True)
    assert required(requires={"programs": 3, "network": "yes"}).network is False


@given(st.text(max_size=200) | st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_any_command_has_requirements(command):
    if command and all(command):
        found = required((), printed(command))
        assert all(name.isascii() and " " not in name for name in found.programs)


@pytest.mark.parametrize("seed", range(8))
def test_generated_tasks_require_little(seed):
    found = requirements_of(read_payload(DOMAIN.generate(seed).payload))
    assert not found.network
    assert not found.locales
