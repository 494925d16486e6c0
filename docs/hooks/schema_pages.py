"""The pages on commands, run files, task files and pool files, made from the parser, the models and the tables."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, get_args

import griffe
import typer
import typer.cli
import yaml
from api_pages import read
from pydantic import BaseModel

from rlanything_agents.config import RunConfig
from rlanything_agents.tools.cli import app
from rlanything_task_pools import Task
from rlanything_task_pools.schema import APPLICATION_ID, SCHEMA_VERSION, create_tables

__all__ = ["command_line", "configuration", "pool_file", "task_file"]


# -- the command line ----------------------------------------------------------------------------------------


def command_line() -> str:
    """Every command with its arguments and options."""
    command = typer.main.get_command(app)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = typer.cli.get_docs_for_click(
            obj=command, ctx=typer.Context(command), name="rlanything", title="Commands"
        )
    return page.replace("```console\n$ ", "```text\n")


# -- run files -----------------------------------------------------------------------------------------------


def configuration() -> str:
    """Every key of a run file with its kind, default and meaning."""
    default = RunConfig(name="my-run").model_dump(mode="json")
    parts = [
        "# Configuration\n",
        "A run is a YAML file of these keys. `rlanything train FILE --set rollout.tasks=8` changes one key on",
        "the command line. An unknown key and an impossible value are errors that name the key.\n",
        *_section(RunConfig, ""),
        "## All defaults\n",
        "```yaml",
        yaml.safe_dump(default, sort_keys=False, width=110).rstrip(),
        "```\n",
    ]
    return "\n".join(parts)


def _section(model: type[BaseModel], prefix: str, choice: str = "") -> Iterator[str]:
    """A table of the plain keys of a section, then the sections in it; `choice` tells apart sections of one name."""
    about = _source_of(model)
    yield f"## `{prefix.rstrip('.')}`{choice}\n" if prefix else "## A whole run\n"
    yield f"{_first_paragraph(about)}\n"
    said, schema = _field_docs(about), _schema(model)
    inner: dict[str, list[type[BaseModel]]] = {}
    yield "| key | kind | default | meaning |\n|---|---|---|---|"
    for name, field in model.model_fields.items():
        if sections := _models_of(field.annotation):
            inner[name] = sections
            continue
        default = "required" if field.is_required() else f"`{_compact(field.get_default(call_default_factory=True))}`"
        kind = _kind(schema["properties"][name], schema)
        yield f"| `{prefix}{name}` | {kind} | {default} | {_cell(said.get(name, ''))} |"
    yield ""
    for name, sections in inner.items():
        for section in sections:
            key = f" with `{next(iter(section.model_fields))}`" if len(sections) > 1 else ""
            yield from _section(section, f"{prefix}{name}.", key)


def _models_of(annotation: Any) -> list[type[BaseModel]]:
    """The section that a field holds, also an optional one, or those it may choose from."""
    kinds = (annotation, *get_args(annotation))
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]


def _compact(value: Any) -> str:
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_compact, value)) + "]"
    return value if isinstance(value, str) else json.dumps(value, default=str)


# -- tasks ---------------------------------------------------------------------------------------------------


def task_file() -> str:
    """The JSON schema of a task."""
    schema = _schema(Task)
    for owner in (schema, *schema["$defs"].values()):
        for field in owner["properties"].values():
            if not field.keys() & {"type", "anyOf", "$ref", "enum"}:
                field["type"] = "object"
    said = _field_docs(_source_of(Task))
    rows = [
        f"| `{name}` | {_kind(field, schema)} | {'yes' if name in schema['required'] else 'no'} "
        f"| {_cell(said.get(name, ''))} |"
        for name, field in schema["properties"].items()
    ]
    return "\n".join(
        [
            "# Task files\n",
            "A task is one JSON object. `Task.to_json()` writes it, `Task.from_json(text)` reads it and refuses what",
            "does not fit, naming the field. What `payload` holds is the business of the domain; its own description",
            "for rewriters is `get_domain(NAME).proposal_schema(task)`.\n",
            "| field | kind | required | meaning |\n|---|---|---|---|",
            *rows,
            "\nThe id of a task is not stored. It is `DOMAIN-` and the first 16 hexadecimal digits of the SHA-256 of",
            "the canonical JSON of `[domain, goal, payload]`: the same content has the same id on every machine.\n",
            "## JSON schema\n",
            "```json",
            json.dumps(_without_titles(schema), indent=2),
            "```\n",
        ]
    )


# -- pools ---------------------------------------------------------------------------------------------------


def pool_file() -> str:
    """The tables of a pool, read from a new one."""
    parts = [
        "# Pool files\n",
        f"A pool is one SQLite file in WAL mode, schema version {SCHEMA_VERSION} (`PRAGMA user_version`), marked by",
        f"`PRAGMA application_id = {APPLICATION_ID}`. `TaskPool.open` refuses a file of another version.",
        "Use [`TaskPool`](task_pools.md) rather than the tables: they may change with the schema version.\n",
    ]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        create_tables(db)
        names = db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid"
        )
        for (table,) in names.fetchall():
            parts += [f"## `{table}`\n", "| column | type | null | default | refers to |\n|---|---|---|---|---|"]
            keys = {row[3]: f"`{row[2]}.{row[4]}`" for row in db.execute(f"PRAGMA foreign_key_list({table})")}
            for _, column, kind, required, default, primary in db.execute(f"PRAGMA table_info({table})"):
                null = "primary key" if primary else "no" if required else "yes"
                parts.append(f"| `{column}` | {kind} | {null} | {default or ''} | {keys.get(column, '')} |")
            parts.append("")
    return "\n".join(parts)


# -- schemas and docstrings ----------------------------------------------------------------------------------


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # frozen defaults are not JSON; the tables show them another way
        return model.model_json_schema()


def _kind(field: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The kind of value a field takes, in words."""
    if "$ref" in field:
        return f"`{field['$ref'].rpartition('/')[2]}`"
    if "anyOf" in field:
        return " or ".join(_kind(option, schema) for option in field["anyOf"])
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    words = {"null": "none", "object": "mapping", "array": "list"}
    kind = words.get(str(field.get("type")), str(field.get("type", "any")))
    if kind == "list":
        items = field.get("items") or next(iter(field.get("prefixItems", [])), None)
        return f"list of {_kind(items, schema)}" if items else kind
    bounds = [
        f"{sign} {field[name]}"
        for name, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<"))
        if name in field
    ]
    return " ".join([kind, ", ".join(bounds)]).strip()


def _without_titles(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            key: _without_titles(value) for key, value in node.items() if key != "title" or not isinstance(value, str)
        }
    return [_without_titles(value) for value in node] if isinstance(node, list) else node


def _source_of(model: type[BaseModel]) -> griffe.Class:
    """The class as its source says it, docstrings of attributes included."""
    found = read(f"{model.__module__}.{model.__qualname__}")
    assert isinstance(found, griffe.Class)
    return found


def _first_paragraph(source: griffe.Class) -> str:
    return source.docstring.value.partition("\n\n")[0] if source.docstring else ""


def _field_docs(source: griffe.Class) -> dict[str, str]:
    """What is said on each field: in the section "Attributes" of the class, or under the field."""
    said = {name: field.docstring.value for name, field in source.attributes.items() if field.docstring}
    if source.docstring:
        for section in source.docstring.parse("google"):
            if section.kind is griffe.DocstringSectionKind.attributes:
                said.update((entry.name, entry.description) for entry in section.value)
    return said


def _cell(text: str) -> str:
    """Text in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
