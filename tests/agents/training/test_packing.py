"""Samples that stand end to end in place of padding: the update stays that of samples in rows of their own."""

import copy
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import test_shared_prompts as shared
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import PreTrainedModel, modeling_flash_attention_utils
from transformers.modeling_flash_attention_utils import prepare_fa_kwargs_from_position_ids

from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.training.rows import end_to_end
from rlanything_agents.training.samples import Sample
from rlanything_agents.training.shared_prompts import layout
from rlanything_agents.training.trainer import SampleTrainer

UNEQUAL = [(3, 1), (7, 2), (30, 1), (1, 1), (14, 1), (19, 1)]
"""Prompts of samples, mostly of one each."""
OPTIONS: dict[str, dict[str, Any]] = {"kl": {"beta": 0.05}, "corrected": {"importance_sampling_mode": "token_truncate"}}


def passes(model: PreTrainedModel) -> list[tuple[int, ...]]:
    """Shapes of the inputs of the model, as they come."""
    shapes: list[tuple[int, ...]] = []
    model.get_input_embeddings().register_forward_pre_hook(lambda _, given: shapes.append(tuple(given[0].shape)))
    return shapes


@pytest.mark.parametrize(("kind", "constrained"), [("qwen3", True), ("llama", False)])
@pytest.mark.parametrize("case", OPTIONS)
def test_the_update_is_that_of_rows_on_their_own(kind: str, constrained: bool, case: str) -> None:
    """PyTorch's attention separates samples by their positions, too: transformers makes its mask of them."""
    base = shared.MODELS[kind]()
    made = shared.build_votes(base, UNEQUAL, constrained)
    shared.agree(base, made, restarts=True, micro_batch_tokens=60, **OPTIONS[case])


@given(
    prompts=st.lists(st.tuples(st.integers(1, 24), st.integers(1, 3)), min_size=1, max_size=5),
    constrained=st.booleans(),
    tokens=st.sampled_from([1, 40, 2048]),
    seed=st.integers(0, 99),
)
@settings(max_examples=8, deadline=None)
def test_random_batches(prompts: list[tuple[int, int]], constrained: bool, tokens: int, seed: int) -> None:
    base = shared.build_llama()
    made = shared.build_votes(base, prompts, constrained, seed)
    shared.agree(base, made, restarts=True, micro_batch_tokens=tokens, optimizer_steps=1 + seed % 2)


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float) -> torch.Tensor:
    q, k, v = (part.transpose(-3, -2) for part in (q, k, v))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale, enable_gqa=True)
    return out.transpose(-3, -2)


def test_flash_attention_restarts_where_samples_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real dispatch of transformers; in place of the kernels, which need a GPU, a loop over the sequences they get."""
    sequences: list[int] = []

    def varlen(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **given: Any) -> torch.Tensor:
        borders = given["cu_seqlens_q"].tolist()
        sequences.append(len(borders) - 1)
        return torch.cat([attend(*(part[a:b] for part in (q, k, v)), given["scale"]) for a, b in pairwise(borders)])

    functions = (lambda *qkv, **given: attend(*qkv, given["scale"]), varlen, None, None, None)
    monkeypatch.setattr(
        modeling_flash_attention_utils,
        "lazy_import_flash_attention",
        lambda *_, **__: (functions, lambda **given: {"scale": given["softmax_scale"]}),
    )
    base = shared.build_llama()
    made = shared.build_votes(base, UNEQUAL)
    flash = copy.deepcopy(base)
    flash.config._attn_implementation = "flash_attention_2"
    config = TrainerConfig(learning_rate=1e-3, optimizer_steps=1, epsilon=1e-4)
    trainers = [SampleTrainer(model, shared.TOKENIZER, config) for model in (base, flash)]
    trainers[0]._attention = None
    assert [trainer._restarts for trainer in trainers] == [False, True]
    shapes = passes(flash)
    stats = [trainer.update(made) for trainer in trainers]
    assert shapes == [(1, sum(map(len, made)))], "one pass, no padding"
    assert set(sequences) == {len(made)}
    shared.same(*stats)
    assert shared.trainers.distance(base, flash) < 1e-5


@given(lengths=st.lists(st.integers(2, 9), min_size=2, max_size=6))
def test_positions_are_borders(lengths: list[int]) -> None:
    samples = [Sample([7] * (length - 1), [9], [1.0], [1.0], [-1.0]) for length in lengths]
    ((row,),) = end_to_end(samples, 100)
    positions, mask = layout([row], len(row), torch.device("cpu"), masked=False)
    assert mask is None
    (borders, _), (longest, _) = prepare_fa_kwargs_from_position_ids(positions)
    assert borders.tolist() == [0, *np.cumsum(sorted(lengths, reverse=True)).tolist()]
    assert int(longest) == max(lengths)


def test_only_logits_of_learnt_tokens_are_computed() -> None:
    base = shared.build_llama()
    made = shared.build_votes(base, UNEQUAL)
    computed: list[int] = []
    base.lm_head.register_forward_hook(lambda _, __, logits: computed.append(logits[..., 0].numel()))
    trainer = SampleTrainer(base, shared.TOKENIZER, TrainerConfig(optimizer_steps=1))
    trainer._restarts = True  # one row: padded ones have logits where any of them has a learnt token
    trainer.update(made)
    assert sum(computed) == sum(np.count_nonzero(sample.weights) for sample in made)
