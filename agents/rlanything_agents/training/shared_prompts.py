"""Positions and attention masks of rows of several samples, and models that support them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import torch
from transformers import PreTrainedModel

from rlanything_agents.training.rows import Row

__all__ = ["attention_share", "layout", "restarts"]


def layout(
    rows: Sequence[Row], width: int, device: torch.device, *, masked: bool = True
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Compute positions of tokens and the attention mask between them.

    Args:
        rows: Rows of the batch.
        width: Columns; columns after the end of a row are padding, to which no token attends.
        device: Device of the model.
        masked: Whether attention needs the mask, see `restarts`.

    Returns:
        Positions, int64 of shape (rows, width), and mask, bool of shape (rows, width, width): whether the token of a
        column (second index) attends to that of another (third).
    """
    positions = torch.zeros((len(rows), width), dtype=torch.int64)
    for row, place in zip(rows, positions, strict=True):
        begin = 0
        for sample, kept in zip(row.samples, row.kept, strict=True):
            end = begin + len(sample) - kept
            place[begin:end] = torch.arange(kept, len(sample))
            begin = end
    return positions.to(device), _visible(rows, width).to(device) if masked else None


def _visible(rows: Sequence[Row], width: int) -> torch.Tensor:
    """Mask of `layout`."""
    visible = torch.eye(width, dtype=torch.bool).repeat(len(rows), 1, 1)  # a token that sees nothing has no softmax
    for row, seen in zip(rows, visible, strict=True):
        path: list[tuple[int, int]] = []  # columns of the latest sample, from its first token on
        begin = 0
        for sample, kept in zip(row.samples, row.kept, strict=True):
            end = begin + len(sample) - kept
            path = _first(path, kept)
            for first, after in path:
                seen[begin:end, first:after] = True
            seen[begin:end, begin:end] = torch.ones((end - begin, end - begin), dtype=torch.bool).tril()
            path.append((begin, end))
            begin = end
    return visible


def _first(path: Sequence[tuple[int, int]], tokens: int) -> list[tuple[int, int]]:
    """The first columns of a path of ranges."""
    found = []
    for begin, end in path:
        if tokens <= 0:
            break
        found.append((begin, min(end, begin + tokens)))
        tokens -= end - begin
    return found


def attention_share(model: PreTrainedModel) -> float | None:
    """Work of one token that attends to one other, as a share of its remaining work.

    Returns:
        None for a model without support for such masks: some of its layers do not attend to all earlier tokens, or it
        does not pass positions or masks unchanged to its attention.
    """
    config = model.config
    kinds = getattr(config, "layer_types", None)
    plain = (
        _takes_positions(model)
        and config._attn_implementation == "sdpa"  # takes boolean masks of any shape
        and (set(kinds) == {"full_attention"} if kinds else not getattr(config, "sliding_window", None))
    )
    # A block has 12 squares of the width as weights, two operations each, and attention takes 4 a width and pair.
    return 1 / (6 * config.hidden_size) if plain else None


def restarts(model: PreTrainedModel) -> bool:
    """Whether a model separates samples that stand end to end by their positions, which begin at 0 in each.

    FlashAttention does so without a mask, and with no more work than for separate rows.
    """
    return bool(
        _takes_positions(model)
        and model.config._attn_implementation == "flash_attention_2"
        and set(getattr(model.config, "layer_types", None) or ()) <= {"full_attention", "sliding_attention"}
    )


def _takes_positions(model: PreTrainedModel) -> bool:
    """Whether a model passes positions unchanged to its attention, and nothing else depends on the order of tokens."""
    config = model.config
    return bool(
        config.get_text_config() is config
        and getattr(config, "rope_parameters", None)
        and not getattr(model, "_is_stateful", False)
        and not getattr(config, "alibi", False)
        and "position_ids" in inspect.signature(type(model.get_decoder()).forward).parameters
    )
