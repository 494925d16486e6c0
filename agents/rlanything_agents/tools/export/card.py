"""Card of an exported data set: a README with the front matter of ``datasets`` and the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from rlanything_agents.tools.export.kinds import KINDS

__all__ = ["card"]

_SUFFIX = {"parquet": "parquet", "jsonl": "jsonl"}


def card(config: Mapping[str, Any], counts: Mapping[str, Mapping[str, int]], format: str) -> str:
    """The text of the README.

    Args:
        config: The run's settings.
        counts: Rows by kind and split.
        format: Format of the files.
    """
    name, domain, seed = (str(config.get(key, "")) for key in ("name", "domain", "seed"))
    head: dict[str, Any] = {"pretty_name": f"Rollouts of {name}", "tags": ["rlanything", domain]}
    if format in _SUFFIX:
        head["configs"] = [
            {
                "config_name": kind,
                "default": number == 0,
                "data_files": [{"split": split, "path": f"{kind}/{split}.{_SUFFIX[format]}"} for split in splits],
            }
            for number, (kind, splits) in enumerate(counts.items())
        ]
        head["dataset_info"] = [
            {"config_name": kind, "features": KINDS[kind].features()._to_yaml_list()} for kind in counts
        ]
    body = "\n".join([f"# Rollouts of {name}", "", *_lines(name, domain, seed, counts, format)])
    return f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n\n{body}\n"


def _lines(name: str, domain: str, seed: str, counts: Mapping[str, Mapping[str, int]], format: str) -> Iterator[str]:
    yield f"Episodes that the run `{name}` (domain `{domain}`, seed {seed}) played while it trained, written by"
    yield "`rlanything export`. The texts of actions, thoughts and judgements come from models; those of tasks may."
    yield ""
    for kind, splits in counts.items():
        yield f"## {kind}"
        yield ""
        yield f"A row is {KINDS[kind].meaning}."
        yield ""
        yield "```python"
        if format in _SUFFIX:
            yield "from datasets import load_dataset"
            yield ""
            yield f'rows = load_dataset("PATH/OF/THIS/FOLDER", "{kind}")'
        else:
            yield "from datasets import load_from_disk"
            yield ""
            yield f'rows = load_from_disk("PATH/OF/THIS/FOLDER/{kind}")'
        yield "```"
        yield ""
        yield "| split | rows |"
        yield "|---|---|"
        yield from (f"| {split} | {rows:,} |" for split, rows in splits.items())
        yield ""
        yield "| column | type | |"
        yield "|---|---|---|"
        yield from (f"| {column} | {type_} | {meaning} |" for column, (type_, meaning) in KINDS[kind].columns.items())
        yield ""
