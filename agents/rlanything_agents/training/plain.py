"""The update in plain PyTorch, one unpadded row at a time: short, and the reference of every other trainer."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
import torch
from transformers import PreTrainedModel

from rlanything_agents.config.trainer import MAX_GRAD_NORM, MOST_IMPORTANCE, TrainerConfig
from rlanything_agents.models.image_reader import image_inputs
from rlanything_agents.training.aggregation import OUTSIDE, aggregated, answers_of
from rlanything_agents.training.mismatch import FARTHEST
from rlanything_agents.training.rows import optimizer_batches
from rlanything_agents.training.samples import Sample, check_vocabulary
from rlanything_agents.training.update import UpdateStats


class PlainTrainer:
    """The same updates as `rlanything_agents.training.trainer.SampleTrainer` without TRL (one process, no dropout)."""

    def __init__(self, model: PreTrainedModel, config: TrainerConfig, seed: int = 0, longest: int = 512) -> None:
        self.model, self.config, self.updates = model, config, 0
        self._seed, self._longest = seed, longest
        self.optimizer = self._fresh_optimizer()

    def update(self, samples: Sequence[Sample], rate: float = 1.0) -> UpdateStats:
        """Train on the samples; see `UpdateStats`."""
        start, config = time.perf_counter(), self.config
        check_vocabulary(samples, self.model.config.get_text_config().vocab_size)
        rng = np.random.default_rng([self._seed, self.updates])
        batches = optimizer_batches(samples, config.optimizer_steps, rng)
        if config.fresh_optimizer:
            self.optimizer = self._fresh_optimizer()
        for group in self.optimizer.param_groups:
            group["lr"] = rate * config.learning_rate
        weighted = [aggregated(batch, config.loss, self._longest) for batch in batches]
        compared = weighted if config.recomputes else weighted[:1]
        mismatch = self._mismatch([sample for batch, _ in compared for sample in batch])
        before = [[self._before(sample) for sample in batch] for batch, _ in weighted]
        steps, sums = list[tuple[float, float]](), np.zeros(4)
        for (batch, divisor), scored in zip(weighted, before, strict=True):
            loss = 0.0
            self.optimizer.zero_grad()
            for sample, (old, correction) in zip(batch, scored, strict=True):
                row_loss, row_sums = self._row(sample, old, correction)
                torch.autograd.backward(row_loss / divisor)
                loss += row_loss.item() / divisor
                sums += row_sums
            steps.append((loss, float(torch.nn.utils.clip_grad_norm_(self.model.parameters(), MAX_GRAD_NORM))))
            self.optimizer.step()
        self.updates += 1
        kl, clipped, entropy = map(float, sums[1:] / max(sums[0], 1e-12))
        return UpdateStats.of_steps(samples, steps, start, kl=kl, clip_fraction=clipped, entropy=entropy, **mismatch)

    def answer_gradients(self, sample: Sample, factors: torch.Tensor | None = None) -> torch.Tensor:
        """Gradients of the weighted log-probability of each answer of a row, shape (answers, trained weights).

        They make up the gradient of an update: where the ratios are 1, as in its first optimizer step, the gradient of
        the loss ``grpo`` is minus the sum of advantage times row over the answers, divided by their number.

        Args:
            sample: The row; its advantages have no part in it.
            factors: Shape (rows, answers): sums of the gradients with these factors, shape (rows, trained weights).
        """
        sampled, device = _sampled(sample), self.model.device
        numbers = torch.tensor([answer for answer in answers_of(sample) if answer != OUTSIDE], device=device)
        chosen = torch.tensor(sample.completion_ids, device=device)[sampled, None]
        logprobs = self._logprobs(self.model, sample)[sampled].gather(1, chosen)[:, 0]
        weighted = torch.tensor(sample.weights, device=device)[sampled] * logprobs
        answers = torch.zeros(int(numbers.max()) + 1, device=device).index_add(0, numbers, weighted)
        weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        factors = torch.eye(len(answers), device=device) if factors is None else factors
        rows = torch.autograd.grad(answers, weights, factors, is_grads_batched=True)
        return torch.cat([row.flatten(1) for row in rows], dim=1)

    def _before(self, sample: Sample) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities of the sampled tokens before the update, and the factors of the correction."""
        config, sampler = self.config, torch.tensor(sample.logprobs)[_sampled(sample)]
        if not config.recomputes:
            return sampler, torch.ones_like(sampler)
        old = self._chosen(sample)
        if config.importance_sampling_mode is None:
            return old, torch.ones_like(old)
        ratio = (old - sampler).exp()
        if config.importance_sampling_mode == "token_mask":
            return old, torch.where(ratio <= MOST_IMPORTANCE, ratio, 0.0)
        return old, ratio.clamp(max=MOST_IMPORTANCE)

    def _mismatch(self, samples: Sequence[Sample]) -> dict[str, float]:
        """Divergence of the trainer's policy from the sampler's at temperature 1; see `UpdateStats`."""
        sums, farthest = np.zeros(4), 0.0
        for sample in samples:
            sampled = _sampled(sample)
            weights, sampler = torch.tensor(sample.weights)[sampled], torch.tensor(sample.logprobs)[sampled]
            away = (self._chosen(sample) - sampler).clamp(-FARTHEST, FARTHEST)
            outside = torch.zeros_like(away)
            if self.config.importance_sampling_mode is not None:
                outside = (away.exp() > MOST_IMPORTANCE).float()
            terms = (torch.ones_like(away), away.exp() - away - 1, (away.exp() - 1) ** 2, outside)
            sums += [float((weights * term).sum()) for term in terms]
            farthest = max(farthest, float(away.abs().max()))
        kl, chi2, outside_share = sums[1:] / max(sums[0], 1e-12)
        return {
            "sampler_kl": float(kl),
            "sampler_chi2": float(chi2),
            "sampler_ratio": math.exp(farthest),
            "corrected": float(outside_share),
        }

    def _chosen(self, sample: Sample) -> torch.Tensor:
        """Log-probabilities of the sampled tokens by the current weights, without a gradient."""
        with torch.no_grad():
            everything = self._logprobs(self.model, sample)
            return everything.gather(1, torch.tensor(sample.completion_ids)[:, None])[_sampled(sample), 0]

    def _row(self, sample: Sample, old: torch.Tensor, correction: torch.Tensor) -> tuple[torch.Tensor, list[float]]:
        """Weighted sum of one row's token losses, and sums of its weights, KL, clipping and entropy.

        Args:
            sample: The row.
            old: Log-probabilities of its sampled tokens before the update.
            correction: Factors of the loss of each of these tokens.
        """
        config, device = self.config, self.model.device
        sampled = _sampled(sample)
        weights, advantages = (
            torch.tensor(column, device=device)[sampled] for column in (sample.weights, sample.advantages)
        )
        everything = self._logprobs(self.model, sample)[sampled]
        chosen = torch.tensor(sample.completion_ids, device=device)[sampled, None]
        new = everything.gather(1, chosen)[:, 0]
        ratio = (new - old).exp()
        clipped = ratio.clamp(1 - config.clip, 1 + config.highest)
        gain = torch.min(ratio * advantages, clipped * advantages)
        is_clipped = torch.where(advantages > 0, ratio > 1 + config.highest, ratio < 1 - config.clip)
        kl = _k3(old, new)
        loss = -correction * gain + config.beta * kl
        with torch.no_grad():
            is_clipped &= advantages != 0
            entropy = torch.special.entr(everything.exp()).sum(-1)
            terms = (torch.ones_like(kl), kl, is_clipped, entropy)
            sums = [float((weights * x).sum()) for x in terms]
        return (weights * loss).sum(), sums

    def _logprobs(self, model: PreTrainedModel, sample: Sample) -> torch.Tensor:
        """Log-probabilities of all tokens, shape (completion, vocabulary); minus infinity where not allowed."""
        logits = self._logits(model, sample)[len(sample.prompt_ids) - 1 : -1].float()
        for t, choice in enumerate(sample.allowed or ()):
            if choice:
                forbidden = torch.ones(logits.shape[1], dtype=torch.bool, device=logits.device)
                forbidden[list(choice)] = False
                logits[t] = logits[t].masked_fill(forbidden, -torch.inf)
        logprobs: torch.Tensor = logits.log_softmax(-1)
        return logprobs

    def _logits(self, model: PreTrainedModel, sample: Sample) -> torch.Tensor:
        """Logits after each token of a row, shape (tokens, vocabulary)."""
        ids = torch.tensor([sample.prompt_ids + sample.completion_ids], device=model.device)
        logits: torch.Tensor = model(ids, **image_inputs(model, ids, sample.images)).logits
        return logits[0]

    def _fresh_optimizer(self) -> torch.optim.AdamW:
        config = self.config
        trainable = [weight for weight in self.model.parameters() if weight.requires_grad]
        return torch.optim.AdamW(
            trainable, lr=config.learning_rate, betas=config.betas, eps=config.epsilon, weight_decay=0.0
        )


def _sampled(sample: Sample) -> torch.Tensor:
    """Whether a token has a weight, bool of shape (completion,)."""
    return torch.tensor(sample.weights) > 0


def _k3(reference: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """k3 estimate of the KL divergence to a reference, from log-probabilities of the same tokens."""
    return (reference - new).exp() - (reference - new) - 1
