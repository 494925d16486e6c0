"""The client against a real HTTP server that behaves: order, samples, fields, threads, processes."""

import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time

import pytest
from scripted_service import Service, answer, chat, echo, hang, say

from rlanything_envs.errors import MissingExtra
from rlanything_envs.llm import Endpoint, GeneratorError, MissingKey, OpenAIGenerator, Retries, SamplingParams

PARAMS = SamplingParams(max_tokens=16, seed=5)


def texts(completions):
    return [[sample.text for sample in samples] for samples in completions]


def test_order_and_samples_hold_whatever_arrives_first(service: Service) -> None:
    prompts = [chat(f"p{i}") for i in range(20)]
    params = SamplingParams(max_tokens=16, n=3, seed=5)
    with OpenAIGenerator(service.endpoint()) as generator:
        first = generator.generate(prompts, params)
        again = generator.generate(prompts, params)
    assert first == again
    assert [len(samples) for samples in first] == [3] * 20
    for i, samples in enumerate(first):
        assert all(sample.text.startswith(f"p{i}/") for sample in samples)
        assert len({sample.text for sample in samples}) == 3, "each sample has a seed of its own"
        assert all(sample.finish_reason == "stop" and sample.token_ids is None for sample in samples)
    assert len({asked.body["seed"] for asked in service.asked}) == 60, "no two prompts share their luck"
    assert not generator.trainable


def test_a_prompt_given_twice_is_answered_twice(service: Service) -> None:
    with OpenAIGenerator(service.endpoint()) as generator:
        ((one,), (two,)) = texts(generator.generate([chat("same")] * 2, PARAMS))
    assert one != two


def test_no_prompts_no_requests(service: Service) -> None:
    with OpenAIGenerator(service.endpoint()) as generator:
        assert generator.generate([], PARAMS) == []
    assert service.asked == []


def test_concurrency_is_used_and_bounded_over_all_threads(service: Service) -> None:
    now, most = 0, 0

    def count(handler, asked):
        nonlocal now, most
        with service.lock:
            now += 1
            most = max(most, now)
        time.sleep(0.05)
        with service.lock:
            now -= 1
        handler.reply(answer("ok"))

    service.default = count
    with OpenAIGenerator(service.endpoint(concurrency=4)) as generator:
        threads = [
            threading.Thread(target=generator.generate, args=([chat(f"{t} {i}") for i in range(8)], PARAMS))
            for t in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(service.asked) == 24
    assert most == 4


def test_fields_of_the_request(service: Service) -> None:
    params = SamplingParams(max_tokens=9, temperature=0.5, top_p=0.9, stop=("END",))
    with OpenAIGenerator(service.endpoint()) as generator:
        generator.generate([chat("hi")], params)
    asked = service.asked[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {
        "model": "tiny",
        "messages": chat("hi"),
        "max_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["END"],
    }
    assert asked.headers["accept-encoding"] == "identity"


def test_extra_fields_are_added_and_removed(service: Service) -> None:
    extra = {"temperature": None, "top_p": None, "chat_template_kwargs": {"enable_thinking": False}}
    extra |= {"max_tokens": None, "max_completion_tokens": 9}
    endpoint = service.endpoint(extra=extra)
    with OpenAIGenerator(endpoint) as generator:
        generator.generate([chat("hi")], SamplingParams(max_tokens=9))
    assert service.asked[0].body == {
        "model": "tiny",
        "messages": chat("hi"),
        "max_completion_tokens": 9,
        "chat_template_kwargs": {"enable_thinking": False},
    }


def test_token_ids_go_to_the_other_path(service: Service) -> None:
    service.default = lambda handler, asked: handler.reply({"choices": [{"text": "w", "finish_reason": "length"}]})
    with OpenAIGenerator(service.endpoint()) as generator:
        ((completion,),) = generator.generate([[5, 6]], PARAMS)
    assert (completion.text, completion.finish_reason) == ("w", "length")
    assert service.asked[0].path == "/v1/completions"
    assert service.asked[0].body["prompt"] == [5, 6]


def test_stop_texts_are_cut_where_the_service_leaves_them(service: Service) -> None:
    service.default = say("go END and on", finish_reason="length")
    with OpenAIGenerator(service.endpoint()) as generator:
        ((completion,),) = generator.generate([chat("hi")], SamplingParams(max_tokens=9, stop=("on", "END")))
    assert (completion.text, completion.finish_reason) == ("go ", "stop")


def test_samples_in_one_request_and_a_service_that_returns_fewer(service: Service) -> None:
    service.default = lambda handler, asked: handler.reply(
        answer(*[f"{asked.body['seed']}.{i}" for i in range(min(asked.body.get("n", 1), 2))])
    )
    with OpenAIGenerator(service.endpoint(samples_per_request=4)) as generator:
        (samples,) = generator.generate([chat("hi")], SamplingParams(max_tokens=9, n=5, seed=1))
    assert sorted(asked.body.get("n", 1) for asked in service.asked) == [1, 2, 4]
    assert len({sample.text for sample in samples}) == 5


def test_a_service_that_returns_more_is_cut(service: Service) -> None:
    service.default = say("a", "b", "c")
    with OpenAIGenerator(service.endpoint()) as generator:
        assert texts(generator.generate([chat("hi")], PARAMS)) == [["a"]]


@pytest.mark.parametrize(
    "prompt",
    [
        [],
        "hi",
        [{"role": "user"}],
        [{"role": "user", "content": 3}],
        [1, -1],
        [True],
        [1, {"role": "u"}],
        chat("\ud83d"),
    ],
    ids=repr,
)
def test_malformed_prompts_are_refused_before_anything_is_sent(service: Service, prompt) -> None:
    with OpenAIGenerator(service.endpoint()) as generator, pytest.raises(ValueError, match="prompt 1"):
        generator.generate([chat("good"), prompt], PARAMS)
    assert service.asked == []


def test_closing_cancels_and_a_later_call_starts_anew(service: Service) -> None:
    service.default = hang
    generator = OpenAIGenerator(service.endpoint(read_timeout_s=30))
    raised: list[BaseException] = []

    def ask():
        try:
            generator.generate([chat("a")], PARAMS)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while not service.asked:
        time.sleep(0.01)
    generator.close()
    thread.join(30)
    assert not thread.is_alive()
    assert [type(error).__name__ for error in raised] == ["CancelledError"]
    service.default = echo
    assert generator.generate([chat("b")], PARAMS)[0][0].text.startswith("b/")
    generator.close()
    generator.close()


def test_pickling_and_printing_show_no_key(service: Service, key: str) -> None:
    generator = OpenAIGenerator(service.endpoint(key_env="TEST_KEY"))
    generator.generate([chat("a")], PARAMS)
    assert service.asked[0].headers["authorization"] == f"Bearer {key}"
    state = pickle.dumps(generator)
    assert key.encode() not in state
    assert key not in repr(generator) + repr(generator.endpoint) + repr(vars(generator))
    generator.close()
    with pickle.loads(state) as copy:
        assert copy.generate([chat("a")], PARAMS)[0][0].finish_reason == "stop"


def test_the_environment_of_another_service_is_not_used(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-service-123456")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with OpenAIGenerator(service.endpoint()) as generator:
        generator.generate([chat("a")], PARAMS)
    assert "another" not in json.dumps(service.asked[0].headers)


def test_a_key_that_is_missing_or_broken_is_named_not_shown(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = service.endpoint(key_env="TEST_KEY")
    monkeypatch.delenv("TEST_KEY", raising=False)
    with pytest.raises(MissingKey, match="TEST_KEY is unset"):
        OpenAIGenerator(endpoint)
    monkeypatch.setenv("TEST_KEY", "secret\nX-Evil: 1")
    with pytest.raises(MissingKey, match="TEST_KEY holds blanks") as caught:
        OpenAIGenerator(endpoint)
    assert "secret" not in str(caught.value)


def _ask_in_child(generator: OpenAIGenerator, queue) -> None:
    queue.put(generator.generate([chat("child")], PARAMS)[0][0].text)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_asks_on_its_own(service: Service) -> None:
    context = multiprocessing.get_context("fork")
    with OpenAIGenerator(service.endpoint()) as generator:
        generator.generate([chat("parent")], PARAMS)
        queue = context.Queue()
        child = context.Process(target=_ask_in_child, args=(generator, queue))
        child.start()
        assert queue.get(timeout=30).startswith("child/")
        child.join(60)
        assert child.exitcode == 0
        assert generator.generate([chat("parent")], PARAMS)[0][0].text.startswith("parent/")


def test_no_weights_to_update(service: Service) -> None:
    with OpenAIGenerator(service.endpoint()) as generator, pytest.raises(GeneratorError, match="tiny"):
        generator.update_weights("folder", 1)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtra, match=r"pip install -e '.*\[llm\]"):
        OpenAIGenerator(Endpoint(model="m", base_url="http://localhost:1/v1"))


def test_importing_is_light() -> None:
    heavy = ("openai", "httpx2", "httpx", "torch", "transformers", "jinja2")
    code = f"import sys, rlanything_envs.llm; print([m for m in {heavy!r} if m in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert printed.stdout.strip() == "[]"


def test_a_hanging_service_does_not_keep_a_program_alive(service: Service) -> None:
    service.default = hang
    code = f"""
import threading
from rlanything_envs.llm import *
generator = OpenAIGenerator(Endpoint(model="m", base_url={service.base_url!r}))
ask = lambda: generator.generate([[{{"role": "user", "content": "a"}}]], SamplingParams(max_tokens=3))
threading.Thread(target=ask, daemon=True).start()
input()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
        assert program.stdin is not None
        end = time.monotonic() + 60
        while not service.asked and time.monotonic() < end:
            time.sleep(0.05)
        assert service.asked
        program.stdin.close()
        program.wait(timeout=20)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"model": ""}, "model"),
        ({"base_url": "localhost:8000"}, "base_url"),
        ({"base_url": "file:///etc/passwd"}, "base_url"),
        ({"base_url": "http://me:secret@host/v1"}, "base_url"),
        ({"base_url": "http://host/v1?api_key=secret"}, "base_url"),
        ({"base_url": "http://host:99999/v1"}, "base_url"),
        ({"concurrency": 0}, "concurrency"),
        ({"read_timeout_s": float("nan")}, "read_timeout_s"),
        ({"connect_timeout_s": 0}, "connect_timeout_s"),
        ({"max_response_bytes": 0}, "max_response_bytes"),
        ({"samples_per_request": 0}, "samples_per_request"),
        ({"extra": {"stream": True}}, "extra"),
        ({"extra": {"a": object()}}, "extra"),
    ],
)
def test_endpoints_are_checked(changes: dict, match: str) -> None:
    with pytest.raises(ValueError, match=rf"Endpoint\.{match}") as caught:
        Endpoint(**{"model": "m", "base_url": "http://host/v1", **changes})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("changes", [{"attempts": 0}, {"total_s": 0}, {"first_wait_s": -1}, {"longest_wait_s": 0.1}])
def test_retries_are_checked(changes: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(changes))):
        Retries(**changes)


def test_waits_double_up_to_the_longest_with_jitter() -> None:
    retries = Retries(first_wait_s=1, longest_wait_s=5)
    assert [retries.wait_s(i, None, 0.0) for i in (1, 2, 3, 4, 100_000)] == [0.5, 1, 2, 2.5, 2.5]
    assert [retries.wait_s(i, None, 1.0) for i in (1, 2, 3, 4)] == [1, 2, 4, 5]
    assert retries.wait_s(1, 60, 0.5) == 60.5, "what the service asks for is a lower bound"
    assert retries.wait_s(3, 0.1, 1.0) == 4
