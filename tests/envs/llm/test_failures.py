"""The client against a server that misbehaves: every failure is visible, none costs another prompt its answer."""

import email.utils
import gzip
import itertools
import json
import resource
import socket
import struct
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_service import PATIENT, Service, answer, chat, close_at_once_after_reading, hang, raw, say, status

from rlanything_envs.llm import EndpointRefused, OpenAIGenerator, PromptLog, Retries, SamplingParams, read_log
from rlanything_envs.llm.endpoint import Endpoint
from rlanything_envs.llm.errors import RequestFailed
from rlanything_envs.llm.wire import parse_answer, retry_after

PARAMS = SamplingParams(max_tokens=16, seed=5)
ONCE = Retries(attempts=1)
GOOD = json.dumps(answer("good")).encode()


def close_mid_body(handler, asked):
    handler.send_response(200)
    handler.send_header("content-length", str(len(GOOD)))
    handler.end_headers()
    handler.wfile.write(GOOD[: len(GOOD) // 2])
    handler.close_connection = True


def no_http(handler, asked):
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n")
    handler.close_connection = True


def reset(handler, asked):
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close sends RST
    handler.connection.close()
    handler.close_connection = True


def trickle_body(handler, asked):
    handler.send_response(200)
    handler.send_header("content-length", "1000000")
    handler.end_headers()
    _trickle(handler)


def trickle_headers(handler, asked):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
    _trickle(handler)


def _trickle(handler):
    handler.close_connection = True
    while not handler.server.stopping.wait(0.02):
        handler.wfile.write(b"x")
        handler.wfile.flush()


def endless(handler, asked, code=200):
    """Chunked, so that no length is announced."""
    handler.send_response(code)
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    chunk = b"x" * 65536
    handler.close_connection = True
    handler.server.sent = 0
    while not handler.server.stopping.is_set():
        handler.wfile.write(b"10000\r\n" + chunk + b"\r\n")
        handler.server.sent += len(chunk)


def compressed(handler, asked):
    handler.reply(gzip.compress(GOOD), content_encoding="gzip")


def ten_megabytes(handler, asked):
    handler.reply(answer("x" * 10_000_000))


def large_error_page(handler, asked):
    handler.reply(b"e" * 10_000_000, 500)


PASSING = {
    "HTTP 500": status(500),
    "HTTP 503": status(503),
    "HTTP 529": status(529),
    "HTTP 408": status(408),
    "HTTP 429": status(429),
    "ConnectionLost": close_at_once_after_reading,
    "ConnectionLost: RemoteProtocolError": close_mid_body,
    "ConnectionLost: ReadError": reset,
    "not JSON": raw(GOOD[:-9]),
    "not UTF-8 at byte": raw(GOOD.replace(b"good", b"g\xff\xfed")),
    "compressed": compressed,
    "status 200: overloaded": raw(b'{"error": {"message": "overloaded", "code": 502}}'),
}


@pytest.mark.parametrize("failure", list(PASSING))
def test_what_may_pass_is_tried_again(service: Service, failure: str, caplog: pytest.LogCaptureFixture) -> None:
    service.script.extend([PASSING[failure], PASSING[failure], say("good")])
    told = caplog.at_level("INFO", "rlanything_envs.llm")
    with told, OpenAIGenerator(service.endpoint(), retries=PATIENT) as generator:
        assert generator.generate([chat("a")], PARAMS)[0][0].text == "good"
    assert len(service.asked) == 3
    assert failure in caplog.text
    assert "again in" in caplog.text


def test_half_of_a_surrogate_pair_is_a_word_of_the_model(service: Service) -> None:
    """A model chooses its bytes: no answer of its choice may void an episode."""
    service.script.append(raw(GOOD.replace(b"good", rb"go\ud83d")))
    with OpenAIGenerator(service.endpoint(), retries=PATIENT) as generator:
        assert generator.generate([chat("a")], PARAMS)[0][0].text == "go?"
    assert len(service.asked) == 1


LASTING = {
    **PASSING,
    "ConnectionLost: RemoteProtocolError:": no_http,
    'HTTP 400: {"error": {"message": "too long"}}': status(400, "too long"),
    "RequestRejected: HTTP 413": status(413),
    "RequestRejected: HTTP 422": status(422),
    "AnswerTooLarge": ten_megabytes,
    "ServerBusy: HTTP 500: eeee": large_error_page,
    "ServerBusy: HTTP 500: xxxx": lambda handler, asked: endless(handler, asked, 500),
    "status 200: bad field": raw(b'{"error": {"message": "bad field", "code": 400}}'),
    "MalformedAnswer: the answer is a JSON list": raw(b"[]"),
    "MalformedAnswer: the answer's 'choices'": raw(b'{"choices": []}'),
    "MalformedAnswer: choice 0 is not": raw(b'{"choices": [3]}'),
    "MalformedAnswer: choice 0 has neither": raw(b'{"choices": [{"delta": {}}]}'),
    "MalformedAnswer: choice 0: its text is a JSON list": raw(b'{"choices": [{"message": {"content": []}}]}'),
    "MalformedAnswer: the answer of 0 bytes": raw(b""),
    "MalformedAnswer: the answer of 200000 bytes": raw(b"[" * 200_000),
}


@pytest.mark.parametrize("failure", list(LASTING))
def test_what_lasts_is_an_error_and_the_batch_lives(service: Service, failure: str) -> None:
    bad = LASTING[failure]
    service.default = lambda handler, asked: (bad if asked.body["messages"][0]["content"] == "bad" else say("good"))(
        handler, asked
    )
    retries = Retries(attempts=2, first_wait_s=0.01, longest_wait_s=0.01)
    with OpenAIGenerator(service.endpoint(max_response_bytes=10**6), retries=retries) as generator:
        completions = generator.generate([chat("a"), chat("bad"), chat("b")], PARAMS)
    (first,), (lost,), (last,) = completions
    assert (first.text, last.text) == ("good", "good")
    assert (lost.text, lost.finish_reason) == ("", "error")
    assert lost.error
    assert failure in lost.error
    assert len(lost.error) < 800


def test_retry_after_in_seconds_is_waited_for(service: Service) -> None:
    service.script.append(status(429, retry_after="1"))
    with OpenAIGenerator(service.endpoint(), retries=PATIENT) as generator:
        assert generator.generate([chat("a")], PARAMS)[0][0].finish_reason == "stop"
    assert 1.0 <= service.asked[1].at - service.asked[0].at < 6


def test_retry_after_as_a_date_is_waited_for(service: Service) -> None:
    service.script.append(
        lambda handler, asked: status(503, retry_after=email.utils.formatdate(time.time() + 2, usegmt=True))(
            handler, asked
        )
    )
    with OpenAIGenerator(service.endpoint(), retries=PATIENT) as generator:
        assert generator.generate([chat("a")], PARAMS)[0][0].finish_reason == "stop"
    assert 0.9 <= service.asked[1].at - service.asked[0].at < 8  # dates have whole seconds


def test_retry_after_beyond_the_total_ends_at_once(service: Service) -> None:
    service.default = status(429, retry_after="3600")
    start = time.monotonic()
    with OpenAIGenerator(service.endpoint(), retries=Retries(total_s=5)) as generator:
        ((lost,),) = generator.generate([chat("a")], PARAMS)
    assert time.monotonic() - start < 60
    assert "HTTP 429" in str(lost.error)
    assert "after 5 s" in str(lost.error)
    assert len(service.asked) == 1


def test_without_retry_after_the_waits_grow(service: Service) -> None:
    service.default = status(429)
    with OpenAIGenerator(
        service.endpoint(), retries=Retries(attempts=4, first_wait_s=0.1, longest_wait_s=9)
    ) as generator:
        generator.generate([chat("a")], PARAMS)
    at = [asked.at for asked in service.asked]
    waits = [after - before for before, after in itertools.pairwise(at)]
    assert len(waits) == 3
    for wait, most in zip(waits, (0.1, 0.2, 0.4), strict=True):
        assert most / 2 <= wait < most + 2


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "soon", "retry-after": "1"}, 1.0),
        ({"retry-after": "inf"}, float("inf")),
    ],
)
def test_retry_after_is_read(headers: dict, seconds: float | None) -> None:
    assert retry_after(headers) == seconds


@pytest.mark.parametrize("stuck", [trickle_body, trickle_headers])
def test_trickles_end_with_the_total(service: Service, stuck) -> None:
    service.default = stuck
    start = time.monotonic()
    with OpenAIGenerator(service.endpoint(), retries=Retries(total_s=0.5)) as generator:
        ((lost,),) = generator.generate([chat("a")], PARAMS)
    assert time.monotonic() - start < 10
    assert "TimedOut" in str(lost.error)
    assert "0.5 s" in str(lost.error)


def test_hangs_end_with_the_read_timeout(service: Service) -> None:
    service.script.append(hang)
    with OpenAIGenerator(service.endpoint(read_timeout_s=1.0), retries=PATIENT) as generator:
        assert generator.generate([chat("a")], PARAMS)[0][0].finish_reason == "stop"
    assert 0.95 <= service.asked[1].at - service.asked[0].at < 15, "the times are those of arrival"
    service.default = hang
    with OpenAIGenerator(service.endpoint(read_timeout_s=0.1), retries=ONCE) as generator:
        ((lost,),) = generator.generate([chat("a")], PARAMS)
    assert "TimedOut: ReadTimeout" in str(lost.error)


def test_endless_answers_do_not_fill_the_memory(service: Service) -> None:
    service.default = endless
    with OpenAIGenerator(service.endpoint(max_response_bytes=10**6), retries=PATIENT) as generator:
        tracemalloc.start()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        ((lost,),) = generator.generate([chat("a")], PARAMS)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert "AnswerTooLarge" in str(lost.error)
    assert "1000000 bytes" in str(lost.error)
    assert len(service.asked) == 1, "asking again would only bring the same"
    assert peak < 30e6, f"peak of {peak} bytes; the server and its buffers included"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    assert service.sent < 60e6


def test_ten_megabytes_are_read_where_they_are_allowed(service: Service) -> None:
    service.default = ten_megabytes
    with OpenAIGenerator(service.endpoint(max_response_bytes=2 * 10**7)) as generator:
        assert len(generator.generate([chat("a")], PARAMS)[0][0].text) == 10_000_000


def test_unicode_survives(service: Service) -> None:
    text = "é ✓ 🧪 \u2028 \x00 end"
    service.default = say(text)
    with OpenAIGenerator(service.endpoint()) as generator:
        assert generator.generate([chat(text)], PARAMS)[0][0].text == text
    assert service.asked[0].body["messages"][0]["content"] == text


@pytest.mark.parametrize("code", [401, 402, 404])
def test_a_refusal_of_everything_is_raised_with_what_there_is(service: Service, key: str, code: int) -> None:
    service.script.append(say("good"))
    service.default = status(code, f"Incorrect key: {key}, Bearer {key}")
    prompts = [chat(f"{i}") for i in range(10)]
    with (
        OpenAIGenerator(service.endpoint(concurrency=1, key_env="TEST_KEY"), retries=PATIENT) as generator,
        pytest.raises(EndpointRefused, match=f"HTTP {code}") as caught,
    ):
        generator.generate(prompts, PARAMS)
    assert key not in str(caught.value) + repr(caught.value.completions)
    assert len(service.asked) == 2, "no further requests"
    found = [samples[0] for samples in caught.value.completions]
    assert [sample.finish_reason for sample in found] == ["stop"] + ["error"] * 9
    assert found[0].text == "good"
    assert caught.value.__cause__ is None


def test_a_redirect_is_not_followed_with_the_key(service: Service, key: str) -> None:
    service.default = status(307, location="http://127.0.0.1:9/elsewhere")
    with (
        OpenAIGenerator(service.endpoint(key_env="TEST_KEY")) as generator,
        pytest.raises(EndpointRefused, match="base_url"),
    ):
        generator.generate([chat("a")], PARAMS)


def test_a_used_up_account_is_not_asked_again(service: Service) -> None:
    error = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    service.default = lambda handler, asked: handler.reply(error, 429)
    with (
        OpenAIGenerator(service.endpoint(), retries=PATIENT) as generator,
        pytest.raises(EndpointRefused, match="quota"),
    ):
        generator.generate([chat("a")], PARAMS)
    assert len(service.asked) == 1


def test_nobody_there(service: Service, tmp_path) -> None:
    log = PromptLog(tmp_path / "log.jsonl")
    endpoint = Endpoint(model="m", base_url="http://127.0.0.1:9/v1")
    with OpenAIGenerator(endpoint, retries=PATIENT, log=log) as generator:
        ((lost,),) = generator.generate([chat("a")], PARAMS)
        assert generator.budget.spent.tokens == 0, "nothing was sent"
    assert "ConnectionLost" in str(lost.error)
    (record,) = read_log(log.path)
    assert (record.finish_reason, record.error, record.attempts) == ("error", lost.error, 4)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("stop", "stop"), ("length", "length"), (None, "stop"), ("tool_calls", "stop"), ("content_filter", "error")],
)
def test_finish_reasons(reason: str | None, expected: str) -> None:
    content = {"choices": [{"message": {"content": None}, "finish_reason": reason}]}
    (choice,) = parse_answer(json.dumps(content).encode()).choices
    assert (choice.text, choice.finish_reason) == ("", expected)
    assert (choice.error is None) == (expected != "error")


@pytest.mark.parametrize(
    "usage",
    [None, 3, {}, {"prompt_tokens": -1, "completion_tokens": 1}, {"prompt_tokens": 1e9, "completion_tokens": 1}],
)
def test_usage_that_cannot_be_true_is_ignored(usage) -> None:
    content = {"choices": [{"text": ""}], "usage": usage}
    assert parse_answer(json.dumps(content).encode()).usage is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "text", "finish_reason", "usage", "error", "code"]),
            children,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_an_answer_or_a_named_failure(content) -> None:
    try:
        found = parse_answer(json.dumps(content).encode())
    except RequestFailed:
        return
    assert found.choices
    assert all(isinstance(choice.text, str) for choice in found.choices)
