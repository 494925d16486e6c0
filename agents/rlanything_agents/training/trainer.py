"""TRL's `GRPOTrainer` on our samples: our loop chooses the training data, TRL computes the loss and takes the steps.

Only `grpo_settings` imports TRL, which takes seconds.

An item of the data loader is one *optimizer step*: a list of micro-batches of similar length. Samples of a step whose
prompts begin alike share a row, so that what they share is computed once. TRL multiplies its completion mask with
``tool_mask``; a real-valued one carries the samples' weights into its loss. With ``loss_type="dapo"`` the divisor is an
input too, so every micro-batch divides by the divisor of its whole optimizer step, and the gradient is that of
``sum(weight * loss) / divisor`` for every division into micro-batches. The losses to choose from differ in weights and
divisor (`rlanything_agents.training.aggregation`).
"""

from __future__ import annotations

import copy
import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import DistributedType
from datasets import Dataset
from torch.distributed.fsdp import MixedPrecisionPolicy
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, PreTrainedTokenizerBase, PrinterCallback

from rlanything_agents.config.trainer import MOST_SAMPLER_RATIO, TrainerConfig
from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.models.image_reader import whole_model
from rlanything_agents.models.master_weights import MasterAdamW, move_state
from rlanything_agents.models.pretrained import trained
from rlanything_agents.training.aggregation import aggregated
from rlanything_agents.training.errors import TrainingError
from rlanything_agents.training.grpo_settings import GRPOTrainer, grpo_settings, no_reward
from rlanything_agents.training.mismatch import importance_ratio
from rlanything_agents.training.padded import MicroBatch, Padded
from rlanything_agents.training.ranks.launch import launched
from rlanything_agents.training.ranks.sharding import (
    average_gradients,
    optimizer_state,
    read_state,
    restore,
    whole_weights,
    write_state,
)
from rlanything_agents.training.rows import end_to_end, micro_batches, optimizer_batches, prompt_rows
from rlanything_agents.training.samples import Sample, check_vocabulary, trimmed
from rlanything_agents.training.shared_prompts import attention_share, restarts
from rlanything_agents.training.tallies import Tallies, k3
from rlanything_agents.training.update import UpdateStats
from rlanything_envs.llm.errors import RunMustStop

__all__ = ["SampleTrainer"]


HOST = torch.device("cpu")
"""Where the optimizer state of a trainer rests."""


class SampleTrainer(GRPOTrainer):  # type: ignore[misc]
    """Trainer of one model on `Sample` rows, with TRL.

    The model is trained in place and may generate between updates. Global random states are left unchanged, by
    the constructor too (TRL re-seeds them).

    Args:
        model: Causal language model; it stays on its device.
        tokenizer: Tokenizer of the model (TRL needs the padding and end tokens).
        config: See `TrainerConfig`.
        seed: Seed of the split of the samples, and of dropout, where a model has it.
        longest: Maximum tokens of an answer, by which the loss ``dr_grpo`` divides.

    Raises:
        TrainingError: The trainer does not support the sharding strategy of accelerate for this model.
    """

    optimizer: Any
    _padded: Padded
    """Inputs of the forward pass under way."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        config: TrainerConfig,
        seed: int = 0,
        longest: int = 512,
    ) -> None:
        sharding = launched().strategy == "fsdp"  # such a model waits on the CPU until it is sharded
        on_cpu = model.device.type == "cpu" and not (sharding and torch.cuda.is_available())
        settings = model.config.get_text_config()
        use_cache = settings.use_cache
        learning = [(weight, weight.data) for weight in model.parameters() if weight.requires_grad]
        with _preserved_rng(), tempfile.TemporaryDirectory() as nothing_is_written_here:
            super().__init__(
                model=model,
                reward_funcs=no_reward,
                args=grpo_settings(config, seed, nothing_is_written_here, on_cpu),
                train_dataset=Dataset.from_dict({"prompt": [""]}),
                processing_class=tokenizer,
            )
        for weight, exact in learning:
            if weight.dtype != exact.dtype:  # TRL rounds adapters of 4-bit models to bfloat16
                weight.data = exact.to(weight.device)
        types = {weight.dtype for weight in model.parameters() if weight.requires_grad}
        if self.accelerator.distributed_type in (DistributedType.FSDP, DistributedType.DEEPSPEED):
            self._check_strategy(types)
        settings.use_cache = use_cache  # transformers turns it off for good, and generation with it
        self.remove_callback(PrinterCallback)
        self.sample_config = config
        self._seed, self._longest = seed, longest
        self.updates, self._unchecked = 0, True
        self._rate = 1.0
        self._batches: list[tuple[list[Sample], float]] = []
        self._before: list[MicroBatch] = []
        base = whole_model(model)
        self._attention, self._restarts = attention_share(base), restarts(base)
        self._steps: list[tuple[float, float]] = []
        self._tallies = Tallies()
        self._pull: torch.Tensor | None = None
        self._low = next(iter(types - {torch.float32}), None)
        self._whole: dict[str, torch.Tensor] | None = None
        self._to_shard: Path | None = None
        self._resting = False
        self._plugin: Any = copy.copy(getattr(self.accelerator.state, "fsdp_plugin", None))
        self._training_forward: Any = None
        self._swap_forward()

    def update(self, samples: Sequence[Sample], rate: float = 1.0) -> UpdateStats:
        """Train the model in place: one step of AdamW for each batch of a shuffled split of the samples.

        Args:
            samples: Training data.
            rate: Share of the peak learning rate.

        Raises:
            TrainingError: A token id is outside the vocabulary.
            RunMustStop: At the run's first optimizer step a token has a probability by the sampler that is more than
                `MOST_SAMPLER_RATIO` times that by the trainer, or less than one over that; no weight has
                changed.
            TrainingError: The loss or the gradient is not finite.
        """
        start, config = time.perf_counter(), self.sample_config
        self._rate = rate
        check_vocabulary(samples, self.model.config.get_text_config().vocab_size)
        seeds = np.random.SeedSequence([self._seed, self.updates])
        batches = optimizer_batches(samples, config.optimizer_steps, np.random.default_rng(seeds))
        self._batches = [
            aggregated([trimmed(sample) for sample in batch], config.loss, self._longest) for batch in batches
        ]
        self._steps, self._tallies = [], Tallies()
        if config.fresh_optimizer:
            self._forget_moments()
        if self._resting and self.optimizer is not None:
            move_state(self._plain_optimizer(), self.accelerator.device)
        self._resting = False
        if self._batches:
            was_training = self.model.training
            with _preserved_rng():
                torch.manual_seed(int(seeds.generate_state(1)[0]))
                self._swap_forward()
                try:
                    self.train()
                finally:
                    self._swap_forward()
                    self.model.train(was_training)
            if self.accelerator.is_fsdp2:
                self._whole = whole_weights(trained(self.model, self.model.state_dict()), self._low)
        self.updates += 1
        self._batches = []
        return UpdateStats.of_steps(samples, self._steps, start, **self._tallies.means(self.accelerator))

    @property
    def sharded(self) -> bool:
        """Whether the model is sharded over the processes now; with FSDP it is from its first update on."""
        return self._whole is not None

    def weights(self) -> dict[str, torch.Tensor]:
        """Trained weights of the model by name: all weights, or the adapters.

        For a sharded model they are copies from after the last update, in the leading process only.
        """
        return trained(self.model, self.model.state_dict() if self._whole is None else self._whole)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Number of updates and optimizer state: with the model's weights, all that the next update needs.

        Those of a sharded model are the shards of this process, see `optimizer_state`.
        """
        state = {"updates": torch.tensor(self.updates)}
        if self.optimizer is not None:
            masters = self.sharded and self._low is not None
            state |= optimizer_state(self.model, self._plain_optimizer(), masters=masters)
        return state

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Continue from a `state_dict` of a model that is not sharded: the next update is the one that would have
        followed there.

        Raises:
            ValueError: It is the state of another model.
        """
        self.updates, self.optimizer = int(state["updates"]), None
        if len(state) > 1:
            self._unchecked = False
            self.create_optimizer()
            restore(self.model, self._plain_optimizer(), state)

    def save(self, folder: Path) -> None:
        """Store the `state_dict` in a folder; for a sharded model all processes call this, and each stores its part.

        Raises:
            TrainingError: A process does not see the folder.
            OSError: It cannot be written.
        """
        if self._to_shard is None:
            write_state(folder, self.state_dict(), together=self.sharded)
        else:  # nothing has changed since it was loaded
            shutil.copytree(self._to_shard, folder, dirs_exist_ok=True)

    def load(self, folder: Path) -> None:
        """Continue from a folder of `save`, of any number of processes.

        Raises:
            CheckpointError: The folder holds no state of this model.
            TrainingError: The model is sharded already.
        """
        if self.sharded:
            raise TrainingError("a model that is sharded over processes takes no other state: load before its updates")
        if self.accelerator.is_fsdp2:
            self._to_shard = folder  # each process reads its part when the model is sharded
            self.updates, self.optimizer = int(read_state(folder, only="updates")["updates"]), None
            self._unchecked = not self.updates
            return
        try:
            self.load_state_dict(read_state(folder))
        except ValueError as error:
            raise CheckpointError(f"{folder}: {error}: go back a checkpoint") from error

    def rest(self) -> None:
        """Move the optimizer state to the host's memory until the next update. Shards (FSDP2) stay where they are."""
        if self.optimizer is not None and not self.accelerator.is_fsdp2 and not self._resting:
            move_state(self._plain_optimizer(), HOST)
            self._resting = True

    def _check_strategy(self, types: set[torch.dtype]) -> None:
        """Check the sharding strategy of accelerate.

        Args:
            types: Precisions of the trained weights.

        Raises:
            TrainingError: The strategy is not FSDP2, or trained weights are of several precisions.
        """
        if not self.accelerator.is_fsdp2:
            raise TrainingError(
                f"{self.accelerator.distributed_type.value}, as launched, is not supported by this trainer: "
                "use FSDP2 (configs/accelerate/fsdp2.yaml)"
            )
        if len(types) > 1:
            raise TrainingError(
                f"trained weights of {' and '.join(sorted(map(str, types)))} cannot be sharded together: store the "
                "checkpoint in one precision"
            )

    def _own_plugin(self) -> Any:
        """FSDP plugin of this model.

        Accelerate keeps one plugin for all models and records in it the layers of the first one. In a model that is
        sharded already it would find no layers, so wrapping is off there. Weights of lower precision are sharded as
        float32 and computed with in their own precision; their gradients are summed in float32.
        """
        plugin = copy.copy(self._plugin)
        if self._low:
            plugin.mixed_precision_policy = MixedPrecisionPolicy(param_dtype=self._low, reduce_dtype=torch.float32)
        if self.sharded:
            plugin.auto_wrap_policy, plugin.activation_checkpointing = None, False
        return plugin

    @property
    def _keeps_masters(self) -> bool:
        """Whether the optimizer keeps float32 copies of weights of lower precision; shards are float32 themselves."""
        return self._low is not None and not self.accelerator.is_fsdp2

    def _plain_optimizer(self) -> torch.optim.Optimizer:
        """Optimizer without accelerate's wrapper."""
        plain: torch.optim.Optimizer = getattr(self.optimizer, "optimizer", self.optimizer)
        return plain

    # The methods below override hooks of TRL and transformers.

    def _prepare_for_training(self, *args: Any, **kwargs: Any) -> Any:
        """Prepare model and optimizer as transformers does, then shard a loaded optimizer state like the model."""
        if self.accelerator.is_fsdp2:
            self.accelerator.state.fsdp_plugin = self._own_plugin()
        prepared = super()._prepare_for_training(*args, **kwargs)
        if self._low and self.accelerator.is_fsdp2 and not self.sharded:
            self.model.float()  # shards alone: no process has the whole model in float32
        if self._to_shard is not None:
            only = ".master" if self.sample_config.fresh_optimizer else ""
            state = read_state(self._to_shard, dict(self.model.named_parameters()), only=only)
            restore(self.model, self._plain_optimizer(), state)
            self._to_shard = None
        return prepared

    def create_optimizer(self, model: Any = None) -> Any:
        """Make AdamW, with fp32 master weights for weights of lower precision."""
        if self._keeps_masters:
            _, settings = self.get_optimizer_cls_and_kwargs(self.args, self.model)
            self.optimizer_cls_and_kwargs = MasterAdamW, settings
        return super().create_optimizer(model)

    def _forget_moments(self) -> None:
        """Start over with the optimizer, except for its float32 master weights."""
        if self._keeps_masters and self.optimizer is not None:
            self._plain_optimizer().forget_moments()  # type: ignore[attr-defined]
        else:
            self.optimizer = None

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Make a loader with one item per optimizer step: this process's share of its micro-batches."""
        steps: Any = [self._share(batch, divisor) for batch, divisor in self._batches]
        self._before = [micro for step in steps for micro in step] if self.sample_config.recomputes else []
        return DataLoader(steps, batch_size=None, collate_fn=_as_is)

    def _share(self, batch: list[Sample], divisor: float) -> list[MicroBatch]:
        """Rows of each micro-batch for this process; all processes get equally many, as they wait for each other."""
        rank, world = self.args.process_index, self.args.world_size
        tokens = self.sample_config.micro_batch_tokens
        if self._restarts:
            groups = end_to_end(batch, tokens, world)
        else:
            groups = micro_batches(prompt_rows(batch, tokens, self._attention), tokens, world)
        share = []
        for group in groups:
            group += [group[-1].silent()] * (-len(group) % world)
            share.append(MicroBatch(group[rank::world], divisor))
        return share

    def training_step(
        self, model: torch.nn.Module, inputs: list[MicroBatch], num_items_in_batch: Any = None
    ) -> torch.Tensor:
        """Run forward and backward passes over all micro-batches of one optimizer step."""
        optimizer = self.optimizer or self.create_optimizer()
        for group in optimizer.param_groups:  # the scheduler of `Trainer.train` covers one call, not a run
            group["lr"] = self._rate * self.sample_config.learning_rate
        if self._before:
            self._score_before(model)
        loss = torch.zeros((), device=self.accelerator.device)
        for number, micro in enumerate(inputs, 1):
            # Replicated models reduce their gradients once per step; a shard cannot hold the gradients of the whole.
            alone = self._keeps_masters or (number < len(inputs) and not self.accelerator.is_fsdp2)
            with self.accelerator.no_sync(model) if alone else nullcontext():
                loss += super().training_step(model, micro, num_items_in_batch)
        if self._keeps_masters and self.args.world_size > 1:
            average_gradients(self.model)
        # All processes stop together: otherwise the others would wait for the one that stopped.
        if self._unchecked:
            self._check_sampler()
            self._unchecked = False
        if not torch.isfinite(self.accelerator.reduce(loss, reduction="sum")):
            raise TrainingError(
                f"the loss is {loss.item()} in {self._place()}: "
                "lower the learning rate, or go back to the last checkpoint"
            )
        return loss

    def _check_sampler(self) -> None:
        """Check that the samples of a step have the sampler's probabilities, up to rounding.

        Raises:
            RunMustStop: They have not.
        """
        farthest = self._tallies.farthest(self.accelerator)
        if farthest > MOST_SAMPLER_RATIO:
            raise RunMustStop(
                f"the sampler's probability of a token differs from the trainer's by a factor of {farthest:.4g}, at "
                f"most {MOST_SAMPLER_RATIO:g}, at the first update: rounding does not explain it. No weight has "
                "changed. Use engine.kind transformers, or vLLM 0.32"
            )

    def _score_before(self, model: torch.nn.Module) -> None:
        """Compute the log-probabilities before the update of all its samples, and compare them with the sampler's."""
        mode = self.sample_config.importance_sampling_mode
        model.eval()  # the passes of the update switch to training
        with torch.no_grad():
            for micro in self._before:
                batch = self._pad(micro)
                sampler = batch.old
                old, _ = self._score(model, batch)
                outside = None
                if mode is not None:
                    micro.correction, outside = importance_ratio(old - sampler, mode)
                self._tallies.compare(batch.weights, old, sampler, outside)
                micro.old = old
        self._before = []

    def compute_loss(self, model: torch.nn.Module, inputs: dict[str, torch.Tensor], *args: Any, **kwargs: Any) -> Any:
        """TRL's loss plus the divergence to the policy before the update, with the same weights."""
        loss = super().compute_loss(model, inputs, *args, **kwargs)
        # As in TRL: gradients are averaged over the processes, so each process multiplies its loss by their number.
        return loss if self._pull is None else loss + self.accelerator.num_processes * self._pull

    def _prepare_inputs(self, micro: MicroBatch) -> dict[str, torch.Tensor]:
        """Pad rows to the inputs of TRL's loss, and keep what TRL does not pass on."""
        self._padded = self._pad(micro)
        return self._padded.loss_inputs

    def _pad(self, micro: MicroBatch) -> Padded:
        return Padded.of(
            micro, padding=self._tokenizer.pad_token_id, masked=not self._restarts, device=self.accelerator.device
        )

    def _get_per_token_logps_and_entropies(
        self,
        model: torch.nn.Module,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        **options: Any,
    ) -> tuple[torch.Tensor, torch.Tensor, None]:
        """Compute log-probabilities of the sampled tokens over the allowed ones; 0 for tokens of weight 0.

        The zeros are necessary: TRL multiplies by the weight at the end, and ``exp`` of a log-probability far from
        the stored 0 would overflow to infinity times zero.
        """
        config, batch = self.sample_config, self._padded
        weights, advantages, old = batch.weights, batch.advantages, batch.old
        logps, entropies = self._score(model, batch)
        kl = k3(old, logps)
        self._pull = config.beta * (weights * kl).sum() / batch.divisor if config.beta else None
        with torch.no_grad():
            ratio = (logps - old).exp()
            clipped = torch.where(advantages > 0, ratio > 1 + self.epsilon_high, ratio < 1 - self.epsilon_low)
            self._tallies.add(weights, kl, clipped & (advantages != 0), entropies)
            if not self._steps and not config.recomputes:  # no step was taken yet: the sampler had these weights
                self._tallies.compare(weights, logps, old)
        return logps, entropies, None

    def _score(self, model: Any, batch: Padded) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute log-probabilities and entropies, see `Padded.score`."""
        with self.accelerator.autocast():
            return batch.score(model)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Record loss and gradient norm of each optimizer step; print and store nothing."""
        self._metrics["train"].clear()
        if "grad_norm" in logs:
            if not np.isfinite(logs["grad_norm"]):
                raise TrainingError(
                    f"the gradient norm is {logs['grad_norm']} in {self._place()} and the weights are lost: "
                    "go back to the last checkpoint"
                )
            self._steps.append((logs["loss"], logs["grad_norm"]))

    def _place(self) -> str:
        return f"optimizer step {len(self._steps) + 1} of update {self.updates + 1}"

    def floating_point_ops(self, inputs: Any) -> int:
        """Return 0: operations are not counted."""
        return 0

    def _send_telemetry(self) -> None:
        """Send nothing."""

    def _swap_forward(self) -> None:
        """Swap the model's own ``forward`` and the one that TRL patched for training.

        TRL patches the instance. With the patch in place, a deep copy of the model would compute with the weights of
        the original.
        """
        owner = whole_model(self.model)
        own = owner.__dict__.pop("forward", None)
        if self._training_forward is not None:
            owner.forward = self._training_forward
        self._training_forward = own


def _as_is(item: Any) -> Any:
    return item


@contextmanager
def _preserved_rng() -> Iterator[None]:
    """Restore the global random states of Python, NumPy and PyTorch after a block."""
    python, numpy = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
