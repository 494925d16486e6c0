"""Rewrites: another evaluator of the same state, hints, other words; nothing that was not asked before."""

import json
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_task_pools import Domain, KnobError, Rejection
from rlanything_task_pools.osworld import DOMAIN, generate, import_folder, import_task, keys, read_payload
from rlanything_task_pools.osworld.meaning import lost, names_in
from rlanything_task_pools.task import Direction, Task

RNG = np.random.default_rng(0)
KINDS = ("edit_text", "rename_files", "count_lines", "write_files", "bookmarks")


def rewritten(task: Task, proposal: object, direction: str = "harder", domain: Domain = DOMAIN) -> Task | Rejection:
    return domain.validate(task, proposal, direction=direction, author="test", critique="why")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", ["harder", "easier"])
def test_scripted_proposals_are_valid_and_go_their_way(kind, direction):
    task, sign = generate(2, kinds=kind, difficulty=0.5), 1 if direction == "harder" else -1
    proposals = DOMAIN.propose(task, direction, RNG)
    assert proposals
    for proposal in proposals:
        made = rewritten(task, proposal, direction)
        assert isinstance(made, Task), made
        assert sign * (made.traits["difficulty"] - task.traits["difficulty"]) > 0
        assert made.payload["config"] == task.payload["config"]
        assert made.payload["evaluators"] == task.payload["evaluators"]
        assert (made.parent, made.root, made.rewrite.direction) == (task.id, task.id, direction)
        assert (made.rewrite.author, made.rewrite.critique) == ("test", "why")
        assert made.goal == made.payload["instruction"] == next(iter(proposal.values()))
        assert list(made.proof) == keys(made)
        assert DOMAIN.verify(made) is None
        assert Task.from_json(made.to_json()) == made


def test_the_whole_ladder_up_and_down():
    task = generate(0, kinds="edit_text", difficulty=0)
    switch = DOMAIN.with_operators(["evaluator"])
    seen = [task.payload["current"]]
    while proposals := switch.propose(task, "harder", RNG):
        task = rewritten(task, proposals[0], "harder", switch)
        seen.append(task.payload["current"])
    assert seen == ["evaluator1", "evaluator2", "evaluator3", "evaluator4"]
    while proposals := switch.propose(task, "easier", RNG):
        task = rewritten(task, proposals[0], "easier", switch)
    assert task.payload["current"] == "evaluator1"
    assert task.id == generate(0, kinds="edit_text", difficulty=0).id
    assert task.root == task.id


def test_hints_up_and_down():
    task = generate(0, kinds="edit_text", difficulty=1)
    plain, hints = task.goal, DOMAIN.with_operators(["hints"])
    assert hints.propose(task, "harder", RNG) == []
    given_hints = []
    while proposals := hints.propose(task, "easier", RNG):
        assert len(proposals) == 1
        task = rewritten(task, proposals[0], "easier", hints)
        assert task.goal.startswith(plain)
        given_hints.append(task.traits["hints"])
    assert given_hints == list(range(1, len(given_hints) + 1))
    assert len(given_hints) >= 2
    while proposals := hints.propose(task, "harder", RNG):
        task = rewritten(task, proposals[0], "harder", hints)
    assert task.goal == plain


def _reason(task: Task, proposal: object, direction: str = "harder", *operators: str) -> str:
    domain = DOMAIN.with_operators(operators) if operators else DOMAIN
    found = rewritten(task, proposal, direction, domain)
    assert isinstance(found, Rejection), found
    assert found.detail
    return found.reason


def test_what_is_rejected():
    task = generate(0, kinds="edit_text", difficulty=0.34)
    own, plain = task.payload["current"], task.payload["instructions"]
    assert own == "evaluator2"
    assert _reason(task, None) == "malformed"
    assert _reason(task, {}) == "malformed"
    assert _reason(task, {"evaluator1": plain["evaluator1"], "evaluator3": plain["evaluator3"]}) == "malformed"
    assert _reason(task, {"evaluator3": 5}) == "malformed"
    assert _reason(task, {"evaluator3": "  "}) == "malformed"
    assert _reason(task, {"evaluator3": "x" * 5000}) == "malformed"
    assert _reason(task, {"evaluator3": plain["evaluator3"] + "\x1b[2J"}) == "malformed"
    assert _reason(task, {"evaluator9": "Delete everything"}) == "unknown_evaluator"
    assert _reason(task, {"func": "exact_match"}) == "unknown_evaluator"
    assert _reason(task, {own: task.goal}) == "unchanged"
    assert _reason(task, {own: f"  {task.goal} \n"}) == "unchanged"
    assert _reason(task, {"evaluator3": plain["evaluator1"]}) == "meaning_lost"
    assert _reason(task, {"evaluator3": "Be creative."}) == "meaning_lost"
    assert _reason(task, {"evaluator3": plain["evaluator3"]}, "harder", "hints") == "operator_off"
    hinted = f"{task.goal} {task.payload['hints'][own][0]}"
    assert _reason(task, {own: hinted}, "easier", "evaluator") == "operator_off"
    assert _reason(task, {own: f"{task.goal} Good luck with it."}, "easier", "hints", "evaluator") == "operator_off"
    broken = task.model_copy(update={"payload": {**task.payload, "current": "x"}})
    assert _reason(broken, {"evaluator3": plain["evaluator3"]}) == "bad_parent"
    forged = {**task.payload["evaluators"], "evaluator3": task.payload["evaluators"]["evaluator1"]}
    other = task.model_copy(update={"payload": {**task.payload, "evaluators": forged}})
    assert _reason(other, {"evaluator3": plain["evaluator3"]}) == "bad_parent"


def test_other_words_are_taken_if_they_ask_the_same():
    task = generate(0, kinds="rename_files", difficulty=0.5)
    own = task.payload["current"]
    words = task.goal.replace("In the folder", "Please open the folder").replace(", rename", ". There, you rename")
    longer = f"{words} First select a file, then press F2, type the new name over the old one and press Enter."
    made = rewritten(task, {own: longer}, "easier")
    assert isinstance(made, Task), made
    assert DOMAIN.verify(made) is None
    assert made.traits["hints"] == 0
    back = rewritten(made, {own: task.goal}, "harder")
    assert isinstance(back, Task)
    assert back.root == task.id


def test_imported_tasks_switch_evaluators_too(osworld_data):
    tasks, _ = import_folder(osworld_data / "rlanything")
    for task in tasks:
        payload = read_payload(task.payload)
        for direction in ("harder", "easier"):
            proposals = DOMAIN.propose(task, direction, RNG)
            assert {name for proposal in proposals for name in proposal} == set(payload.evaluators) - {payload.current}
            for proposal in proposals:
                made = rewritten(task, proposal, direction)
                assert isinstance(made, Task), made
                assert made.proof == ()
                assert DOMAIN.verify(made) is None


def test_a_task_with_one_evaluator_has_no_scripted_rewrite(osworld_data):
    for task in import_folder(osworld_data / "upstream")[0]:
        assert DOMAIN.propose(task, "harder", RNG) == []
        assert DOMAIN.describe(task)


def test_describe_and_schema():
    task = generate(0, kinds="edit_csv", difficulty=0)
    told = DOMAIN.describe(task)
    for text in (task.goal, *task.payload["instructions"].values(), *task.payload["hints"]["evaluator1"]):
        assert text in told
    assert "item,amount,price" in told
    assert DOMAIN.describe(generate(0, kinds="sheet_cells")).count("bytes") == 1
    parts = DOMAIN.proposal_schema(task)["properties"]
    assert list(parts) == ["instruction", "start"]
    assert list(parts["start"]["properties"]) == ["closed", "copies"], "its one file changes in place"
    schema = DOMAIN.with_operators(["evaluator", "hints", "words"]).proposal_schema(task)
    assert schema == parts["instruction"], "the published proposal is a part of it"
    assert list(schema["properties"]) == list(task.payload["evaluators"])
    assert (schema["minProperties"], schema["maxProperties"]) == (1, 1)
    assert list(DOMAIN.with_operators(["hints"]).proposal_schema(task)["properties"]) == ["evaluator1"]
    json.dumps(schema)


@pytest.mark.parametrize("kind", ["edit_csv", "edit_config", "rename_files"])
def test_the_texts_of_the_schema_are_proved(kind):
    task = generate(0, kinds=kind, difficulty=0)
    domain = DOMAIN.with_operators(["evaluator", "hints"])
    proved = 0
    for name, value in domain.proposal_schema(task)["properties"].items():
        (listed,) = value["anyOf"]
        for text in listed["enum"]:
            found = [domain.validate(task, {name: text}, direction=way, author="x") for way in ("harder", "easier")]
            assert all(isinstance(one, Task) for one in found), "the direction is for the trial to show"
            proved += 1
    assert proved >= 3
    free = DOMAIN.with_operators(["words"]).proposal_schema(task)["properties"]["evaluator1"]["anyOf"][-1]
    assert free["type"] == "string"


@pytest.mark.parametrize("direction", get_args(Direction))
def test_scripted_proposals_go_in_their_direction(direction):
    sign, seen = (1 if direction == "harder" else -1), 0
    for seed in range(6):
        task = generate(seed, kinds="edit_csv", difficulty=0.34, hints=1)
        for proposal in DOMAIN.propose(task, direction, np.random.default_rng(seed)):
            new = DOMAIN.validate(task, proposal, direction=direction, author="x")
            assert isinstance(new, Task)
            assert sign * (new.traits["difficulty"] - task.traits["difficulty"]) > 0
            seen += 1
    assert seen >= 6


def test_operators():
    assert DOMAIN.operators == ("evaluator", "hints", "words", "start")
    for names in (["magic"], [], "evaluator hints"):
        with pytest.raises(KnobError):
            DOMAIN.with_operators(names)


# --- verify ---


def test_a_generated_task_that_was_changed_is_found_out():
    task = generate(1, kinds="edit_config", difficulty=0)
    payload = task.payload
    assert DOMAIN.verify(task) is None
    for field, value, said in [
        ("config", payload["config"][:-1], "config: not what the seed makes"),
        ("evaluators", {**payload["evaluators"], "evaluator2": payload["evaluators"]["evaluator1"]}, "evaluators: not"),
        ("steps", {**payload["steps"], "evaluator1": 500.0}, "steps: not"),
        ("source", {**payload["source"], "seed": 2}, "not what the seed makes"),
        ("source", {**payload["source"], "seed": -2}, "not that of a generated task"),
        ("source", {**payload["source"], "kind": ["x"]}, "not that of a generated task"),
        ("source", {**payload["source"], "draw": 3}, "draw 3"),
        ("instruction", "Something else", "the goal is not the instruction"),
    ]:
        flaw = DOMAIN.verify(task.model_copy(update={"payload": {**payload, field: value}}))
        assert flaw is not None
        assert said in flaw
    asked = "Do nothing at all"
    changed = task.model_copy(update={"goal": asked, "payload": {**payload, "instruction": asked}})
    assert "is not named" in str(DOMAIN.verify(changed))
    assert "domain 'coding'" in str(DOMAIN.verify(task.model_copy(update={"domain": "coding"})))
    strange = {**payload["evaluators"], "evaluator1": {"func": "judge_by_feeling"}}
    assert "judge_by_feeling" in str(
        DOMAIN.verify(task.model_copy(update={"payload": {**payload, "evaluators": strange}}))
    )


# --- meaning ---


def test_names():
    text = (
        "Set cell B12 of \"my file.xlsx\" in ~/Desktop to 3.5 %, color (#00ff00), then run 'ls -l'. Don't wait, it's 5."
    )
    assert names_in(text) == ["my file.xlsx", "ls -l", "B12", "~/Desktop", "3.5", "#00ff00", "5"]
    assert lost(text, text.replace("Set", "Please put")) == ""
    assert "'B12' is not named" in lost(text, text.replace("B12", "B123"))
    assert "'5'" in lost("Wait 5 minutes", "Wait 15 minutes")
    assert "too few words" in lost("Please move every large picture elsewhere", "Do it")


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_has_a_meaning(plain, words):
    assert lost(plain, plain) == "" or plain != plain.strip()
    assert isinstance(lost(plain, words), str)


def test_import_task_is_exported():
    assert import_task(json.loads(generate(0).to_json())) == generate(0)
