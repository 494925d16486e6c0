"""vLLM's server over real HTTP, by a stand-in for it on a GPU: sleep, refusals, restarts, answers that cannot be true.

`vllm_server_checks.py` has the real one, on a processor, which does not sleep.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import WORDS, adapted, make_small, scored, shake
from stand_in_server import Handler, StandInServer, base_settings
from stand_in_vllm import LLM, form_of

from rlanything_agents.config.engine import ServerConfig
from rlanything_agents.engines import vllm_client, vllm_server
from rlanything_agents.engines.completions import CompletionReader
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.engines.vllm import EngineFailed
from rlanything_agents.engines.vllm_client import ServedGenerator, WeightsLost, read_tops
from rlanything_agents.engines.vllm_server import VLLMServerGenerator, on_this_machine
from rlanything_envs.llm import EndpointRefused, SamplingParams
from rlanything_envs.llm.choices import Form, OneOf, Prose, Repeat, Then, matches, pattern
from rlanything_envs.llm.endpoint import Retries
from rlanything_envs.llm.errors import is_outage

PROMPTS = [[1, 5, 6], [1, 7]]
PARAMS = SamplingParams(8, n=3, seed=6)
Serve = Callable[..., StandInServer]


@pytest.fixture
def serve(engines: type[LLM], tmp_path: Path) -> Iterator[Serve]:
    running = []

    def start(**options: Any) -> StandInServer:
        settings = base_settings(tmp_path / "served", make_small(9), WORDS) | options.pop("settings", {})
        server = StandInServer(engines, settings, **options)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        running.append(server)
        return server

    yield start
    for server in running:
        server.stopping.set()
        server.shutdown()
        server.server_close()


def client(
    server: StandInServer, model: Any, folder: Path, sleeps: bool = False, **changes: Any
) -> VLLMServerGenerator:
    config = ServerConfig.model_validate({"base_url": server.base_url, "model": "small"} | changes)
    generator = VLLMServerGenerator(config, model, WORDS, folder / "policy", sleeps=sleeps)
    generator._controls.retries = generator.retries = Retries(
        attempts=2, total_s=30, first_wait_s=0.01, longest_wait_s=0.02
    )
    return generator


def test_the_server_samples_from_the_trained_weights_and_says_all_it_must(serve: Serve, tmp_path: Path) -> None:
    server, model = serve(), make_small()
    with client(server, model, tmp_path) as generator:
        for version in range(3):
            if version:
                shake(model, version)
                generator.update_weights(model, version)
            answers = generator.generate(PROMPTS, PARAMS)
            for prompt, samples in zip(PROMPTS, answers, strict=True):
                assert len({tuple(sample.token_ids or ()) for sample in samples}) > 1
                for sample in samples:
                    assert sample.prompt_ids == prompt
                    assert sample.weights_version == version
                    assert sample.logprobs == pytest.approx(scored(model, prompt, sample.token_ids or []), abs=1e-4)
        assert generator.generate(PROMPTS, PARAMS) == answers
    assert server.engine.log == [f"{what}" for n in range(3) for what in (f"reload weights-{n:06d}", "reset")]
    assert len(server.bodies) == 3 + 3 * 8 + 4 * len(PROMPTS)  # probes, checks; the samples of a prompt in one request


def test_a_server_reports_the_odds_of_few_choices(serve: Serve, tmp_path: Path) -> None:
    server, model = serve(), make_small()
    params = SamplingParams(8, seed=3, odds=10, choices=(OneOf(("w3", "w5")),) * 2)
    with client(server, model, tmp_path) as generator:
        answers = generator.generate(PROMPTS[:2], params)
    for (sample,), (own,) in zip(
        answers, TransformersGenerator(model, WORDS).generate(PROMPTS[:2], params), strict=True
    ):
        assert own.odds is not None
        assert dict(sample.odds or {}) == {0: pytest.approx(own.odds[0], abs=1e-4)}
    assert server.bodies[-1]["logprobs"] == 10


@pytest.mark.parametrize("tops", [None, 3, [None], [{"token_id:1": "x", "token_id:" + "9" * 5000: 0.0, "a": 1.0}]])
def test_odds_that_are_none_are_left_out(tops: object) -> None:
    assert not any(read_tops({"top_logprobs": tops}))


def test_adapters_go_to_the_server_as_adapters(serve: Serve, tmp_path: Path) -> None:
    model = adapted(tmp_path / "base")
    server = serve(lora=True, dev=False, settings={"model": str(tmp_path / "base")})
    with client(server, model, tmp_path) as generator:
        for version in range(2):
            if version:
                shake(model, version)
                generator.update_weights(model, version)
            ((sample,),) = generator.generate([[1, 5]], SamplingParams(8, seed=0))
            assert sample.logprobs == pytest.approx(scored(model, [1, 5], sample.token_ids or []), abs=1e-4)
    assert len(server.adapters) == 1


def test_a_server_that_sleeps(serve: Serve, engines: type[LLM], tmp_path: Path) -> None:
    server, model = serve(), make_small()
    with client(server, model, tmp_path, sleeps=True) as generator:
        before = generator.generate(PROMPTS, PARAMS)
        generator.sleep()
        generator.sleep()
        assert engines.gpu.used == 0
        assert generator.generate(PROMPTS, PARAMS) == before
        generator.sleep()
        shake(model, 1)
        generator.update_weights(model, 1)
        ((sample,),) = generator.generate([[1, 5]], SamplingParams(8, seed=0))
        assert sample.logprobs == pytest.approx(scored(model, [1, 5], sample.token_ids or []), abs=1e-4)
    assert [line for line in server.engine.log if "s" in line[:5]].count("sleep 2") == 2


def test_a_restarted_server_gets_its_weights_again(serve: Serve, tmp_path: Path) -> None:
    server, model = serve(), make_small()
    with client(server, model, tmp_path) as generator:
        before = generator.generate(PROMPTS, PARAMS)
        server.start()
        assert generator.generate(PROMPTS, PARAMS) == before


def test_what_a_server_wrote_while_it_lost_its_weights_is_thrown_away(serve: Serve, tmp_path: Path) -> None:
    server, model = serve(), make_small()
    with client(server, model, tmp_path) as generator:
        before = generator.generate(PROMPTS, PARAMS)
        left = 1

        def restart(handler: Handler, route: str) -> bool:
            nonlocal left
            if route == "POST /v1/completions" and left:
                left -= 1
                server.start()
            return False

        server.before = restart
        assert generator.generate(PROMPTS, PARAMS) == before
        left = 99
        with pytest.raises(EngineFailed, match="lost its weights twice"):
            generator.generate(PROMPTS, PARAMS)


def cannot_begin(generator: VLLMServerGenerator, message: str) -> None:
    with generator, pytest.raises(EngineFailed, match=message):
        generator.generate(PROMPTS, PARAMS)


def test_without_development_endpoints_no_weights_are_taken(serve: Serve, tmp_path: Path) -> None:
    cannot_begin(client(serve(dev=False), make_small(), tmp_path), r"cannot take new weights.*VLLM_SERVER_DEV_MODE=1")


def test_without_runtime_adapters_none_are_taken(serve: Serve, tmp_path: Path) -> None:
    generator = client(serve(), adapted(tmp_path / "base"), tmp_path)
    cannot_begin(generator, "--enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1")


def test_a_server_that_hides_its_ids_is_not_trainable(serve: Serve, tmp_path: Path) -> None:
    server = serve()

    def hide(answer: dict[str, Any]) -> None:
        for choice in answer["choices"]:
            del choice["token_ids"], choice["prompt_token_ids"]

    server.lie = hide
    cannot_begin(client(server, make_small(), tmp_path), "does not return the ids")


def test_log_probabilities_of_another_kind_are_found_out(serve: Serve, tmp_path: Path) -> None:
    server = serve(settings={"logprobs_mode": "processed_logprobs"})
    cannot_begin(client(server, make_small(), tmp_path), "--logprobs-mode raw_logprobs")


def test_a_wrong_name_is_refused_as_such(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    server.before = lambda handler, route: (
        route == "POST /v1/completions" and not handler.reply({"error": {"message": "no such model"}}, 404)
    )
    with client(server, make_small(), tmp_path) as generator, pytest.raises(EndpointRefused, match="no such model"):
        generator.generate(PROMPTS, PARAMS)


def test_a_server_that_is_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_client, "RETRIES", Retries(attempts=1))
    config = ServerConfig(base_url="http://127.0.0.1:9/v1", model="m")
    cannot_begin(VLLMServerGenerator(config, make_small(), WORDS, tmp_path / "policy"), "ConnectionLost")


def _set(field: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda answer: answer["choices"][0].update({field: value})  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        (_set("token_ids", [99]), "beyond the model's"),
        (_set("token_ids", ["5"]), "no token ids"),
        (_set("token_ids", []), "no token ids"),
        (_set("token_ids", [[5]]), "no token ids"),
        (_set("logprobs", None), "no log-probability"),
        (_set("logprobs", {"token_logprobs": "x"}), "no log-probability"),
        (_set("logprobs", [1]), "no log-probability"),
        (_set("prompt_token_ids", [1, 1]), "another prompt"),
        (_set("finish_reason", "repetition"), "'repetition'"),
        (_set("finish_reason", None), "'None'"),
        (_set("finish_reason", "abort"), "'abort'"),
    ],
)
def test_lies_are_errors(serve: Serve, tmp_path: Path, lie: Callable[[dict[str, Any]], None], message: str) -> None:
    server = serve()
    with client(server, make_small(), tmp_path) as generator:
        generator.wake()
        server.lie = lie
        (samples,) = generator.generate([[1, 5]], SamplingParams(6, n=2, seed=0))
    assert samples[0].finish_reason == "error"
    assert message in (samples[0].error or "")
    assert not samples[0].text
    assert samples[0].token_ids is None
    assert samples[1].finish_reason != "error"


def test_fewer_choices_are_asked_for_again(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    with client(server, make_small(), tmp_path) as generator:
        generator.wake()
        server.lie = lambda answer: answer["choices"].__delitem__(slice(1, None))
        (samples,) = generator.generate([[1, 5]], SamplingParams(6, n=3, seed=0))
    assert all(sample.token_ids for sample in samples)
    assert [body.get("n", 1) for body in server.bodies[-3:]] == [3, 2, 1]


def _status(code: int) -> Callable[[Handler], None]:
    return lambda handler: handler.reply({"error": {"message": "no", "code": code}}, code)


def _hang_up(handler: Handler) -> None:
    handler.close_connection = True


def _hang(handler: Handler) -> None:
    handler.server.stopping.wait(20)
    handler.close_connection = True


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (_status(500), "ServerBusy"),
        (_hang_up, "ConnectionLost"),
        (_hang, "TimedOut"),
        (lambda handler: handler.reply(b"<html>"), "MalformedAnswer"),
    ],
)
def test_requests_that_fail_for_good_are_errors(
    serve: Serve, tmp_path: Path, fault: Callable[[Handler], None], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    monkeypatch.setattr(vllm_client, "LONGEST_SILENCE_S", 1.0)
    with client(server, make_small(), tmp_path) as generator:
        generator.wake()
        server.before = lambda handler, route: route == "POST /v1/completions" and not fault(handler)
        ((sample,),) = generator.generate([[1, 5]], SamplingParams(6, seed=0))
    assert sample.finish_reason == "error"
    assert (sample.error or "").startswith(name)
    assert is_outage(sample.error)
    assert not sample.text


def test_weights_that_are_not_read_are_sent_again(serve: Serve, tmp_path: Path) -> None:
    server, model = serve(), make_small()
    with client(server, model, tmp_path) as generator:
        before = generator.generate(PROMPTS, PARAMS)
        shake(model, 1)
        generator.update_weights(model, 1)
        server.before = lambda handler, route: route == "POST /reset_prefix_cache" and not _status(500)(handler)
        with pytest.raises(EngineFailed, match="reset_prefix_cache"):
            generator.generate(PROMPTS, PARAMS)
        assert server.weight_version.endswith("under-way")
        server.before = None
        after = generator.generate(PROMPTS, PARAMS)
    assert after != before
    assert after[0][0].logprobs == pytest.approx(scored(model, PROMPTS[0], after[0][0].token_ids or []), abs=1e-4)


@pytest.mark.parametrize("adapters", [False, True])
def test_a_server_that_cannot_see_shared_memory_gets_its_weights_through_the_disk(
    serve: Serve, tmp_path: Path, memory: Path, adapters: bool, caplog: pytest.LogCaptureFixture
) -> None:
    model = adapted(tmp_path / "base") if adapters else make_small()
    server = serve(lora=adapters, dev=not adapters, settings={"model": str(tmp_path / "base")} if adapters else {})
    server.hidden = memory
    with client(server, model, tmp_path) as generator:
        for version in range(3):
            if version:
                shake(model, version)
                generator.update_weights(model, version)
            sample = generator.generate(PROMPTS, PARAMS)[0][0]
            assert sample.logprobs == pytest.approx(scored(model, PROMPTS[0], sample.token_ids or []), abs=1e-4)
        assert [path.name for path in (tmp_path / "policy").glob("weights-*")] == ["weights-000002"]
    assert not list(memory.iterdir())
    assert caplog.text.count("through the disk, not through shared memory") == 1


def test_a_server_that_restarts_under_calls_of_several_threads(serve: Serve, tmp_path: Path) -> None:
    server, model = serve(), make_small()
    with client(server, model, tmp_path) as generator, ThreadPoolExecutor(4) as threads:
        generator.wake()
        answered: list[int] = []

        def restart(handler: Handler, route: str) -> bool:
            if route == "POST /v1/completions":
                answered.append(1)
                if len(answered) == 5:
                    server.start()
            return False

        server.before = restart
        prompts = [[1, 5 + number % 8] for number in range(16)]
        calls = [threads.submit(generator.generate, [prompt], PARAMS) for prompt in prompts]
        for prompt, call in zip(prompts, calls, strict=True):
            for sample in call.result()[0]:
                assert sample.logprobs == pytest.approx(scored(model, prompt, sample.token_ids or []), abs=1e-4)
    assert len(answered) > 16, "some were asked for again"
    assert [line for line in server.engine.log if line.startswith("reload")] == ["reload weights-000000"]


def test_a_server_elsewhere_gets_its_weights_through_the_disk(
    serve: Serve, tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert on_this_machine("http://127.0.0.1:8000/v1")
    assert on_this_machine("http://localhost/v1")
    assert not on_this_machine("http://192.0.2.1:8000/v1")  # an address for documentation
    monkeypatch.setattr(vllm_server, "on_this_machine", lambda url: False)
    with client(serve(), make_small(), tmp_path) as generator:
        generator.generate(PROMPTS, PARAMS)
        assert (tmp_path / "policy" / "weights-000000").is_dir()
    assert not list(memory.iterdir())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-20, 40) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(ids=JSON | st.lists(st.integers(-2, 17), max_size=9), logprobs=JSON | st.lists(st.floats(), max_size=9),
       reason=JSON | st.sampled_from(["stop", "length"]))  # fmt: skip
def test_nothing_untrue_becomes_a_sample(ids: Any, logprobs: Any, reason: Any) -> None:
    params = SamplingParams(6)
    sample = CompletionReader(WORDS, 16).read([1], ids, logprobs, reason, params, 3)
    if sample.finish_reason == "error":
        assert sample.error
        assert sample.token_ids is None
        assert not sample.text
    else:
        assert sample.token_ids == ids
        assert 1 <= len(ids) <= 6
        assert all(0 <= token < 16 for token in ids)
        assert len(logprobs) == len(ids)
        assert all(-9000 < value <= 1e-3 for value in logprobs)
        assert WORDS.eos_token_id not in ids[:-1]


def reader(generator: VLLMServerGenerator) -> ServedGenerator:
    config = ServerConfig(base_url=generator.endpoint.base_url, model="small")
    other = ServedGenerator(config, WORDS)
    other._controls.retries = other.retries = generator.retries
    return other


def test_others_ask_the_same_server_and_get_the_same_in_parts(serve: Serve, tmp_path: Path) -> None:
    server, model = serve(), make_small()
    prompts = [*PROMPTS, *PROMPTS]
    with client(server, model, tmp_path) as generator, reader(generator) as other:
        whole = generator.generate(prompts, PARAMS)
        assert whole[:2] != whole[2:], "the place of a prompt names its chance"
        other.take(generator.serve())
        parts = [other.generate(prompts[at : at + 2], replace(PARAMS, first=at)) for at in (2, 0)]
        assert parts[1] + parts[0] == whole
        shake(model, 1)
        generator.update_weights(model, 1)
        other.take(generator.serve())
        assert other.generate(prompts, PARAMS) == generator.generate(prompts, PARAMS) != whole
    assert sum(line == "reload weights-000001" for line in server.engine.log) == 1, "weights come from one side alone"


@pytest.mark.parametrize("adapters", [False, True])
def test_others_notice_that_the_server_was_given_weights_again(serve: Serve, tmp_path: Path, adapters: bool) -> None:
    model = adapted(tmp_path / "base") if adapters else make_small()
    server = serve(lora=adapters, dev=not adapters, settings={"model": str(tmp_path / "base")} if adapters else {})
    with client(server, model, tmp_path) as generator, reader(generator) as other:
        with pytest.raises(WeightsLost, match="nobody has said"):
            other.generate(PROMPTS, PARAMS)
        other.take(generator.serve())
        before = other.generate(PROMPTS, PARAMS)

        def give_again(handler: Handler, route: str) -> bool:
            server.before = None
            server.start()  # it is back with the weights of its command line, answers, and then gets the right ones
            done.append(1)
            return False

        done: list[int] = []
        server.before = lambda handler, route: route == "POST /v1/completions" and give_again(handler, route)
        with pytest.raises(WeightsLost, match="restarted, or do two runs share it"):
            other.generate(PROMPTS, PARAMS)
        assert done
        served = generator.serve()
        with pytest.raises(WeightsLost):  # those that it has now were sent after these were said
            other.generate(PROMPTS, PARAMS)
        other.take(served)
        assert other.generate(PROMPTS, PARAMS) == before


def test_forms_go_to_the_server_as_structured_outputs(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    forms = (OneOf(("w1 w2", "w1 w3")), None)
    with client(server, make_small(), tmp_path) as generator:
        generator.generate([[4, 5], [6]], SamplingParams(3, seed=1, choices=forms))
    asked = {tuple(body["prompt"]): body.get("structured_outputs") for body in server.bodies}
    assert (asked[4, 5], asked[6,]) == ({"regex": "(?:w1w2|w1w3)"}, None)  # as the ids of the words spell it


def test_what_was_sampled_of_a_form_is_followed() -> None:
    ids = [WORDS.convert_tokens_to_ids(word) for word in ("w1", "w3", "<end>")]
    params = SamplingParams(5, choices=(OneOf(("w1 w2", "w1 w3")),))
    answer = CompletionReader(WORDS, len(WORDS)).read([4], ids, [-0.1, -0.5, 0.0], "stop", params, 1)
    second = tuple(sorted(WORDS.convert_tokens_to_ids(word) for word in ("w2", "w3")))
    assert (answer.allowed, answer.logprobs) == ([(ids[0],), second, (ids[2],)], [0.0, -0.5, 0.0])


def test_further_ends_of_a_server_share_the_probability_and_are_never_sampled() -> None:
    w1, other, end = (WORDS.convert_tokens_to_ids(word) for word in ("w1", "w5", "<end>"))
    reader = CompletionReader(WORDS, len(WORDS), {other, end})
    answer = reader.read([4], [w1, end], [0.0, -0.25], "stop", SamplingParams(5, choices=("w1",)), 1)
    assert (answer.allowed, answer.logprobs) == ([(w1,), tuple(sorted((other, end)))], [0.0, -0.25])
    assert reader.bias == {other: -100.0}
    left = reader.read([4], [w1, w1, end], [0.0, -1.0, -1.0], "stop", SamplingParams(5, choices=("w1",)), 1)
    assert (left.allowed, left.logprobs) == ([(w1,), (), ()], [0.0] * 3), "what was allowed is unknown"


PROSES = st.builds(lambda more, begun: Prose(more + begun, "\n\\", begun), st.integers(0, 9), st.booleans())
PARTS = st.text("a1.\\[ \n", min_size=1, max_size=3) | PROSES


@given(
    form=st.recursive(
        PARTS,
        lambda forms: (
            st.lists(forms, min_size=2, max_size=3).map(lambda options: OneOf(tuple(options)))
            | st.lists(forms, min_size=2, max_size=3).map(lambda parts: Then(tuple(parts)))
            | forms.map(lambda part: Repeat(part, 0, 2))
        ),
        max_leaves=5,
    ),
    data=st.data(),
)
@settings(max_examples=30, deadline=None)
def test_the_stand_in_reads_the_patterns_that_it_gets(form: Form, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(pattern(form), fullmatch=True))
    assert matches(form, text)
    assert matches(form_of(pattern(form)), text)
    assert not matches(form_of(pattern(form)), f"{text}é")
