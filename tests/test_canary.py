"""Nothing secret of a task reaches an agent or a model: markers in all secret fields are found in no place they read.

Who reads what, and what that means here:

- *Agents* read views, messages of servers, and prompts of trainers: no marker.
- *Judges*, *summarisers* and whoever reads a critique: no marker.
- *Rewriters* change the task, so they read more of it, as a person who sets exercises does: the reference program in
  coding, every evaluator's instruction and hints on a desktop. Hidden tests, checkers, and what evaluators expect stay
  out of their prompts too.
- *Demonstrations* of the supervised warm start are made of proofs; those are the domain's own generated tasks.
- *People* read pools, exported pools, and a task's page in the viewer, which shows the
  proof: they hold whole tasks, and are no place to let an agent look. So are the fields ``task`` of a trainer's rows,
  which the environment reads, and the checkpoints of a run.
"""

from __future__ import annotations

import base64
import dataclasses
import gzip
import io
import json
import logging
import pkgutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from canary_search import found_in, found_under
from canary_tasks import (
    CASES,
    CHANGE,
    CHECKER,
    CODING,
    CRITIQUE,
    DESKTOPS,
    EVALUATOR,
    EXPECTED,
    HINT,
    INPUT,
    LATER,
    MARKERS,
    OTHER,
    OUTPUT,
    PROOF,
    SOURCE,
    WRONG,
    Case,
)

from rlanything_agents.domains.coding.short_tests import ShortTests
from rlanything_agents.reward_models.unit_tests import ChatTests
from rlanything_envs import Conversation, ToolConversation
from rlanything_envs.adapters.rows import task_rows
from rlanything_envs.adapters.trl import text_environment, tool_environment
from rlanything_envs.curriculum import JudgedEpisode, JudgedStep, LLMRewriter, LLMSummariser, Request, task_critique
from rlanything_envs.errors import EpisodeOver, InfrastructureError
from rlanything_envs.llm import ScriptedGenerator
from rlanything_envs.views import make_env
from rlanything_task_pools import TaskPool, UnknownName
from rlanything_task_pools.coding import read_payload
from rlanything_task_pools.export import export_pool

BY_NAME = {case.name: case for case in CASES}
every_case = pytest.mark.parametrize("case", CASES, ids=str)

SECRETS = {
    "tokens": {PROOF, CRITIQUE, CHANGE, INPUT, OUTPUT, WRONG},
    "python": {PROOF, CRITIQUE, CHANGE, INPUT, OUTPUT, WRONG, CHECKER},
    "a file": {PROOF, CRITIQUE, CHANGE, EXPECTED, HINT, OTHER, SOURCE},
    "a rule": {PROOF, CRITIQUE, CHANGE, EXPECTED, HINT, OTHER, SOURCE, EVALUATOR, LATER},
    "household": {PROOF, CRITIQUE, CHANGE},
}
"""What is secret in some of the tasks."""


@pytest.fixture(autouse=True)
def _silent(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """What this package logs and prints in a test is searched as well: models have read both."""
    caplog.set_level(logging.DEBUG)
    yield
    logged = [record for record in caplog.get_records("call") if record.name.startswith("rlanything")]
    assert found_in([*map(logging.Formatter().format, logged), *capfd.readouterr()], MARKERS) == set()


# --- the search itself ---


@dataclasses.dataclass(frozen=True)
class Nested:
    """A marker deep in an object."""

    inside: Any


class Slotted:
    """A marker in a slot."""

    __slots__ = ("inside",)

    def __init__(self, inside: Any) -> None:
        self.inside = inside


def _zipped(text: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b.xml", text)
    return data.getvalue()


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


PLANTED: dict[str, Callable[[str], Any]] = {
    "as it is": lambda marker: f"the answer is {marker}!",
    "capitals": str.upper,
    "a key": lambda marker: {marker: 1},
    "a list in an object": lambda marker: Nested({"a": [("b", Nested([marker]))]}),
    "a slot": lambda marker: [Slotted(Nested(marker))],
    "JSON in JSON": lambda marker: json.dumps({"a": json.dumps({"b": f"\n{marker}"})}),
    "JSON escapes": lambda marker: "".join(f"\\u{ord(letter):04x}" for letter in marker),
    "bytes": lambda marker: b"\xff\0" + marker.encode(),
    "wide bytes": lambda marker: f"x {marker}".encode("utf-16"),
    "an array": lambda marker: np.frombuffer(marker.encode(), dtype=np.uint8),
    "base64": _base64,
    "base64 after other letters": lambda marker: "data:;base64," + _base64(f"he said {marker} to me"),
    "base64 of base64": lambda marker: _base64(f"one {_base64(marker)} two"),
    "base64 for addresses": lambda marker: base64.urlsafe_b64encode(f"??>>{marker}".encode()).decode(),
    "hexadecimal": lambda marker: marker.encode().hex(),
    "HTML": lambda marker: "".join(f"&#{ord(letter)};" for letter in marker),
    "an address": lambda marker: "".join(f"%{ord(letter):02x}" for letter in marker),
    "backwards": lambda marker: marker[::-1],
    "words and marks between": lambda marker: " ".join(marker) + ".",
    "lines": lambda marker: f"{marker[:5]}\n{marker[5:]}",
    "two messages": lambda marker: [{"content": f"a {marker[:7]}"}, {"content": f"{marker[7:]} b"}],
    "an exception's cause": lambda marker: _caused(marker),
    "gzip": lambda marker: gzip.compress(marker.encode()),
    "an archive": _zipped,
    "gzip in base64": lambda marker: base64.b64encode(gzip.compress(b"x" * 100 + marker.encode())).decode(),
}


def _caused(marker: str) -> Exception:
    error = RuntimeError("it failed")
    error.__cause__ = ValueError(marker)
    return error


@pytest.mark.parametrize("form", PLANTED)
def test_the_search_finds_a_marker_in_any_form(form: str) -> None:
    for marker in (PROOF, OUTPUT):
        assert found_in(PLANTED[form](marker), MARKERS) == {marker}


def test_the_search_finds_nothing_where_nothing_is(tmp_path: Path) -> None:
    assert found_in({"text": "canary proof", "more": [b"canary", 7, None, "7q"]}, MARKERS) == set()
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.json").write_text(json.dumps({"x": f"{EXPECTED}"}))
    (tmp_path / "c.bin").write_bytes(gzip.compress(HINT.encode()))
    assert found_under(tmp_path, MARKERS) == {"a/b.json": {EXPECTED}, "c.bin": {HINT}}
    assert found_under(tmp_path, MARKERS, without=["a"]) == {"c.bin": {HINT}}


@pytest.mark.parametrize("name", SECRETS)
def test_the_tasks_hold_the_markers(name: str) -> None:
    assert found_in(BY_NAME[name].task, MARKERS) == SECRETS[name]
    assert found_in(BY_NAME[name].task.to_json(), MARKERS) == SECRETS[name]


# --- what agents read ---


def played(case: Case, open_it: Callable[[], Conversation]) -> list[Any]:
    """All that an agent of a conversation is given, in every episode."""
    seen: list[Any] = []
    with open_it() as conversation:
        for answers in case.episodes:
            turn = conversation.start(case.task, seed=0)
            seen += [turn, conversation.manual, *_shown(conversation)]
            for answer in answers:
                if turn.done:
                    break
                try:
                    turn = conversation.answer(answer)
                except InfrastructureError as error:  # its words may reach a client
                    seen.append(error)
                    break
                seen += [turn, *_shown(conversation)]
    return seen


def _shown(conversation: Conversation) -> list[Any]:
    env = conversation.env.unwrapped
    return [] if env.render_mode is None else [env.render()]


def rendered(case: Case) -> dict[str, Any]:
    return case.arguments if case in DESKTOPS else {**case.arguments, "render_mode": "ansi"}


def seen_in_full(case: Case) -> list[Any]:
    return played(case, lambda: Conversation(case.env_id, **rendered(case)))


@every_case
def test_full_views(case: Case) -> None:
    seen = seen_in_full(case)
    assert len(seen) > 10
    assert found_in(seen, MARKERS) == set()


@every_case
@pytest.mark.parametrize("view", ["full", "short"])
def test_views_with_their_information(case: Case, view: str) -> None:
    """Observations and the whole ``info``, as `make_env` gives them."""
    seen: list[Any] = []
    try:
        env = make_env(case.env_id, view, **{**case.arguments, "screen": (1280, 800)} if case in DESKTOPS else {})
    except UnknownName:
        pytest.skip("the environment has no such view")
    try:
        for answers in case.episodes:
            seen.append(env.reset(seed=0, options={"task": case.task}))
            for answer in answers:
                try:
                    seen.append(env.step(answer))
                except (EpisodeOver, gym.error.ResetNeeded):
                    break
    finally:
        env.close()
    assert len(seen) > len(case.episodes)
    assert found_in(seen, MARKERS) == set()


def called(case: Case) -> list[Any]:
    with ToolConversation(case.env_id, **case.arguments) as conversation:
        seen: list[Any] = [conversation.tools.schemas(), conversation.start(case.task, seed=0)]
        for name, arguments in case.calls:
            try:
                seen.append(conversation.call(name, arguments))
            except InfrastructureError as error:
                seen.append(error)
                break
    return seen


@every_case
def test_tools(case: Case) -> None:
    seen = called(case)
    assert len(seen) > 2
    assert found_in(seen, MARKERS) == set()


# --- servers and adapters ---


def over_mcp(case: Case) -> list[Any]:
    """What a client of the MCP server gets, its ``_meta`` included."""
    mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")
    import asyncio

    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from rlanything_envs.adapters.mcp import create_mcp_server

    async def play(url: str) -> list[Any]:
        async with httpx2.AsyncClient(timeout=60) as http:
            transport = streamable_http_client(f"{url}/mcp", http_client=http)
            async with mcp.Client(transport, mode="auto") as client:
                seen = [await client.list_tools()]
                seen.append(await client.call_tool("reset", {"task": json.loads(case.task.to_json())}))
                seen += [await client.call_tool(name, arguments) for name, arguments in case.calls]
                seen.append(await client.call_tool("reset", {"task": {"domain": "x"}}))
                return [result.model_dump(mode="json") for result in seen]

    with create_mcp_server(case.env_id, **case.arguments) as server:
        return asyncio.run(play(server.url))


@every_case
def test_the_mcp_server(case: Case) -> None:
    assert found_in(over_mcp(case), MARKERS) == set()


@pytest.mark.parametrize("name", ["tokens", "household"])
def test_errors_that_nobody_expected_are_not_told_to_clients(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Such an error may quote anything that the machinery held."""
    monkeypatch.setattr("rlanything_envs.coding.env.judge_many", _broken)
    monkeypatch.setattr("rlanything_verifiers.alfworld.World.step", _broken)
    seen = over_mcp(BY_NAME[name])
    assert "InternalError: the server's log says what failed" in json.dumps(seen)
    assert found_in(seen, MARKERS) == set()
    assert EXPECTED in caplog.text  # for people
    caplog.clear()


def _broken(*given: Any, **options: Any) -> Any:
    raise RuntimeError(f"{EXPECTED} {OUTPUT} {given} {options}")


def with_trl(case: Case) -> list[Any]:
    (row,) = task_rows([case.task], "Act.")
    seen: list[Any] = [row["prompt"]]
    with text_environment(case.env_id, **case.arguments) as factory:
        env: Any = factory()
        for answers in case.episodes:
            seen += [env.reset(**row), *map(env.act, answers)]
    with tool_environment(case.env_id, **case.arguments) as factory:
        env = factory()
        seen.append(env.reset(**row))
        seen += [getattr(env, name)(**arguments) for name, arguments in case.calls if hasattr(env, name)]
    return seen


@every_case
def test_trl(case: Case) -> None:
    seen = with_trl(case)
    assert len(seen) > 10
    assert found_in(seen, MARKERS) == set()


@every_case
def test_skyrl(case: Case) -> None:
    skyrl_gym = pytest.importorskip("skyrl_gym", reason="the adapter needs skyrl-gym")
    omegaconf = pytest.importorskip("omegaconf")
    from rlanything_envs.adapters import skyrl

    skyrl.register("canary", case.env_id, **case.arguments)
    (row,) = skyrl.rows([case.task], "canary", "Act.")
    seen: list[Any] = []
    for answers in case.episodes:
        env = skyrl_gym.make("canary", env_config=omegaconf.DictConfig({}), extras={**row, "max_turns": 8})
        seen.append(env.init(row["prompt"]))
        for answer in answers:
            try:
                seen.append(env.step(answer))
            except InfrastructureError as error:
                seen.append(error)
                break
            if seen[-1]["done"]:
                break
        seen.append(env.get_metrics())
        env.close()
    assert len(seen) > 10
    assert found_in(seen, MARKERS) == set()


@every_case
def test_rows_hold_the_task_in_one_column_alone(case: Case) -> None:
    """The column is for the environment; a trainer's prompt is `prompt` and the opening message."""
    (row,) = task_rows([case.task], "Act.")
    assert found_in(row.pop("task"), MARKERS)
    assert found_in(row, MARKERS) == set()


# --- exports ---


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[TaskPool]:
    with TaskPool.create(tmp_path / "pool.sqlite", [case.task for case in CODING]) as made:
        yield made


def test_an_exported_pool_holds_whole_tasks(pool: TaskPool, tmp_path: Path) -> None:
    """What the tests for agents search for is there to be found."""
    found = found_under(export_pool(pool, tmp_path / "exported"), MARKERS)
    assert set().union(*found.values()) >= {PROOF, OUTPUT, CRITIQUE}


# --- models besides the policy ---


def _remembering(asked: list[Any], answer: str) -> ScriptedGenerator:
    """A model that gives one answer, and of which every prompt is kept."""

    def answered(prompt: Any, sample: int) -> str:
        asked.append(prompt)
        return answer

    return ScriptedGenerator(answered)


@every_case
def test_critiques(case: Case) -> None:
    """Of judged episodes; what the summariser, a model, is asked is searched as well."""
    with Conversation(case.env_id, **case.arguments) as conversation:
        episodes = []
        for answers in case.episodes:
            turn = opening = conversation.start(case.task, seed=0)
            steps = []
            for answer in answers:
                try:
                    turn = conversation.answer(answer)
                except InfrastructureError:
                    break
                steps.append(JudgedStep(answer, turn.text, (-1.0, -1.0)))
                if turn.done:
                    break
            episodes.append(JudgedEpisode(case.task.goal, tuple(steps), False, opening.text))
    asked: list[Any] = []
    summariser = LLMSummariser(_remembering(asked, "It failed."))
    seen = [task_critique(episodes), task_critique(episodes, summariser)]
    assert all(seen)
    assert len(asked) == len(episodes)
    assert found_in([seen, asked], MARKERS) == set()


@pytest.mark.parametrize("case", CODING, ids=str)
def test_prompts_of_the_writer_of_unit_tests(case: Case) -> None:
    payload = read_payload(case.task.payload)
    assert found_in([ChatTests().test_prompt(payload), ShortTests().test_prompt(payload)], MARKERS) == set()


REWRITER_MAY_READ = {"coding": {PROOF}, "osworld": {OTHER, HINT, SOURCE}, "alfworld": set()}
"""Who changes a task reads more of it than who plays it; see the module."""


@every_case
@pytest.mark.parametrize("direction", ["harder", "easier"])
def test_prompts_of_a_rewriter(case: Case, direction: Any) -> None:
    asked: list[Any] = []
    rewriter = LLMRewriter(_remembering(asked, '{"nonsense": 1}'), "a-model", attempts=3)
    request = Request(case.task, direction, 0.5, frozenset(), "0 of 4 attempts succeeded.")
    rewriter.rewrite(request, np.random.default_rng(0))
    assert len(asked) == 3  # with the reasons of the rejections before
    assert found_in(asked, MARKERS) <= REWRITER_MAY_READ[case.task.domain]


# --- leaks that are planted ---


def _openly(original: Any) -> Any:
    return lambda problem, *rest, **more: f"{original(problem, *rest, **more)}\n{_base64(problem.hidden[0].stdout)}"


def _with_tests(original: Any) -> Any:
    return lambda env, *rest: {**original(env, *rest), "tests": env._problem and [env._problem.hidden]}


def _with_evaluator(original: Any) -> Any:
    return lambda env, episode, answer: {**original(env, episode, answer), "how": json.dumps(dict(episode.evaluator))}


def _with_proof(original: Any) -> Any:
    return lambda task: dataclasses.replace(original(task), sentence=f"{task.goal} First, {task.proof[0]}.")


def _described(original: Any) -> Any:
    return lambda domain, task: f"{original(domain, task)}\n{task.payload['hidden']}"


def _rewriters_prompts(case: Case) -> list[Any]:
    asked: list[Any] = []
    rewriter = LLMRewriter(_remembering(asked, "{}"), "a-model", attempts=1)
    rewriter.rewrite(Request(case.task, "harder", 0.5), np.random.default_rng(0))
    return asked


LEAKS: dict[str, tuple[str, Callable[[Any], Any], Callable[[Case], Any], str, str]] = {
    "a hidden output in the first message": (
        "rlanything_envs.coding.messages.opening", _openly, seen_in_full, "tokens", OUTPUT,
    ),
    "the same, by MCP": ("rlanything_envs.coding.messages.opening", _openly, over_mcp, "tokens", OUTPUT),
    "the same, by TRL": ("rlanything_envs.coding.messages.opening", _openly, with_trl, "tokens", OUTPUT),
    "hidden tests as information": (
        "rlanything_envs.coding.env.CodingEnv._info", _with_tests, seen_in_full, "tokens", INPUT,
    ),
    "hidden tests of a tool's turn": (
        "rlanything_envs.coding.env.CodingEnv._info", _with_tests, called, "tokens", INPUT,
    ),
    "an evaluator as information": (
        "rlanything_envs.osworld.env.OSWorldEnv._info", _with_evaluator, seen_in_full, "a file", EXPECTED,
    ),
    "a proof in a sentence": ("rlanything_envs.alfworld.env.game_of", _with_proof, seen_in_full, "household", PROOF),
    "hidden tests in a rewriter's prompt": (
        "rlanything_task_pools.coding.CodingDomain.describe", _described, _rewriters_prompts, "tokens", OUTPUT,
    ),
}  # fmt: skip
"""What is replaced and by what, where it is looked for, in which task, and the marker that has to be found."""


@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_is_found(leak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, planted, look, name, marker = LEAKS[leak]
    assert marker not in found_in(look(BY_NAME[name]), MARKERS)
    monkeypatch.setattr(place, planted(pkgutil.resolve_name(_colon(place))))
    assert marker in found_in(look(BY_NAME[name]), MARKERS)


def _colon(place: str) -> str:
    """A dotted name with a colon behind its module, which begins with a small letter throughout."""
    parts = place.split(".")
    first = next((i for i, part in enumerate(parts) if part[0].isupper()), len(parts) - 1)
    return f"{'.'.join(parts[:first])}:{'.'.join(parts[first:])}"
