"""Rows of forward passes.

Samples whose prompts begin alike share a row, so that what they share is computed once. With an attention that needs no
mask for it, samples stand end to end in place of padding.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rlanything_agents.engines.batching import common_prefix
from rlanything_agents.training.samples import Sample

__all__ = ["Row", "end_to_end", "joined", "micro_batches", "optimizer_batches", "prompt_rows"]


@dataclass(frozen=True, slots=True)
class Row:
    """Row of a forward pass: a tree of samples, or several that stand end to end.

    The first sample stands in the row as it is. Of each further one the row has what follows the beginning that it
    shares with the sample before, after a copy of the last shared token, so that the logits for every token are at the
    token before it; a sample that goes on where the one before ends needs no copy. The tokens of a sample attend to its
    own, and to nothing else in the row.

    Attributes:
        samples: The samples; at least one.
        shared: For each sample the tokens of its prompt that it shares with the sample before it in the row; 0 for the
            first of a tree.
    """

    samples: tuple[Sample, ...]
    shared: tuple[int, ...] = (0,)

    def __len__(self) -> int:
        return sum(len(sample) - kept for sample, kept in zip(self.samples, self.kept, strict=True))

    @property
    def kept(self) -> Iterator[int]:
        """For each sample the number of its tokens that are in the row before it."""
        before = 0
        for sample, shared in zip(self.samples, self.shared, strict=True):
            yield _kept(shared, before)
            before = len(sample)

    @property
    def prompt_ids(self) -> list[int]:
        """Prompt of the first sample, with which the row begins."""
        return self.samples[0].prompt_ids

    @property
    def ids(self) -> list[int]:
        """All tokens of the row."""
        return [
            token
            for sample, kept in zip(self.samples, self.kept, strict=True)
            for token in (*sample.prompt_ids[kept:], *sample.completion_ids)
        ]

    @property
    def places(self) -> Iterator[tuple[int, Sample]]:
        """Samples, each with the column of its first completion token."""
        end = 0
        for sample, kept in zip(self.samples, self.kept, strict=True):
            end += len(sample) - kept
            yield end - len(sample.completion_ids), sample

    def silent(self) -> Row:
        """Copy of the row with all weights 0."""
        silent = tuple(replace(sample, weights=[0.0] * len(sample.weights)) for sample in self.samples)
        return Row(silent, self.shared)


def _kept(shared: int, before: int) -> int:
    """Tokens of a sample that need not be repeated, if it shares so many with the ``before`` tokens of another one."""
    return shared if shared in (0, before) else shared - 1


def optimizer_batches(samples: Sequence[Sample], steps: int, rng: np.random.Generator) -> list[list[Sample]]:
    """Shuffle the samples and split them into one batch per optimizer step.

    Samples without weight are left out; with fewer samples than steps there are fewer batches. Samples that share most
    of their tokens, such as the votes on one long prompt or the turns of one episode, follow each other in the shuffled
    order, so that few of them are separated and what they share is computed once.
    """
    useful = [sample for sample in samples if any(sample.weights)]
    shuffled = [useful[k] for k in rng.permutation(len(useful))]
    families: dict[int | tuple[int, ...], list[int]] = {}
    for rank, sample in enumerate(shuffled):
        families.setdefault(tuple(sample.prompt_ids) if sample.episode is None else sample.episode, []).append(rank)
    place = list(range(len(shuffled)))
    for ranks in families.values():
        own = [shuffled[rank] for rank in ranks]
        if len(own) > 1 and TOGETHER * len(joined(own)) <= sum(map(len, own)):
            for rank in ranks:
                place[rank] = ranks[0]
    order = np.argsort(place, kind="stable")
    return [[shuffled[k] for k in part] for part in np.array_split(order, min(steps, len(order)) or 1) if len(part)]


TOGETHER = 1.3
"""Samples stay together if their tokens are at least this many times those of a row that shares what they share."""


def prompt_rows(batch: Sequence[Sample], tokens: int, attention: float | None) -> list[Row]:
    """Join samples whose prompts begin alike into rows where that is less work.

    Attention in a row of several samples computes all pairs of tokens, masked pairs included. So a few long
    completions of a short prompt are computed separately.

    Args:
        batch: Samples of one optimizer step.
        tokens: Maximum tokens of a row of several samples.
        attention: Work of one token that attends to one other, as a share of its remaining work; None = join nothing.
    """
    if attention is None:
        return [Row((sample,)) for sample in batch]
    rows: list[Row] = []
    row: list[Sample] = []
    shared, length, work = list[int](), 0, 0.0
    for sample, same in _ordered(batch):
        alone = _work(len(sample), attention, several=False)
        if row and same:
            grown = length + len(sample) - _kept(same, len(row[-1]))
            together = _work(grown, attention, several=True)
            if grown <= min(tokens, MOST) and together < work + alone:
                row.append(sample)
                shared.append(same)
                length, work = grown, together
                continue
        if row:
            rows.append(Row(tuple(row), tuple(shared)))
        row, shared, length, work = [sample], [0], len(sample), alone
    return [*rows, Row(tuple(row), tuple(shared))] if row else rows


MOST = 2**14
"""Maximum tokens of a row of several samples: its mask has their square, 0.25 GiB, and attention a copy of it."""
WORTH = 0.9
"""Speed of attention with a mask, as a share of that without."""


def _work(length: int, attention: float, *, several: bool) -> float:
    """Work of a row, in units of one token without attention."""
    # Causal attention leaves out half of the pairs.
    return length * (1 + attention * length) / WORTH if several else length * (1 + attention * length / 2)


def _ordered(samples: Sequence[Sample]) -> Iterator[tuple[Sample, int]]:
    """Samples in the order of their prompts, each with the number of prompt tokens that it shares with the one before.

    Neighbours in this order share the most.
    """
    before: list[int] = []
    for sample in sorted(samples, key=lambda sample: (_sortable(sample.prompt_ids), len(sample.completion_ids))):
        yield sample, common_prefix(before, sample.prompt_ids)
        before = sample.prompt_ids + sample.completion_ids


def _sortable(ids: Sequence[int]) -> bytes:
    """Bytes in the order of the ids."""
    return np.array(ids, dtype=">u4").tobytes()


def joined(samples: Sequence[Sample]) -> Row:
    """Make one row of all samples."""
    ordered, shared = zip(*_ordered(samples), strict=True)
    return Row(ordered, shared)


def end_to_end(batch: Sequence[Sample], tokens: int, processes: int = 1) -> list[list[Row]]:
    """Put samples end to end into rows, so that passes need no padding.

    Each sample goes, the longest first, to the row with the fewest tokens: processes wait for each other.

    Args:
        batch: Samples of one optimizer step.
        tokens: Maximum tokens of a row of several samples.
        processes: Number of processes.

    Returns:
        For each pass a row for each process; the last may have fewer.
    """
    ordered = sorted(batch, key=len, reverse=True)
    number = processes * math.ceil(sum(map(len, batch)) / (tokens * processes))
    while True:
        rows: list[list[Sample]] = [[] for _ in range(min(number, len(ordered)))]
        lengths = [(0, k) for k in range(len(rows))]
        for sample in ordered:
            length, k = lengths[0]
            rows[k].append(sample)
            heapq.heapreplace(lengths, (length + len(sample), k))
        if all(len(row) == 1 or sum(map(len, row)) <= tokens for row in rows):
            break
        number += processes
    made = sorted((Row(tuple(row), (0,) * len(row)) for row in rows), key=len, reverse=True)
    return [made[k : k + processes] for k in range(0, len(made), processes)]


def micro_batches(rows: Sequence[Row], tokens: int, processes: int = 1) -> list[list[Row]]:
    """Group rows of similar length into passes, padded to the longest row.

    Rows of one sample and rows of several are in separate groups: the former need no attention mask.

    Args:
        rows: Rows of one optimizer step.
        tokens: Maximum tokens of a pass in each process, padding included (single rows may have more).
        processes: Processes that share the rows of each group equally; a group has at least a row for each, as long as
            there are enough.
    """
    groups: list[list[Row]] = []
    for row in sorted(rows, key=lambda row: (len(row.samples) > 1, len(row)), reverse=True):
        group = groups[-1] if groups else []
        each, more = divmod(len(group), processes)
        alike = group and (len(group[0].samples) > 1) == (len(row.samples) > 1)
        if alike and (more or len(group[0]) * (each + 1) <= tokens):
            group.append(row)
        else:
            groups.append([row])
    return groups
