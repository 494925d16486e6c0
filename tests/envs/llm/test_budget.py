"""Limits on tokens and money."""

import pickle
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_service import PATIENT, Service, chat, close_at_once_after_reading, raw, say, status

from rlanything_envs.llm import (
    Budget,
    BudgetExceeded,
    OpenAIGenerator,
    Price,
    PromptLog,
    SamplingParams,
    Usage,
    usage_of,
)

PARAMS = SamplingParams(max_tokens=10)
# chat("aaaa"): 4 + 4 bytes of role and content at 4 bytes a token, and 8 for the message.
PROMPT = 10


def test_usage_comes_from_the_answers(service: Service) -> None:
    service.default = say("ok", usage=(70, 30))
    budget = Budget(price=Price(prompt=2.0, completion=10.0))
    with OpenAIGenerator(service.endpoint(), budget=budget) as generator:
        generator.generate([chat("a"), chat("b")], PARAMS)
    assert budget.spent == Usage(140, 60)
    assert budget.dollars == pytest.approx(140 * 2e-6 + 60 * 10e-6)


def test_usage_is_estimated_where_the_service_is_silent(service: Service) -> None:
    service.default = say("eight by", usage=None)
    with OpenAIGenerator(service.endpoint()) as generator:
        generator.generate([chat("aaaa")], PARAMS)
        assert generator.budget.spent == Usage(PROMPT, 2, estimated=True)


def test_lost_answers_count_and_refused_ones_do_not(service: Service) -> None:
    service.script.extend([status(500), status(429), close_at_once_after_reading, say("ok", usage=(7, 3))])
    with OpenAIGenerator(service.endpoint(), retries=PATIENT) as generator:
        generator.generate([chat("aaaa")], PARAMS)
        assert generator.budget.spent == Usage(PROMPT + 7, 10 + 3, estimated=True)


def test_the_limit_on_tokens_ends_the_batch_and_keeps_its_answers(service: Service) -> None:
    service.default = say("ok", usage=(PROMPT, 5))
    budget = Budget(max_tokens=55)
    with OpenAIGenerator(service.endpoint(concurrency=1), budget=budget) as generator:
        with pytest.raises(BudgetExceeded, match="of 55 tokens") as caught:
            generator.generate([chat("aaaa")] * 5, PARAMS)
        # 15 + 15 + 15 are spent: the fourth could need 20 and has 10.
        assert len(service.asked) == 3
        assert budget.spent == Usage(45 * 2 // 3, 15)
        reasons = [samples[0].finish_reason for samples in caught.value.completions]
        assert reasons == ["stop"] * 3 + ["error"] * 2
        assert "not asked" in str(caught.value.completions[4][0].error)
        with pytest.raises(BudgetExceeded):
            generator.generate([chat("aaaa")], PARAMS)
    assert len(service.asked) == 3
    assert pickle.loads(pickle.dumps(caught.value)).completions == caught.value.completions


def test_the_limit_on_dollars_holds_however_many_ask(service: Service) -> None:
    service.default = say("ok", usage=(PROMPT, 10))
    price = Price(prompt=1e5, completion=1e5)  # 2 dollars a request
    budget = Budget(max_dollars=15.0, price=price)
    caught: list[BudgetExceeded] = []

    def ask(generator):
        try:
            generator.generate([chat("aaaa")] * 4, PARAMS)
        except BudgetExceeded as error:
            caught.append(error)

    with (
        OpenAIGenerator(service.endpoint(), budget=budget) as one,
        OpenAIGenerator(service.endpoint(), budget=budget) as other,
    ):
        threads = [threading.Thread(target=ask, args=(generator,)) for generator in (one, other, one)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert len(service.asked) == 7
    assert budget.dollars == pytest.approx(14.0)
    assert caught
    answered = sum(s.finish_reason == "stop" for error in caught for (s,) in error.completions)
    assert answered <= 7


def test_requests_that_fit_once_others_are_settled_wait(service: Service) -> None:
    service.default = say("ok", usage=(PROMPT, 1))
    # Set aside 20 each, used 11 each: four fit into 60 only one after another.
    with OpenAIGenerator(service.endpoint(), budget=Budget(max_tokens=60)) as generator:
        completions = generator.generate([chat("aaaa")] * 4, PARAMS)
    assert [samples[0].finish_reason for samples in completions] == ["stop"] * 4


def test_a_later_run_goes_on_with_the_rest(service: Service, tmp_path) -> None:
    service.default = say("ok", usage=(PROMPT, 5))
    path = tmp_path / "log.jsonl"
    assert usage_of(path) == Usage()
    with OpenAIGenerator(service.endpoint(), log=PromptLog(path)) as generator:
        generator.generate([chat("aaaa")] * 3, SamplingParams(max_tokens=10, n=2))
        spent = generator.budget.spent
    assert usage_of(path) == spent == Usage(60, 30)
    budget = Budget(max_tokens=100, spent=usage_of(path))
    with OpenAIGenerator(service.endpoint(), budget=budget) as generator, pytest.raises(BudgetExceeded):
        generator.generate([chat("aaaa")], PARAMS)


def test_failed_attempts_are_on_record_when_the_budget_ends_them(service: Service, tmp_path) -> None:
    service.default = raw(b"no JSON, but perhaps charged")
    log = tmp_path / "prompts.jsonl"
    for _ in range(2):
        budget = Budget(max_tokens=50, spent=usage_of(log))
        generator = OpenAIGenerator(service.endpoint(), retries=PATIENT, budget=budget, log=PromptLog(log))
        with generator, pytest.raises(BudgetExceeded):
            generator.generate([chat("aaaa")], PARAMS)
        assert usage_of(log) == budget.spent == Usage(2 * PROMPT, 20, estimated=True)
    assert len(service.asked) == 2, "the second start has nothing left"


def test_usage_on_record_is_whole_with_several_samples_a_request(service: Service, tmp_path) -> None:
    service.default = say("a", "b", usage=(PROMPT, 8))
    path = tmp_path / "log.jsonl"
    with OpenAIGenerator(service.endpoint(samples_per_request=2), log=PromptLog(path)) as generator:
        generator.generate([chat("aaaa")], SamplingParams(max_tokens=10, n=4))
        assert usage_of(path) == generator.budget.spent == Usage(2 * PROMPT, 16)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=30), st.integers(0, 300))
def test_what_is_spent_never_exceeds_the_limit(requests: list[tuple[int, int]], limit: int) -> None:
    budget = Budget(max_tokens=limit)
    under_way = []
    for most, used in requests:
        try:
            if budget.reserve(Usage(0, most)):
                under_way.append((most, min(most, used)))
        except BudgetExceeded:
            assert budget.spent.tokens + most > limit
        if len(under_way) > 2:
            most, used = under_way.pop(0)
            budget.settle(Usage(0, most), Usage(0, used))
    for most, used in under_way:
        budget.settle(Usage(0, most), Usage(0, used))
    assert budget.spent.tokens <= limit


def test_budgets_are_checked_and_pickled() -> None:
    with pytest.raises(ValueError, match="price"):
        Budget(max_dollars=1.0)
    with pytest.raises(ValueError, match="max_tokens"):
        Budget(max_tokens=-1)
    with pytest.raises(ValueError, match="Price"):
        Price(prompt=float("nan"), completion=0)
    budget = Budget(max_tokens=10, spent=Usage(4, 4))
    budget.reserve(Usage(1, 1))
    copy = pickle.loads(pickle.dumps(budget))
    assert copy.spent == Usage(4, 4)
    assert copy.reserve(Usage(1, 1)), "what others set aside is theirs"
