"""Generated tasks: proved, the same everywhere, with words and kinds that training never sees."""

import io
from dataclasses import fields, replace

import docx
import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_task_pools.osworld import DOMAIN, HELD_OUT, KINDS, KnobError, generate, keys, read_payload
from rlanything_task_pools.osworld.gate import check_state, score
from rlanything_task_pools.osworld.generate import draw_state, kinds_of
from rlanything_task_pools.osworld.guest import FileGuest
from rlanything_task_pools.osworld.office import Document, Paragraph
from rlanything_task_pools.osworld.words import SEEN, UNSEEN, Words
from rlanything_task_pools.task import Refused, Task

SPLIT = {name: "valid_unseen" if name in HELD_OUT else "train" for name in KINDS}


def test_there_are_enough_kinds():
    assert len(KINDS) >= 12
    assert {"os", "libreoffice_calc", "libreoffice_writer", "libreoffice_impress", "chrome", "gimp"} <= {
        app for kind in KINDS.values() for app in kind.apps
    }
    assert set(KINDS) >= HELD_OUT


@pytest.mark.parametrize("name", KINDS)
def test_every_kind(name):
    """The gate has passed: drawn again, each level tells its own goal from the start and from all others."""
    for seed in range(3):
        task = generate(seed, SPLIT[name], kinds=name)
        payload = read_payload(task.payload)
        assert DOMAIN.verify(task) is None
        assert 2 <= len(payload.evaluators) <= 6
        steps = [payload.steps[each] for each in payload.evaluators]
        assert steps == sorted(set(steps))
        assert score(payload.evaluator, FileGuest.of(payload)) == 0
        assert Task.from_json(task.to_json()) == task
        assert len(task.to_json()) < 200_000
        assert task.goal == payload.instruction


@pytest.mark.parametrize("name", KINDS)
def test_an_oracle_wins_its_own_rung_alone(name):
    state, _ = draw_state(name, SPLIT[name], 5)
    start = FileGuest(state.files)
    won = [
        [score(level.evaluator, start.after(other.after, other.modes)) for other in state.levels]
        for level in state.levels
    ]
    size = range(len(state.levels))
    assert [[value == 1 for value in row] for row in won] == [[i == j for j in size] for i in size]


def laid_out(data, breaks=(), centered=()):
    """The document with page breaks before some paragraphs, and some in the centre."""
    texts = [part.text for part in docx.Document(io.BytesIO(data)).paragraphs]
    parts = [Paragraph(text, page_break=n in breaks, centered=n in centered) for n, text in enumerate(texts)]
    return Document(parts).to_bytes()


def last_sheet_written(data):
    book, made = openpyxl.load_workbook(io.BytesIO(data)), io.BytesIO()
    book.worksheets[-1]["A1"] = "other"
    book.save(made)
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "number", "change"),
    [
        ("document_format", 0, lambda path, data: (path, laid_out(data, (), range(5)))),
        ("document_format", 1, lambda path, data: (path, laid_out(data, [1]))),
        ("document_format", 3, lambda path, data: (path, laid_out(data, [2, 3], [0]))),
        ("bookmarks", 1, lambda path, data: (path, data.replace(b'",\n     "url"', b'zzz",\n     "url"'))),
        ("write_files", 1, lambda path, data: (path, data.replace(b"\n", b" "))),
        ("make_folders", 2, lambda path, data: (path.rstrip("/") if path.count("/") > 6 else path, data)),
        ("edit_json", 2, lambda path, data: (path, data.replace(b"true", b"1"))),
        ("edit_json", 0, lambda path, data: (path, data.replace(b"{", b'{"more": 1, ', 1))),
        ("sort_files", 0, lambda path, data: (path, data and b"")),
        ("sheet_layout", 3, lambda path, data: (path, last_sheet_written(data))),
    ],
)
def test_what_a_goal_names_is_checked(name, number, change):
    state, _ = draw_state(name, SPLIT[name], 0)
    level, start = state.levels[number], FileGuest(state.files)
    assert score(level.evaluator, start.after(dict(change(*each) for each in level.after.items()))) == 0
    assert score(level.evaluator, start.after(level.after)) == 1


def test_the_gate_refuses_what_is_unsound():
    state, _ = draw_state("edit_text", "train", 0)
    one, two, *rest = state.levels
    for levels, reason in [
        ([one], "no_ladder"),
        ([two, one], "no_ladder"),
        ([one, replace(two, goal=one.goal)], "goals_alike"),
        ([replace(one, evaluator=two.evaluator), *rest], "oracle_fails"),
        ([one, replace(two, evaluator=one.evaluator, after=one.after)], "siblings_alike"),
    ]:
        with pytest.raises(Refused) as refused:
            check_state(replace(state, levels=levels))
        assert refused.value.reason == reason
    with pytest.raises(Refused, match="already_true"):
        check_state(replace(state, files={**state.files, **one.after}))


def test_ids_are_pinned():
    """A change of these is a change of pools and panels: raise `VERSION` of the rng where the draws differ."""
    found = {
        name: generate(0, SPLIT[name], kinds=name, difficulty=0).id.removeprefix("osworld-")
        for name in ("bookmarks", "document_text", "rename_files", "sheet_cells", "slide_titles")
    }
    assert found == PINNED


PINNED: dict[str, str] = {
    "bookmarks": "06de5606decbbd0f",
    "document_text": "7189d97f907a2844",
    "rename_files": "3943a963061621b1",
    "sheet_cells": "bbfbdcfac30fd4ea",
    "slide_titles": "a0a43e6c3c41d3ff",
}


def test_splits():
    assert set(kinds_of("train")) == set(kinds_of("valid_seen")) == set(KINDS) - HELD_OUT
    assert set(kinds_of("valid_unseen")) == HELD_OUT
    drawn = {split: {generate(seed, split, apps="os").traits["kind"] for seed in range(30)} for split in SPLITS}
    assert drawn["train"] <= set(KINDS) - HELD_OUT
    assert drawn["valid_unseen"] <= HELD_OUT
    assert generate(3, "train", kinds="edit_text").id != generate(3, "valid_seen", kinds="edit_text").id
    assert generate(3, "valid_unseen", kinds="edit_text").traits["kind"] == "edit_text"


SPLITS = ("train", "valid_seen", "valid_unseen")


def _words(words: Words) -> set[str]:
    return {word.lower() for field in fields(words) for word in getattr(words, field.name)}


def test_vocabularies_share_nothing_and_sort_plainly():
    assert not _words(SEEN) & _words(UNSEEN)
    for words in (SEEN, UNSEEN):
        for field in fields(words):
            listed = getattr(words, field.name)
            assert len(set(listed)) == len(listed) >= 5
            if field.name != "sentences":
                assert not any(a != b and b.startswith(a) for a in listed for b in listed), field.name


def test_knobs():
    assert {
        generate(seed, apps="libreoffice_calc", kinds=["sheet_cells", "edit_text"]).traits["kind"] for seed in range(5)
    } == {"sheet_cells"}
    assert all(generate(seed, apps="os").traits["app"] == "os" for seed in range(10))
    easy, hard = (generate(4, kinds="edit_text", difficulty=share) for share in (0, 1))
    assert easy.payload["current"] == "evaluator1"
    assert hard.payload["current"] == "evaluator4"
    assert easy.traits["difficulty"] < hard.traits["difficulty"]
    assert easy.payload["config"] == hard.payload["config"]
    hinted = generate(4, kinds="edit_text", difficulty=0, hints=2)
    assert hinted.goal.startswith(easy.goal)
    assert hinted.traits["hints"] == 2
    assert hinted.traits["difficulty"] < easy.traits["difficulty"]
    assert generate(4, kinds="edit_text", hints=99).traits["hints"] <= 16


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"kinds": "chess"}, "kinds: 'chess' is unknown"),
        ({"apps": ["word"]}, "apps: 'word' is unknown"),
        ({"kinds": 3}, "kinds = 3"),
        ({"kinds": [["x"]]}, "is unknown"),
        ({"difficulty": 2}, "difficulty = 2"),
        ({"difficulty": True}, "difficulty = True"),
        ({"hints": -1}, "hints = -1"),
        ({"kinds": "slide_titles"}, "train does not use slide_titles"),
        ({"kinds": "edit_text", "apps": "gimp"}, "no kind of train is left"),
        ({"colour": True}, r"unknown knobs \['colour'\]"),
    ],
)
def test_knobs_that_cannot_be(knobs, message):
    with pytest.raises(KnobError, match=message):
        generate(0, **knobs)


def test_seeds_and_splits_that_cannot_be():
    for seed in (-1, "1", 1.5):
        with pytest.raises(KnobError, match="seed = "):
            generate(seed)
    with pytest.raises(KnobError, match="split 'test' is unknown"):
        generate(0, "test")


def test_keys():
    task = generate(0, kinds="write_files", difficulty=1)
    assert keys(task) == list(task.proof)
    assert keys(task, "evaluator1") != keys(task)
    assert len([name for name in KINDS if keys(generate(0, SPLIT[name], kinds=name), "evaluator1")]) >= 9
    for name in [name for name, kind in KINDS.items() if kind.apps == ("os",)]:
        task = generate(1, SPLIT[name], kinds=name)
        assert all(keys(task, each) for each in task.payload["evaluators"])


@given(
    st.integers(0, 10**9), st.sampled_from(["rename_files", "edit_config", "count_lines", "write_files", "bookmarks"])
)
def test_any_seed(seed, kind):
    task = generate(seed, kinds=kind)
    assert DOMAIN.verify(task) is None
    assert task.traits["seed"] == seed


# --- the desktop of files ---


def test_file_guest():
    guest = FileGuest({"~/a/b.txt": b"1", "/home/user/a/c/": b"", "/home/user/a/d/e/f": b"2"}, {"~/a/b.txt": "600"})
    assert guest.read_file("$HOME/a/b.txt") == b"1"
    assert guest.read_file("/home/user/a/c/") is None
    assert guest.read_file("/nowhere") is None
    tree = guest.list_directory("~/a")
    assert tree is not None
    assert {child["name"]: child["type"] for child in tree["children"]} == {
        "b.txt": "file",
        "c": "directory",
        "d": "directory",
    }
    assert guest.list_directory("~/x") is None
    assert guest.list_directory("/home/user/a/c")["children"] == []
    assert guest.execute(["stat", "-c", "%a", "~/a/b.txt"]).output == "600\n"
    assert guest.execute(["stat", "-c", "%a", "~/a/d/e/f"]).output == "644\n"
    assert guest.execute(["stat", "-c", "%a", "~/nothing"]).returncode == 1
    with pytest.raises(NotImplementedError, match="no programs"):
        guest.execute("rm -rf /", shell=True)
    with pytest.raises(NotImplementedError):
        guest.accessibility_tree()
    later = guest.after({"~/a/b.txt": None, "~/g": b"3"})
    assert (later.read_file("~/a/b.txt"), later.read_file("~/g"), guest.read_file("~/g")) == (None, b"3", None)
