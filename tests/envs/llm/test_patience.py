"""A service that is down as a whole, over real HTTP: waited for, done without, or the end of the run."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripted_service import Behaviour, Service, chat, close_at_once_after_reading, hang, raw, say, status

from rlanything_envs.curriculum import LLMRewriter, Request
from rlanything_envs.curriculum.summary import JudgedEpisode, LLMSummariser
from rlanything_envs.llm import (
    BudgetExceeded,
    Completion,
    OpenAIGenerator,
    PatientGenerator,
    PromptLog,
    RecordedAnswers,
    Retries,
    SamplingParams,
    ScriptedGenerator,
)
from rlanything_envs.llm.errors import RunMustStop
from rlanything_envs.llm.patience import Served
from rlanything_task_pools import Task
from rlanything_task_pools.alfworld import DOMAIN

PARAMS = SamplingParams(max_tokens=8, seed=1)
ONCE = Retries(attempts=1)
OUTAGES: dict[str, Behaviour] = {
    "500": status(500),
    "429, come back in an hour": status(429, "busy", Retry_After="3600"),
    "no such model": status(404, "the model `tiny` does not exist"),
    "the connection is closed": close_at_once_after_reading,
    "silence": hang,
    "a page": raw(b"<html><body>502 Bad Gateway</body></html>"),
    "another JSON": raw(b'{"detail": "ok"}'),
    "half an answer": raw(b'{"choices": [{"message": {"content": "Y'),
    "no choices": raw(b'{"choices": []}'),
}


@pytest.fixture(scope="module")
def root() -> Task:
    return DOMAIN.generate(0, rooms=["Bathroom"], kinds=["simple"])


@pytest.fixture
def patient(service: Service) -> Callable[..., PatientGenerator]:
    """Makes generators on the service that fail fast."""

    def make(on_failure: Any, **options: Any) -> PatientGenerator:
        endpoint = service.endpoint(read_timeout_s=1.0, max_response_bytes=100_000)
        generator = OpenAIGenerator(endpoint, retries=ONCE, **options.pop("generator", {}))
        return PatientGenerator(generator, on_failure, first_pause_s=0.01, **options)

    return make


@pytest.mark.parametrize("outage", OUTAGES)
def test_every_outage_is_known_and_costs_one_request(
    service: Service, patient: Callable[..., PatientGenerator], outage: str
) -> None:
    service.default = OUTAGES[outage]
    told: list[str] = []
    with_out = patient("degrade", say=told.append)
    for _ in range(3):
        ((lost,),) = with_out.generate([chat("hi")], PARAMS)
        assert (lost.text, lost.finish_reason) == ("", "error")
    assert len(service.asked) == 1, "given up after the first"
    assert with_out.served == Served(requests=3, unanswered=1, skipped=2)
    assert len(told) == 1
    service.default = say("back")
    with_out.begin()
    assert with_out.generate([chat("hi")], PARAMS)[0][0].text == "back"
    assert with_out.served == Served(requests=1)
    with_out.close()


@pytest.mark.parametrize("outage", OUTAGES)
def test_waiting_ends_with_the_outage(service: Service, patient: Callable[..., PatientGenerator], outage: str) -> None:
    service.script.extend([OUTAGES[outage]] * 2)
    service.default = say("back")
    told: list[str] = []
    waiting = patient("wait", say=told.append)
    assert waiting.generate([chat("hi")], PARAMS)[0][0].text == "back"
    assert waiting.served == Served(requests=1), "what was waited for leaves no trace"
    assert len(told) == 2
    assert all("s at most" in line for line in told)
    waiting.close()


def test_waiting_has_an_end(service: Service, patient: Callable[..., PatientGenerator]) -> None:
    service.default = status(503, "maintenance")
    waiting = patient("wait", patience_s=2.0)
    with pytest.raises(RunMustStop, match=r"no answer in 2 s: ServerBusy.*maintenance"):
        waiting.generate([chat("hi")], PARAMS)
    assert len(service.asked) > 1
    waiting.close()


def test_stopping_is_told_apart_from_a_failed_request(
    service: Service, patient: Callable[..., PatientGenerator]
) -> None:
    service.script.extend([status(400, "too long a prompt"), status(500)])
    stopping = patient("stop")
    assert stopping.generate([chat("hi")], PARAMS)[0][0].finish_reason == "error", "the prompt's own fault"
    with pytest.raises(RunMustStop, match="ServerBusy"):
        stopping.generate([chat("hi")], PARAMS)
    stopping.close()


def test_only_what_failed_is_asked_again(service: Service, patient: Callable[..., PatientGenerator]) -> None:
    service.default = lambda handler, asked: (
        status(500) if "b" in str(asked.body["messages"]) and len(service.asked) < 4 else say("ok")
    )(handler, asked)
    waiting = patient("wait")
    found = waiting.generate([chat("a"), chat("b"), chat("c")], SamplingParams(max_tokens=8, seeds=(1, 2, 3)))
    assert [samples[0].text for samples in found] == ["ok"] * 3
    assert sorted(str(asked.body["messages"][0]["content"]) for asked in service.asked) == ["a", "b", "b", "c"]
    assert len({asked.body["seed"] for asked in service.asked}) == 3, "each with its own seed, also again"
    waiting.close()


def test_an_endless_answer_is_the_failure_of_its_own_request(
    service: Service, patient: Callable[..., PatientGenerator]
) -> None:
    service.script.extend([raw(b"x" * 300_000), say("ok")])
    with_out = patient("degrade")
    lost, kept = (with_out.generate([chat(text)], PARAMS)[0][0] for text in ("a", "b"))
    assert (str(lost.error).partition(":")[0], kept.text) == ("AnswerTooLarge", "ok")
    with_out.close()


class Ending(ScriptedGenerator):
    """Loses two of three answers, and at the second call the budget ends after the first of them."""

    def __init__(self) -> None:
        super().__init__([])
        self.calls: list[SamplingParams] = []

    def generate(self, prompts: Any, params: SamplingParams) -> Any:
        params.check(len(prompts))
        self.calls.append(params)
        lost = [Completion("", "error", error="ConnectionLost: refused")]
        if len(self.calls) == 1:
            return [[Completion("A", "stop")], lost, lost]
        raise BudgetExceeded("spent", [[Completion("B", "stop")], lost])


def test_every_answer_stays_with_its_prompt_when_a_budget_ends_the_waiting() -> None:
    ending, prompts = Ending(), [chat(text) for text in "abc"]
    with pytest.raises(BudgetExceeded) as caught:
        PatientGenerator(ending, "wait", first_pause_s=0).generate(
            prompts, SamplingParams(8, seeds=(1, 2, 3), keys=(4, 5, 6), choices=(None, None, None))
        )
    assert [samples[0].text for samples in caught.value.completions] == ["A", "B", ""]
    assert (ending.calls[1].seeds, ending.calls[1].keys) == ((2, 3), (5, 6))


def test_an_empty_budget_is_no_outage() -> None:
    class Spent(ScriptedGenerator):
        def generate(self, prompts: Any, params: SamplingParams) -> Any:
            raise BudgetExceeded("spent")

    for policy in ("wait", "degrade", "stop"):
        patient = PatientGenerator(Spent([]), policy)
        with pytest.raises(BudgetExceeded):
            patient.generate([chat("hi")], PARAMS)
        assert patient.served == Served(requests=1, unanswered=1)


def test_a_resumed_run_takes_the_same_course_or_asks_again(
    service: Service, patient: Callable[..., PatientGenerator], tmp_path: Path
) -> None:
    log = tmp_path / "prompts.jsonl"
    service.script.extend([say("one"), status(401, "who are you")])
    first = patient("degrade", generator={"log": PromptLog(log)})
    course = [first.generate([chat(text)], PARAMS)[0][0].finish_reason for text in ("a", "b", "c")]
    assert course == ["stop", "error", "error"]
    first.close()

    asked = len(service.asked)
    service.default = say("well again")
    recorded = {"recorded": RecordedAnswers(log, failures=True)}
    again = patient("degrade", generator=recorded)
    assert [again.generate([chat(text)], PARAMS)[0][0].finish_reason for text in ("a", "b", "c")] == course
    assert again.served == first.served
    assert len(service.asked) == asked, "nothing is asked that was not asked before"
    again.close()

    stopping = patient("stop", generator={"recorded": RecordedAnswers(log)})
    assert [stopping.generate([chat(text)], PARAMS)[0][0].text for text in ("a", "b")] == ["one", "well again"]
    stopping.close()


def test_neither_rewriter_nor_summariser_swallows_the_end_of_a_run(root: Task) -> None:
    lost = Completion("", "error", error="ConnectionLost: refused")
    rewriter = LLMRewriter(PatientGenerator(ScriptedGenerator([lost]), "stop"))
    with pytest.raises(RunMustStop):
        rewriter.rewrite(Request(root, "easier", 0.0), np.random.default_rng(0))
    summariser = LLMSummariser(PatientGenerator(ScriptedGenerator([lost]), "stop"))
    with pytest.raises(RunMustStop):
        summariser.summarise([JudgedEpisode("a goal", (), success=False)])


def test_an_answer_that_cannot_be_stored_is_no_failed_request(service: Service, tmp_path: Path, root: Task) -> None:
    (tmp_path / "file").touch()
    log = PromptLog(tmp_path / "file" / "prompts.jsonl")
    with OpenAIGenerator(service.endpoint(), log=log) as generator, pytest.raises(RunMustStop, match="file"):
        LLMRewriter(generator).rewrite(Request(root, "easier", 0.0), np.random.default_rng(0))


def test_a_copy_for_another_process_goes_on(service: Service) -> None:
    patient = PatientGenerator(OpenAIGenerator(service.endpoint()), "stop")
    copy = pickle.loads(pickle.dumps(patient))
    service.default = say("here")
    assert copy.generate([chat("hi")], PARAMS)[0][0].text == "here"
    copy.close()


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ValueError, match="on_failure"):
        PatientGenerator(ScriptedGenerator([]), "hope")  # type: ignore[arg-type]
