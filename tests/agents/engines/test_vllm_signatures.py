"""The record of vLLM's interface: what we call is in it, and it is of the version that we support."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import vllm_signatures
from isolated import ROOT
from packaging.requirements import Requirement
from stand_in_vllm import LLM, RECORD, fielded

from rlanything_agents.engines.vllm import LORA_RANKS


def test_the_record_is_of_the_version_that_the_extra_allows() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    allowed = Requirement(*extras["vllm"]).specifier
    assert RECORD["version"] in allowed
    assert not any(version in allowed for version in ("0.31.0", "0.33.0"))


def test_the_facts_the_code_rests_on() -> None:
    assert list(LORA_RANKS) == RECORD["constants"]["lora_ranks"]
    assert {"stop", "length"} < set(RECORD["constants"]["finish_reasons"])
    assert "raw_logprobs" in RECORD["constants"]["logprobs_modes"]
    assert set(RECORD["sleep_tags"]) == {"weights", "kv_cache"}
    assert {"llm_engine", "model_config"} <= set(RECORD["llm_attributes"])
    assert RECORD["routes"]["POST /collective_rpc"] == ["args", "kwargs", "method", "timeout"]
    assert RECORD["routes"]["POST /update_weight_version"] == ["new_version"]


def test_the_stand_in_knows_no_other_names(engines: type[LLM]) -> None:
    with pytest.raises(TypeError, match="gpu_memory"):
        engines("model", gpu_memory=0.5)
    with pytest.raises(TypeError, match="max_new_tokens"):
        fielded("SamplingParams", {"max_new_tokens": 4})
    engine = object.__new__(engines)
    for call in (
        lambda: engine.generate([], params=[]),
        lambda: engine.sleep(depth=2),
        lambda: engine.wake_up(tag="weights"),
        lambda: engine.collective_rpc("reload_weights", keywords={}),
        lambda: engine.reset_prefix_cache(now=True),
    ):
        with pytest.raises(TypeError):
            call()


def test_a_source_that_changed_is_seen(tmp_path: Path) -> None:
    """The reader on a source of our own: kinds, defaults, routes and keys of bodies."""
    tree = vllm_signatures.ast.parse(
        "class C:\n"
        "    a: int\n"
        "    _b: int = 0\n"
        "    def f(self, x, y=1, *rest, k, d=2, **more): ...\n"
        "@router.post('/p')\n"
        "async def p(raw_request: Request, q: int = 1):\n"
        "    body.get('k'); raw_request.query_params.getlist('t'); other.get('no')\n"
    )
    thing = tree.body[0]
    expected = [
        ["x", "positional"],
        ["y", "=positional"],
        ["rest", "*"],
        ["k", "keyword"],
        ["d", "=keyword"],
        ["more", "**"],
    ]
    assert vllm_signatures._parameters(thing.body[-1]) == expected
    assert vllm_signatures._fields(thing) == ["a"]
    assert dict(vllm_signatures._routes(tree)) == {"POST /p": ["k", "q", "t"]}
