"""A stock `GRPOTrainer` of TRL whose model answers what a script says."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

Answer = Callable[[int, str], str | tuple[str, dict[str, Any]] | None]
"""What the model says: of its place in the batch and the text so far; an action, a call, or None for no call."""


def byte_tokenizer() -> Any:
    """A token for each byte."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = {letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    bytes_ = Tokenizer(models.BPE(letters, merges=[]))
    bytes_.pre_tokenizer, bytes_.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=bytes_, eos_token="<eos>", pad_token="<pad>")


def tiny_model(tokenizer: Any) -> Any:
    """A model that has learnt nothing."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=16,
        intermediate_size=16,
        eos_token_id=tokenizer.eos_token_id,
    )
    return Qwen3ForCausalLM(config)


def trained(
    answer: Answer,
    environment_factory: Any,
    rows: list[dict[str, Any]] | Any,
    generations: int,
    out: Path,
    prepare: Callable[[Any], None] = lambda _: None,
    **settings: Any,
) -> Any:
    """A stock trainer, but for where its model's words come from; returns what it was last trained on.

    Args:
        answer: What the model says.
        environment_factory: Of the trainer.
        rows: Of the dataset; or a dataset.
        generations: Episodes of a row.
        out: A folder.
        prepare: What is done to the trainer before it trains.
        settings: Other settings of the trainer than those of a single update.
    """
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    tokenizer = byte_tokenizer()
    tokenizer.chat_template = (
        "{%- for m in messages %}<{{ m.role }}>{{ m.content }}"
        "{%- for call in m.tool_calls or [] %}<call>{{ call.function | tojson }}</call>{% endfor %}<eos>"
        "{%- endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    call = {"open": "<call>", "close_pattern": r"</call>\s*", "repeats": True, "content": "json"}
    tokenizer.response_template = {
        "defaults": {"role": "assistant"},
        "start_anchor": "<assistant>",
        "fields": {
            "tool_calls": {**call, "transform": {"type": "function", "function": "{content}"}},
            "content": {"close_pattern": "<eos>", "content": "text"},
        },
    }

    class Told(GRPOTrainer):  # type: ignore[misc]
        batch: dict[str, Any]

        def _generate_single_turn(self, prompt_ids: Any, *_: Any, **__: Any) -> tuple[list[list[int]], None]:
            said = []
            for place, ids in enumerate(prompt_ids):
                action = answer(place, tokenizer.decode(ids))
                named, arguments = action if isinstance(action, tuple) else ("act", {"action": action})
                wish = json.dumps({"name": named, "arguments": arguments})
                said.append(tokenizer.encode(("done" if action is None else f"<call>{wish}</call>") + "<eos>"))
            return said, None

        def _generate_and_score_completions(self, inputs: Any) -> Any:
            self.batch = super()._generate_and_score_completions(inputs)
            return self.batch

    trainer = Told(
        model=tiny_model(tokenizer),
        processing_class=tokenizer,
        train_dataset=Dataset.from_list(rows) if isinstance(rows, list) else rows,
        environment_factory=environment_factory,
        args=GRPOConfig(
            output_dir=str(out),
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            num_generations=generations,
            max_completion_length=30_000,
            **{"max_steps": 1, "per_device_train_batch_size": generations, **settings},
        ),
    )
    prepare(trainer)
    trainer.train()
    batch = trainer.batch
    batch["log"], batch["logs"] = trainer.state.log_history[0], trainer.state.log_history
    batch["texts"] = tokenizer.batch_decode(batch["completion_ids"])
    return batch
