"""Structured output of a service over HTTP: what is sent, and what happens where a service lacks it."""

from __future__ import annotations

import logging
import re
from dataclasses import replace

import pytest
from scripted_service import Handler, Service, answer, chat

from rlanything_envs.llm import Budget, OpenAIGenerator, Retries, SamplingParams
from rlanything_envs.llm.choices import OneOf, Prose, Then
from rlanything_envs.llm.log import prompt_key

SCORES = OneOf((r" \boxed{1}", r" \boxed{-1}"))
JUDGED = SamplingParams(max_tokens=20, seed=1, choices=(Then((Prose(500), SCORES)),))
SCHEMA = {"type": "object", "properties": {"goal": {"type": "string"}}}
NEITHER = {"structured_outputs", "response_format"}
PROPOSED = SamplingParams(max_tokens=20, seed=1, schema=SCHEMA)


def refusing(*fields: str, status: int = 400, text: str = "Unrecognized request argument supplied: {}"):
    """A service that does not know some fields."""

    def behave(handler: Handler, asked) -> None:
        for field in fields:
            if field in asked.body:
                handler.reply({"error": {"message": text.format(field)}}, status)
                return
        handler.reply(answer(r"It helps. \boxed{1}"))

    return behave


def test_forms_and_schemas_are_sent(service: Service) -> None:
    service.default = refusing()
    with OpenAIGenerator(service.endpoint()) as generator:
        choices = SamplingParams(max_tokens=20, choices=(OneOf(("look", "go to bed 1")), None))
        generator.generate([chat("act"), chat("talk")], choices)
        generator.generate([chat("judge")], JUDGED)
        generator.generate([chat("propose")], PROPOSED)
    act, talk, judge, propose = sorted(
        (asked.body for asked in service.asked),
        key=lambda body: ["act", "talk", "judge", "propose"].index(body["messages"][0]["content"]),
    )
    assert act["structured_outputs"] == {"regex": "(?:look|go to bed 1)"}
    assert "structured_outputs" not in talk
    assert judge["structured_outputs"] == {"regex": r"(?:[ -\[\]-~]{0,8}(?: \\boxed\{1\}| \\boxed\{-1\}))"}
    found = re.compile(propose["structured_outputs"]["regex"])
    assert "response_format" not in propose
    assert found.fullmatch('{"goal":"a \\"pan\\" \\\\ in a \\n room"}')
    for blank in ('{"goal": "x"}', '{ "goal":"x"}', '{"goal":"x"}\n', '{"goal":"a\nb"}'):
        assert not found.fullmatch(blank), "no white space between the tokens of JSON, and no line end in a text"


def test_a_service_without_regular_expressions_gets_the_schema(service: Service, caplog) -> None:
    service.default = refusing("structured_outputs")
    with OpenAIGenerator(service.endpoint()) as generator, caplog.at_level(logging.WARNING):
        for name in ("one", "two"):
            generator.generate([chat(name)], PROPOSED)
    fields = [NEITHER & set(asked.body) for asked in service.asked]
    assert fields == [{"structured_outputs"}, {"response_format"}, {"response_format"}]
    sent = service.asked[1].body["response_format"]
    assert sent == {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    assert len(caplog.records) == 1


def test_a_service_that_ignores_regular_expressions_gets_the_schema(service: Service, caplog) -> None:
    service.default = lambda handler, asked: handler.reply(answer('{\n "goal": "x"\n}'))
    with OpenAIGenerator(service.endpoint()) as generator, caplog.at_level(logging.WARNING):
        for name in ("one", "two"):
            generator.generate([chat(name)], PROPOSED)
    assert [NEITHER & set(asked.body) for asked in service.asked] == [{"structured_outputs"}, {"response_format"}]
    assert len(caplog.records) == 1


def test_a_schema_with_a_long_expression_is_sent_as_it_is(service: Service) -> None:
    many = {"type": "object", "properties": {"a": {"enum": [f"{number:0100}" for number in range(400)]}}}
    service.default = refusing()
    with OpenAIGenerator(service.endpoint()) as generator:
        generator.generate([chat("one")], SamplingParams(max_tokens=20, seed=1, schema=many))
    assert NEITHER & set(service.asked[0].body) == {"response_format"}


@pytest.mark.parametrize(("status", "attempts"), [(400, 1), (422, 4)])
@pytest.mark.parametrize(("params", "fields"), [(JUDGED, 1), (PROPOSED, 2)])
def test_a_service_that_refuses_goes_on_without(
    service: Service, caplog: pytest.LogCaptureFixture, params: SamplingParams, fields: int, status: int, attempts: int
) -> None:
    service.default = refusing(*NEITHER, status=status)
    budget = Budget(max_tokens=10_000)
    with OpenAIGenerator(service.endpoint(), retries=Retries(attempts=attempts), budget=budget) as generator:
        with caplog.at_level(logging.WARNING):
            ((first,),) = generator.generate([chat("one")], params)
            assert (first.finish_reason, first.text) == ("stop", r"It helps. \boxed{1}")
            assert len(service.asked) == 1 + fields
            ((later,),) = generator.generate([chat("two")], params)
        assert later.text == first.text
        assert len(service.asked) == 2 + fields, "one request was lost for each field, and no more"
    assert len(caplog.records) == fields
    assert budget.spent.tokens < 200


def test_many_at_once_lose_one_request_each_at_most(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    service.default = refusing("structured_outputs")
    with OpenAIGenerator(service.endpoint(concurrency=4)) as generator, caplog.at_level(logging.WARNING):
        answers = generator.generate(
            [chat(str(number)) for number in range(40)], replace(JUDGED, choices=JUDGED.choices * 40)
        )
    assert {sample.finish_reason for samples in answers for sample in samples} == {"stop"}
    assert len(service.asked) <= 44
    assert len(caplog.records) == 1


def test_a_refused_field_of_the_users_own_is_sent_once(service: Service) -> None:
    service.default = refusing("response_format", text="'messages' must contain the word 'json' to use '{}'")
    endpoint = service.endpoint(extra={"response_format": {"type": "json_object"}})
    with OpenAIGenerator(endpoint, retries=Retries(attempts=1)) as generator:
        ((lost,),) = generator.generate([chat("a")], SamplingParams(8))
    assert "must contain" in str(lost.error)
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    ("status", "text"), [(400, "this prompt is too long for {}"[:27]), (500, "{} broke"), (413, "{} is too large")]
)
def test_another_failure_is_no_lack(service: Service, status: int, text: str) -> None:
    service.default = refusing("structured_outputs", status=status, text=text)
    with OpenAIGenerator(service.endpoint(), retries=Retries(attempts=1)) as generator:
        for _ in range(2):
            ((lost,),) = generator.generate([chat("one")], JUDGED)
            assert lost.finish_reason == "error"
    assert len(service.asked) == 2
    assert all("structured_outputs" in asked.body for asked in service.asked)


def test_a_service_that_ignores_the_form_is_reported_once(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    service.default = lambda handler, asked: handler.reply(answer("It helps, I think."))
    with OpenAIGenerator(service.endpoint()) as generator, caplog.at_level(logging.WARNING):
        for name in ("one", "two"):
            ((free,),) = generator.generate([chat(name)], JUDGED)
            assert (free.text, free.finish_reason) == ("It helps, I think.", "stop")
    assert [record.getMessage().partition(")")[2] for record in caplog.records] == [
        " ignores the field structured_outputs, so its answers are free text"
    ]


def test_recorded_answers_are_found_whatever_the_form() -> None:
    plain = SamplingParams(max_tokens=20, seed=1)
    assert prompt_key(chat("one"), plain) == prompt_key(chat("one"), JUDGED) == prompt_key(chat("one"), PROPOSED)
