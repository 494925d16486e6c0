"""What vLLM allows of a form, against what is recorded of it, in an environment of its own (`test_vllm_real.py`)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import vllm_models
import xgrammar
from chat_runs import run
from hypothesis import given, settings
from hypothesis import strategies as st
from test_choices_ids import FORMS, byte_level
from tokenizers import Tokenizer, decoders, models, normalizers
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast
from vllm_served import serving, training

from rlanything_agents.config import RunConfig
from rlanything_agents.engines.spellings import Spellings
from rlanything_agents.models.checkpoint import checkpoint_source
from rlanything_agents.reward_models.step_prompts import JUDGEMENT
from rlanything_agents.reward_models.unit_tests import CALL_FORM, FORM
from rlanything_agents.runs.folder import RunFolder
from rlanything_envs.llm.choices import PLAIN, Form, OneOf, Prose, Then, fitted, pattern
from rlanything_envs.llm.schema import form_of_schema

SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string", "maxLength": 40}, "score": {"enum": [1, -1]}},
    "required": ["reason", "score"],
}


def llama_pieces() -> PreTrainedTokenizerBase:
    """Pieces that begin with a mark for the blank before them, and bytes for other characters, as in Llama 2."""
    letters = [*PLAIN.replace(" ", "").replace("\n", ""), "▁"]
    words = ["▁t", "▁to", "go", "▁a", "ap", "▁ap", "▁c", "▁ca", '."', '",', "!▁"]
    special = ["<eos>", "<unk>", "<mark>"]
    pieces = dict.fromkeys([*special, *(f"<0x{byte:02X}>" for byte in range(256)), *letters, *words])
    merges = [(word[:-1], word[-1]) for word in words]
    model = models.BPE({piece: at for at, piece in enumerate(pieces)}, merges, unk_token="<unk>", byte_fallback=True)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(parts)
    tokenizer.add_special_tokens(special)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", unk_token="<unk>")


TOKENIZERS = {"bytes": byte_level, "pieces": llama_pieces}
PROSES = st.builds(lambda more, begun: Prose(more + begun, '\n\\"', begun), st.integers(0, 12), st.booleans())
PROSE_FORMS = st.builds(lambda before, prose, after: Then((before, prose, '"', after)), FORMS, PROSES, FORMS)


@cache
def grammars(kind: str) -> tuple[PreTrainedTokenizerBase, Spellings, Any, Any]:
    """A tokenizer, its spellings with one further end of a sequence, and the compiler that vLLM makes for it."""
    if kind == "smollm2":
        tokenizer = AutoTokenizer.from_pretrained(vllm_models.smollm2(), local_files_only=True)
    else:
        tokenizer = TOKENIZERS[kind]()
    stops = {tokenizer.eos_token_id, 1 if tokenizer.eos_token_id == 0 else 0}
    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
    compiler = xgrammar.GrammarCompiler(info, max_threads=1)
    return tokenizer, Spellings(tokenizer, stops), compiler, list(stops)


def same_sets(kind: str, form: Form, seed: int) -> None:
    """Assert that the ids that follow are those of vLLM's grammar, on a random way to the end."""
    tokenizer, forms, compiler, stops = grammars(kind)
    matcher = xgrammar.GrammarMatcher(compiler.compile_regex(pattern(form)), override_stop_tokens=stops)
    rng, ids, sets = np.random.default_rng(seed), list[int](), list[tuple[int, ...]]()
    while not matcher.is_terminated():
        bits = xgrammar.allocate_token_bitmask(1, len(tokenizer))
        matcher.fill_next_token_bitmask(bits)
        allowed = np.flatnonzero(np.unpackbits(bits.numpy().view(np.uint8), bitorder="little")[: len(tokenizer)])
        sets.append(tuple(allowed.tolist()))
        ids.append(int(rng.choice(allowed)))
        assert matcher.accept_token(ids[-1])
    assert forms.allowed(form, ids) == sets


@pytest.mark.parametrize("kind", sorted(TOKENIZERS))
@settings(max_examples=150, deadline=None)
@given(form=FORMS | PROSE_FORMS, seed=st.integers(0, 2**32 - 1))
def test_the_sets_of_random_forms_are_those_of_the_grammar(kind: str, form: Form, seed: int) -> None:
    same_sets(kind, form, seed)


@pytest.mark.parametrize(
    "form",
    [
        fitted(JUDGEMENT, 60),
        fitted(FORM, 60),
        fitted(CALL_FORM, 60),
        form_of_schema(SCHEMA),
        OneOf(("go to bed 1", "go to cabinet 14", "look")),
    ],
    ids=["judgement", "unit test", "call", "json", "commands"],
)
def test_the_sets_of_our_forms_are_those_of_the_grammar(form: Form) -> None:
    for seed in range(6):
        same_sets("smollm2", form, seed)


ITERATIONS = 5
ROUNDING = 1.65
"""Largest factor between the probabilities of a token by sampler and trainer in bfloat16 (docs/howto/losses.md)."""


def imitated(engine: dict[str, Any]) -> RunConfig:
    """A few updates of SmolLM2 as policy and as judge, after a short imitation, on so little that nothing is learnt."""
    model = {"checkpoint": "smollm2-135m", "dtype": "bfloat16", "lessons": True, "max_tokens": 32, "context": 2048}
    return RunConfig.model_validate(
        {
            "name": "forms",
            "seed": 0,
            "threads": 1,
            "environment": {"view": "short"},
            "iterations": ITERATIONS,
            "policy": model,
            "reward_model": model,
            "warm_start": {
                "demonstrations": 8,
                "max_steps": 30,
                "epochs": 1,
                "batch_size": 4,
                "judge_steps": 8,
                "judge_epochs": 1,
            },
            "rollout": {"tasks": 2, "rollouts": 3, "max_steps": 3},
            "judge": {"votes": 2, "steps": 4},
            "feedback": {"policy_band": None, "judge_band": None},
            "policy_trainer": {"learning_rate": 1e-5, "optimizer_steps": 1},
            "judge_trainer": {"learning_rate": 1e-5, "optimizer_steps": 1},
            "curriculum": {"pool_size": 4, "knobs": {"rooms": ["Bathroom"], "kinds": ["simple"]}},
            "evaluation": {"every": 100, "episodes": 2, "max_steps": 2, "judge_episodes": 2, "panels": ["valid_seen"]},
            "engine": engine,
        }
    )


def sampler_and_trainer_agree(folder: Path) -> None:
    """Assert that the sampler's probabilities are the trainer's up to rounding, of every token of every update."""
    rows = RunFolder(folder).rows()
    assert len(rows) == ITERATIONS
    for role in ("policy", "judge"):
        updates = [row[role] for row in rows if row[role].get("optimizer_steps")]
        print(role, [(round(update["sampler_ratio"], 3), update["tokens"]) for update in updates])
        assert len(updates) >= ITERATIONS // 2, "an iteration without spread has no update"
        assert max(update["sampler_ratio"] for update in updates) < ROUNDING
        assert not any(update["unknown"] for update in updates)


def test_smollm2_in_this_process(tmp_path: Path) -> None:
    engine = {"kind": "vllm"}
    run(imitated(engine), tmp_path / "run")
    sampler_and_trainer_agree(tmp_path / "run")


def test_smollm2_on_servers(tmp_path: Path) -> None:
    folder = checkpoint_source("smollm2-135m", "bfloat16")[0]
    servers = {role: training(folder, role, tmp_path / f"{role}.log", "bfloat16") for role in ("policy", "judge")}
    places = {role: {"base_url": server.base_url, "model": role} for role, server in servers.items()}
    with serving(*servers.values()):
        run(imitated({"kind": "vllm_server", **places}), tmp_path / "run")
    sampler_and_trainer_agree(tmp_path / "run")
