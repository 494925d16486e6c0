"""The log of prompts and answers, and playing it again."""

import json
import multiprocessing
import pickle
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_service import KEY, PATIENT, Service, chat, status

from rlanything_envs.llm import (
    Completion,
    OpenAIGenerator,
    PromptLog,
    Record,
    RecordedAnswers,
    ReplayGenerator,
    SamplingParams,
    ScriptedGenerator,
    Usage,
    read_log,
)
from rlanything_envs.llm.errors import GeneratorError, is_outage
from rlanything_envs.llm.log import REDACTED, prompt_key, redact

PARAMS = SamplingParams(max_tokens=16, n=2, seed=5)
PROMPTS = [chat("a"), chat("b"), chat("a")]


def record(text: str = "t", **fields) -> Record:
    return Record(**{"key": "k", "model": "m", "prompt": chat("p"), "text": text, **fields})


def test_records_come_back(tmp_path) -> None:
    log = PromptLog(tmp_path / "deep" / "log.jsonl")
    records = [record(), record("é\n\u2028🧪", sample=1, usage=Usage(1, 2, True), finish_reason="error", error="x")]
    for item in records:
        log.write(item)
    assert list(read_log(log.path)) == records
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


def _write(path, who: int) -> None:
    log = PromptLog(path)
    threads = [
        threading.Thread(target=lambda t=t: [log.write(record(f"{who}.{t}.{i} " + "x" * 20_000)) for i in range(20)])
        for t in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_and_processes_write_whole_lines(tmp_path) -> None:
    path = tmp_path / "log.jsonl"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(path, who)) for who in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    found = [item.text.split()[0] for item in read_log(path)]
    assert sorted(found) == sorted(f"{w}.{t}.{i}" for w in range(3) for t in range(2) for i in range(20))


def test_a_writer_killed_at_any_moment_spoils_nothing(tmp_path) -> None:
    path = tmp_path / "log.jsonl"
    code = f"""
from rlanything_envs.llm import PromptLog, Record
log = PromptLog({str(path)!r})
for i in range(10**9):
    log.write(Record(key="k", model="m", prompt=[], text=f"{{i}} " + "x" * 50_000))
"""
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", code])
        seen = path.stat().st_size if path.exists() else 0
        while not path.exists() or path.stat().st_size <= seen:
            time.sleep(0.002)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    PromptLog(path).write(record("last"))
    found = list(read_log(path))
    assert found[-1].text == "last"
    assert all(len(item.text) > 50_000 for item in found[:-1])


def test_a_line_cut_short_is_skipped_and_closed(tmp_path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "log.jsonl"
    log = PromptLog(path)
    log.write(record("one"))
    with path.open("ab") as file:
        file.write(b'{"v":1,"key":"k","mod\xc3')
    log.write(record("two"))
    assert [item.text for item in read_log(path)] == ["one", "two"]
    assert "line 2" in caplog.text


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "{}",
        '{"v": 2}',
        json.dumps({**record().to_dict(), "sample": "0"}),
        json.dumps({**record().to_dict(), "usage": {}}),
        json.dumps({**record().to_dict(), "finish_reason": "?"}),
    ],
)
def test_other_files_are_named(tmp_path, line: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(record().to_dict()) + "\n" + line + "\n")
    with pytest.raises(GeneratorError, match=r"log\.jsonl, line 2"):
        list(read_log(path))
    with pytest.raises(GeneratorError):
        ReplayGenerator(path)


@given(st.text(), st.text())
def test_the_key_is_never_written(before: str, after: str) -> None:
    assert KEY not in json.dumps(redact({before: [before + KEY + after, {"x": KEY}], KEY: 1}, [KEY]))


@pytest.mark.parametrize(
    "secret",
    [
        "Authorization: Bearer abcdef123456",
        "authorization=Basic dXNlcjpwYXNzd29yZA==",
        '{"api_key": "abcdefgh"}',
        "x-api-key: abcdefgh",
        "then Bearer abcdef123456 was sent",
        "sk-proj-abcdefgh0123456789abcdef",
        "hf_abcdefghij0123456789",
    ],
)
def test_what_looks_like_a_key_is_redacted(secret: str) -> None:
    clean = redact(f"a {secret} b")
    assert REDACTED in clean
    assert not any(part in clean for part in ("abcdef", "dXNlc"))
    assert clean.startswith("a ")


@pytest.mark.parametrize(
    "text",
    [
        "put the desk-lamp-on-the-side-table-please",
        "sk-ip the authorization of the bearer of news",
        '{"direction": "harder", "object_type": "Apple", "receptacle_type": "Fridge"}',
        "task-risk-averse-household-chores",
        "go to sidetable 1, take cookie: then heat it with the microwave",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text, ["other"]) == text


def test_nothing_of_the_key_reaches_the_log(service: Service, key: str, tmp_path) -> None:
    service.script.append(status(400, f"the key {key} is odd"))
    log = PromptLog(tmp_path / "log.jsonl", secrets=["hunter2"])
    with OpenAIGenerator(service.endpoint(key_env="TEST_KEY", concurrency=1), log=log) as generator:
        completions = generator.generate([chat("first"), chat(f"my key is {key}, my word hunter2")], PARAMS)
    assert key in completions[1][0].text, "the caller gets what was said"
    written = log.path.read_text()
    assert key not in written
    assert "hunter2" not in written
    assert written.count(REDACTED) >= 5


def test_a_replay_takes_the_same_course(service: Service, tmp_path) -> None:
    path = tmp_path / "log.jsonl"
    service.script.append(status(400))
    with OpenAIGenerator(service.endpoint(), log=PromptLog(path)) as generator:
        one = generator.generate(PROMPTS, PARAMS)
        two = generator.generate(PROMPTS[:1], SamplingParams(max_tokens=16))
        three = generator.generate(PROMPTS[:1], SamplingParams(max_tokens=16))
    assert sum(sample.finish_reason == "error" for samples in one for sample in samples) == 1
    asked = len(service.asked)
    replay = pickle.loads(pickle.dumps(ReplayGenerator(path, model="tiny")))
    assert replay.generate(PROMPTS, PARAMS) == one
    assert replay.generate(PROMPTS[:1], SamplingParams(max_tokens=16)) == two
    assert replay.generate(PROMPTS[:1], SamplingParams(max_tokens=16)) == three
    assert len(service.asked) == asked == 8
    with pytest.raises(GeneratorError, match="has 0 of 2 answers to prompt 1"):
        ReplayGenerator(path).generate([PROMPTS[0], chat("new")], PARAMS)
    with pytest.raises(GeneratorError):
        ReplayGenerator(path, model="other").generate(PROMPTS, PARAMS)
    with pytest.raises(FileNotFoundError):
        ReplayGenerator(tmp_path / "none")


@pytest.mark.parametrize("kept", range(7))
def test_a_run_killed_in_a_batch_goes_on_as_if_it_had_not_been(service: Service, tmp_path, kept: int) -> None:
    path = tmp_path / "log.jsonl"
    with OpenAIGenerator(service.endpoint(), log=PromptLog(path)) as generator:
        whole = generator.generate(PROMPTS, PARAMS)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:kept]) + (lines[kept][:40] if kept < len(lines) else b""))
    service.asked.clear()
    with OpenAIGenerator(service.endpoint(), log=PromptLog(path), recorded=RecordedAnswers(path)) as generator:
        assert generator.generate(PROMPTS, PARAMS) == whole
    assert len(service.asked) == 6 - kept, "only what is missing is asked"
    assert ReplayGenerator(path).generate(PROMPTS, PARAMS) == whole
    assert len(RecordedAnswers(path)) == 6


def test_a_refusal_is_no_answer_on_record_but_a_failure(service: Service, tmp_path) -> None:
    from rlanything_envs.llm import EndpointRefused

    service.default = status(401)
    path = tmp_path / "log.jsonl"
    with (
        OpenAIGenerator(service.endpoint(), retries=PATIENT, log=PromptLog(path)) as generator,
        pytest.raises(EndpointRefused),
    ):
        generator.generate(PROMPTS, PARAMS)
    assert len(RecordedAnswers(path)) == 0, "asked again by whoever goes on"
    records = list(read_log(path))
    assert records
    assert {record.finish_reason for record in records} == {"error"}
    assert {is_outage(record.error) for record in records} == {True}


def test_keys_of_prompts_are_pinned() -> None:
    """A change here orphans every log that exists."""
    assert prompt_key(chat("hi"), SamplingParams(max_tokens=8, seed=1)) == "556dfa7f1419d2b1def05349a462d89e"
    assert prompt_key(chat("hi"), SamplingParams(max_tokens=8, seed=1, n=9)) == "556dfa7f1419d2b1def05349a462d89e"
    assert prompt_key(chat("hi"), SamplingParams(max_tokens=8, seed=2)) != "556dfa7f1419d2b1def05349a462d89e"


def test_scripts_play_lists_and_functions() -> None:
    generator = ScriptedGenerator(["a", Completion("", "error", error="down"), "c STOP d"])
    params = SamplingParams(max_tokens=8, n=3, stop=("STOP",))
    ((a, b, c),) = generator.generate([chat("x")], params)
    assert (a.text, a.finish_reason, b.finish_reason, c.text) == ("a", "stop", "error", "c ")
    with pytest.raises(GeneratorError, match="3 scripted answers"):
        generator.generate([chat("x")], params)
    function = ScriptedGenerator(lambda prompt, sample: f"{prompt[0]['content']}{sample}")
    assert [[s.text for s in samples] for samples in function.generate(PROMPTS, PARAMS)] == [
        ["a0", "a1"],
        ["b0", "b1"],
        ["a0", "a1"],
    ]
    with pytest.raises(GeneratorError):
        generator.update_weights("x", 1)
    with pytest.raises(ValueError, match=r"\[text\]"):
        ScriptedGenerator("abc")
    assert pickle.loads(pickle.dumps(ScriptedGenerator(["a"]))).generate([chat("x")], SamplingParams(max_tokens=1))
    generator.close()
