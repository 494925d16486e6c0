"""JSON schemas as forms of answers, for engines in this process, and as regular expressions, for services.

An answer of the form is one of the schema's simplest: properties in the order of the schema, no white space between the
tokens of JSON (a model that may write blank lines there can fill its answer with them), and texts of one line without
quotes and escapes. The regular expression allows any text of JSON instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from rlanything_envs.llm.choices import Form, OneOf, Prose, Repeat, Then, pattern
from rlanything_envs.llm.errors import GeneratorError

__all__ = ["compact_json", "example_of", "form_of_schema", "pattern_of_schema", "schema_text"]

MAX_TEXT = 300
"""Maximum characters of a text without a ``maxLength``, or with a larger one."""
MAX_ITEMS = 8
"""Maximum items of a list without a ``maxItems``, or with a larger one."""
MAX_PROPERTIES = 8
"""Maximum optional properties of an object: the form lists their combinations."""
DEPTH, ANY_TEXT, ANY_KEY = 2, 80, 16
"""Bounds of any value (the empty schema): lists and objects around each other, characters of a text and of a key."""

_QUOTED = '\n\\"'
_ANY_TEXT = r'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*'
"""Characters of a text in JSON, as a regular expression."""
_DIGITS = OneOf(tuple("0123456789"))
_INTEGER = Then((OneOf(("", "-")), OneOf(("0", Then((OneOf(tuple("123456789")), Repeat(_DIGITS, 0, 8)))))))
_PLAIN_TYPES: Mapping[str, Form] = {
    "integer": _INTEGER,
    "number": Then((_INTEGER, OneOf(("", Then((".", _DIGITS, Repeat(_DIGITS, 0, 5))))))),
    "boolean": OneOf(("true", "false")),
    "null": "null",
}


def form_of_schema(schema: Mapping[str, Any]) -> Form:
    """The form of the JSON values that a schema accepts.

    Read are ``enum``, ``const``, ``oneOf``, ``anyOf``, and objects, lists, texts, numbers, booleans and null by their
    ``type``. Ranges of numbers and patterns of texts are not. The empty schema accepts any value, of bounded size.

    Raises:
        GeneratorError: The schema uses something else.
    """
    if not schema:
        return _any(DEPTH)
    if "const" in schema:
        return compact_json(schema["const"])
    if "enum" in schema:
        return OneOf(tuple(compact_json(value) for value in schema["enum"]))
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return OneOf(tuple(form_of_schema(option) for option in schema[several]))
    kind = schema.get("type")
    if kind == "object":
        return _object(schema)
    if kind == "array":
        return _list(schema)
    if kind == "string":
        return _text(schema)
    if isinstance(kind, str) and kind in _PLAIN_TYPES:
        return _PLAIN_TYPES[kind]
    raise GeneratorError(f"there is no form of a JSON schema with type {kind!r}: {json.dumps(schema)[:200]}")


def pattern_of_schema(schema: Mapping[str, Any]) -> str:
    """The JSON values of a schema as a regular expression; texts of `MAX_TEXT` or more characters have no limit there.

    Raises:
        GeneratorError: As `form_of_schema`.
    """
    found = pattern(form_of_schema(schema))
    for most in (MAX_TEXT, MAX_TEXT - 1):  # a text that is not empty has its first character before
        found = found.replace(pattern(Prose(most, _QUOTED)), _ANY_TEXT)
    return found


def compact_json(value: Any) -> str:
    """A value as JSON without white space between its tokens, as answers in a form are."""
    return json.dumps(value, separators=(",", ":"))


def schema_text(schema: Mapping[str, Any]) -> str:
    """A schema in a few words, for a prompt: the values that it lists, a variant a line.

    >>> properties = {"knob": {"const": "size"}, "to": {"enum": [1, 2]}}
    >>> knob = {"type": "object", "properties": properties, "required": ["knob"]}
    >>> print(schema_text({"anyOf": [knob, {"const": None}]}))
    {"knob": "size", "to"?: 1 | 2}
    or null
    """
    note = f"({schema['description']})" if "description" in schema else ""
    for several in ("oneOf", "anyOf"):
        if several in schema:
            variants = "\nor ".join(schema_text(option) for option in schema[several])
            return f"{note}\n{variants}" if note else variants
    return " ".join(part for part in (_brief(schema), note) if part)


def _brief(schema: Mapping[str, Any]) -> str:
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    if schema.get("type") == "object":
        required = frozenset(schema.get("required", ()))
        parts = [
            f"{json.dumps(name)}{'' if name in required else '?'}: {schema_text(value)}"
            for name, value in schema.get("properties", {}).items()
        ]
        one = " with just one of these" if schema.get("maxProperties") == 1 else ""
        return f"{{{', '.join(parts)}}}{one}"
    if schema.get("type") == "array":
        return f"[{schema_text(schema.get('items', {}))}, ...]"
    return str(schema.get("type", "any value"))


def example_of(schema: Mapping[str, Any], rng: np.random.Generator) -> Any:
    """A value of a schema, drawn evenly, with one property if none is required; without free text where it can be."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][int(rng.integers(len(schema["enum"])))]
    for several in ("oneOf", "anyOf"):
        if several in schema:
            options = [option for option in schema[several] if _is_listed(option)] or schema[several]
            return example_of(options[int(rng.integers(len(options)))], rng)
    if schema.get("type") == "object":
        parts = schema.get("properties", {})
        drawn = [name for name in parts if name in schema.get("required", ())]
        if not drawn and parts:
            listed = [name for name in parts if _is_listed(parts[name])] or list(parts)
            drawn = [listed[int(rng.integers(len(listed)))]]
        return {name: example_of(parts[name], rng) for name in drawn}
    if schema.get("type") == "array":
        return [example_of(schema.get("items", {}), rng) for _ in range(max(1, int(schema.get("minItems", 0))))]
    if schema.get("type") == "string":
        return "..."[: int(schema.get("maxLength", 3))]
    return {"integer": 1, "number": 0.5, "boolean": True}.get(str(schema.get("type")))


def _is_listed(schema: Mapping[str, Any]) -> bool:
    """Whether all values of a schema are listed, or an object of which that holds."""
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return any(map(_is_listed, schema[several]))
    if schema.get("type") == "array":
        return _is_listed(schema.get("items", {}))
    parts = schema.get("properties", {}).values()
    return "const" in schema or "enum" in schema or (bool(parts) and all(map(_is_listed, parts)))


def _text(schema: Mapping[str, Any]) -> Form:
    most = min(int(schema.get("maxLength", MAX_TEXT)), MAX_TEXT)
    begun = bool(schema.get("minLength"))
    return Then(('"', Prose(max(int(begun), most), _QUOTED, begun), '"'))


def _list(schema: Mapping[str, Any]) -> Form:
    item, least = form_of_schema(schema.get("items", {})), int(schema.get("minItems", 0))
    most = max(least, min(int(schema.get("maxItems", MAX_ITEMS)), MAX_ITEMS))
    return _bracketed("[]", item, least, most)


@cache
def _any(depth: int) -> Form:
    plain = (_text({"maxLength": ANY_TEXT}), _PLAIN_TYPES["number"], "true", "false", "null")
    if not depth:
        return OneOf(plain)
    value, key = _any(depth - 1), _text({"maxLength": ANY_KEY})
    return OneOf((*plain, _bracketed("[]", value), _bracketed("{}", Then((key, ":", value)))))


def _bracketed(ends: str, part: Form, least: int = 0, most: int = MAX_ITEMS) -> Form:
    """A part several times, with commas between, in a pair of brackets."""
    if most == 0:
        return ends
    some = Then((ends[0], part, Repeat(Then((",", part)), max(0, least - 1), most - 1), ends[1]))
    return some if least else OneOf((ends, some))


def _object(schema: Mapping[str, Any]) -> Form:
    required = frozenset(schema.get("required", ()))
    parts = [(name, form_of_schema(value)) for name, value in schema.get("properties", {}).items()]
    least, most = int(schema.get("minProperties", 0)), int(schema.get("maxProperties", len(parts)))
    if len(parts) - len(required) > MAX_PROPERTIES:
        raise GeneratorError(
            f"an object of {len(parts)} properties has too many forms: at most {MAX_PROPERTIES} are optional"
        )
    form = _properties(parts, required, least, most)
    if form is None:
        raise GeneratorError(f"no object has the properties that its schema wants: {json.dumps(schema)[:200]}")
    return Then(("{", form))


def _properties(parts: Sequence[tuple[str, Form]], required: frozenset[str], least: int, most: int) -> Form | None:
    """Properties and the closing bracket; None if no choice of properties fits."""

    @cache
    def tail(at: int, count: int) -> Form | None:
        if count and least <= count <= most - len(parts) + at:  # each of the rest may come or not
            rest = [(name, Then((f",{json.dumps(name)}:", value))) for name, value in parts[at:]]
            return Then((*(pair if name in required else OneOf(("", pair)) for name, pair in rest), "}"))
        options: list[Form] = []
        for number in range(at, len(parts) if count < most else at):
            name, value = parts[number]
            after = tail(number + 1, count + 1)
            if after is not None:
                options.append(Then((f"{',' if count else ''}{json.dumps(name)}:", value, after)))
            if name in required:
                break
        if count >= least and not required & {name for name, _ in parts[at:]}:
            options.append("}")
        return OneOf(tuple(options)) if options else None

    return tail(0, 0)
