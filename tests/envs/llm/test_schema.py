"""JSON schemas as forms: every answer of the form is a value of the schema, by a validator of its own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from forms import some_answer
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.llm.choices import matches
from rlanything_envs.llm.errors import GeneratorError
from rlanything_envs.llm.schema import MAX_TEXT, example_of, form_of_schema
from rlanything_task_pools import get_domain

jsonschema = pytest.importorskip("jsonschema")

LEAVES = st.one_of(
    st.lists(st.integers() | st.text(max_size=3) | st.none(), min_size=1, max_size=3).map(lambda v: {"enum": v}),
    st.booleans().map(lambda v: {"const": v}),
    st.sampled_from(["integer", "number", "boolean", "null", "string"]).map(lambda v: {"type": v}),
    st.integers(1, 9).map(lambda n: {"type": "string", "minLength": 1, "maxLength": n}),
    st.just({}),
)


def _objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.text(max_size=3), inner, min_size=1, max_size=4).map(
        lambda properties: {
            "type": "object",
            "properties": properties,
            "required": list(properties)[::2],
            "additionalProperties": False,
            "minProperties": 1,
        }
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda options: {"anyOf": options}),
        st.tuples(inner, st.integers(0, 2)).map(lambda made: {"type": "array", "items": made[0], "minItems": made[1]}),
        _objects(inner),
    ),
    max_leaves=5,
)


@given(SCHEMAS, st.integers(0, 2**32 - 1))
def test_every_answer_of_the_form_is_a_value_of_the_schema(schema: dict[str, Any], seed: int) -> None:
    text = some_answer(form_of_schema(schema), np.random.default_rng(seed))
    jsonschema.validate(json.loads(text), schema)


@pytest.mark.parametrize("domain", ["alfworld", "coding", "osworld"])
def test_the_proposals_of_every_domain_have_a_form(domain: str) -> None:
    rng = np.random.default_rng(0)
    for seed in range(3):
        task = get_domain(domain).generate(seed)
        schema = get_domain(domain).proposal_schema(task)
        for _ in range(10):
            jsonschema.validate(json.loads(some_answer(form_of_schema(schema), rng)), schema)
        assert not matches(form_of_schema(schema), json.dumps(dict.fromkeys(schema["properties"])))


@given(SCHEMAS, st.integers(0, 2**32 - 1))
def test_an_example_is_a_value_of_the_schema(schema: dict[str, Any], seed: int) -> None:
    jsonschema.validate(example_of(schema, np.random.default_rng(seed)), schema)


def test_examples_have_no_free_text_where_values_are_listed() -> None:
    rng = np.random.default_rng(0)
    for domain in ("coding", "osworld"):
        schema = get_domain(domain).proposal_schema(get_domain(domain).generate(3))
        for _ in range(20):
            assert "..." not in json.dumps(example_of(schema, rng))


def test_properties_by_hand() -> None:
    text = {"type": "string", "maxLength": 3}
    schema = {"type": "object", "properties": {"a": text, "b": {"const": 1}, "c": {"const": None}}, "required": ["b"]}
    form = form_of_schema(schema)
    for good in ('{"b":1}', '{"a":"x y","b":1}', '{"b":1,"c":null}', '{"a":"","b":1,"c":null}'):
        assert matches(form, good)
    for bad in ("{}", '{"a":"x"}', '{"b":2}', '{"b":1, "c":null}', '{"a":"long","b":1}', '{"b":1,"d":2}', '{"b": 1}'):
        assert not matches(form, bad)
    some = form_of_schema(schema | {"required": [], "minProperties": 1})
    found = [matches(some, text) for text in ('{"a":"x","b":1,"c":null}', '{"c":null}', "{}", '{"c":null,"a":""}')]
    assert found == [True, True, False, False]
    one = form_of_schema(schema | {"required": [], "minProperties": 1, "maxProperties": 1})
    assert matches(one, '{"c":null}')
    assert not matches(one, "{}")
    assert not matches(one, '{"b":1,"c":null}')
    assert matches(form_of_schema({"type": "string"}), f'"{"x" * MAX_TEXT}"')
    anything = form_of_schema({})
    assert all(matches(anything, value) for value in ("-1.5", '[[1,"a"],{"k":2}]', '{"k":{"k":null}}', "{}", "true"))
    assert not any(matches(anything, value) for value in ("[[[1]]]", "[1, 2]", "NaN", "[1,]", "01", "'a'"))


@pytest.mark.parametrize(
    "schema",
    [{"type": "thing"}, {"type": ["string", "null"]}, {"$ref": "#/x"}, {"type": "object", "required": ["a"]}],
)
def test_what_has_no_form_is_named(schema: dict[str, Any]) -> None:
    if "required" in schema:
        schema |= {"properties": {"a": {"$ref": "#/x"}}}
    with pytest.raises(GeneratorError, match="no form"):
        form_of_schema(schema)


def test_too_many_optional_properties_have_no_form() -> None:
    schema = {"type": "object", "properties": {str(n): {"const": n} for n in range(9)}}
    with pytest.raises(GeneratorError, match="at most 8 are optional"):
        form_of_schema(schema)
    form_of_schema(schema | {"required": ["0"]})
    with pytest.raises(GeneratorError, match="no object has"):
        form_of_schema({"type": "object", "properties": {"a": {"const": 1}}, "minProperties": 2})
