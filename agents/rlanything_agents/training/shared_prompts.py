"""Positions and attention masks of rows with several completions after one prompt, and models that support them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import torch
from transformers import PreTrainedModel

from rlanything_agents.training.samples import Row

__all__ = ["attention_share", "layout"]


def layout(rows: Sequence[Row], width: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute positions of tokens and the attention mask between them.

    Args:
        rows: Rows of the batch.
        width: Columns; columns after the end of a row are padding, to which no token attends.
        device: Device of the model.

    Returns:
        Positions, int64 of shape (rows, width), and mask, bool of shape (rows, width, width): whether the token of a
        column (second index) attends to that of another (third).
    """
    shared = torch.tensor([[len(row.prompt_ids) - 1] for row in rows])
    starts = torch.arange(width).repeat(len(rows), 1)
    for i, row in enumerate(rows):
        starts[i, : len(row.prompt_ids)] = len(row.prompt_ids) - 1
        for begin, sample in row.places:
            starts[i, begin - 1 : begin + len(sample.completion_ids)] = begin - 1
    shared, starts = shared.to(device), starts.to(device)
    columns = torch.arange(width, device=device)
    own = columns >= starts[:, :, None]
    return columns - starts + shared, (columns <= columns[:, None]) & (own | (columns < shared[:, None]))


def attention_share(model: PreTrainedModel) -> float | None:
    """Work of one token that attends to one other, as a share of its remaining work.

    Returns:
        None for a model without support for such masks: some of its layers do not attend to all earlier tokens, or it
        does not pass positions or masks unchanged to its attention.
    """
    config = model.config
    kinds = getattr(config, "layer_types", None)
    plain = (
        config.get_text_config() is config
        and getattr(config, "rope_parameters", None)
        and config._attn_implementation == "sdpa"  # takes boolean masks of any shape
        and not getattr(model, "_is_stateful", False)
        and not getattr(config, "alibi", False)
        and (set(kinds) == {"full_attention"} if kinds else not getattr(config, "sliding_window", None))
        and "position_ids" in inspect.signature(type(model.get_decoder()).forward).parameters
    )
    # A block has 12 squares of the width as weights, two operations each, and attention takes 4 a width and pair.
    return 1 / (6 * config.hidden_size) if plain else None
