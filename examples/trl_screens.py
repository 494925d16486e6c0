"""A stock TRL `GRPOTrainer` with screenshots of a real desktop: the model sees each screen, and acts by tools.

    python examples/trl_screens.py --model Qwen/Qwen3-VL-2B-Instruct  # a model that sees and calls tools; needs a GPU
    OMP_NUM_THREADS=1 python examples/trl_screens.py                  # plumbing: a random Qwen3-VL of two layers

The plumbing shows that screens reach ``pixel_values`` and that an update runs, no more: the random model calls no tool,
so all its rewards are 0 and its update changes nothing. `tests/adapters/test_examples_trl.py` plays scripted calls in
its place, one episode of a group solved and one not, and checks the gradients of language model and vision tower.

TRL keeps every screen of an episode in one sample: 15 turns of 1920 by 1080 are 30,600 tokens for Qwen3-VL. So turns
are few here and screens small.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

from datasets import Dataset
from transformers import AutoTokenizer, PreTrainedTokenizerFast, ProcessorMixin, Qwen3VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_vl_chat_template

from rlanything_agents.config import SmallConfig
from rlanything_agents.models.small import make_seeing_model
from rlanything_envs.adapters.rows import generated_rows
from rlanything_envs.adapters.trl import EnvironmentFactory, tool_environment

ENV = "RLAnything/OSWorld-v0"
DESKTOP: dict[str, Any] = {"observation": ["screenshot", "instruction", "message"], "screen": [1280, 720]}
PROMPT = "Use the tools to do the task on the desktop that you see."


class ImageProcessor(Qwen3VLProcessor):
    """Qwen3-VL's processor without its part for videos, which needs torchvision."""

    def __init__(self, image_processor: Any = None, tokenizer: Any = None, chat_template: str | None = None) -> None:
        self.image_token, self.video_token = "<|image_pad|>", "<|video_pad|>"
        self.image_token_id = tokenizer.convert_tokens_to_ids(self.image_token)
        self.video_token_id = tokenizer.convert_tokens_to_ids(self.video_token)
        ProcessorMixin.__init__(self, image_processor, tokenizer, chat_template=chat_template)


def random_qwen3_vl(folder: Path) -> tuple[Qwen3VLForConditionalGeneration, ImageProcessor]:
    """A Qwen3-VL of two layers with random weights, over bytes, and its processor."""
    make_seeing_model(folder, SmallConfig(hidden_size=64, layers=2), seed=0)
    tokenizer: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.eos_token, tokenizer.chat_template = "<|im_end|>", qwen3_vl_chat_template
    model = Qwen3VLForConditionalGeneration.from_pretrained(folder, dtype="float32")
    model.resize_token_embeddings(len(tokenizer))
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    images = Qwen2VLImageProcessorPil.from_pretrained(folder)
    return model, ImageProcessor(images, tokenizer, qwen3_vl_chat_template)


def made_trainer(
    model: Any,
    processor: Any,
    factory: EnvironmentFactory,
    rows: Sequence[dict[str, Any]],
    trainer: type[GRPOTrainer] = GRPOTrainer,
    **settings: Any,
) -> GRPOTrainer:
    """A trainer of episodes with screens; ``settings`` are those of `GRPOConfig`."""
    return trainer(
        model=model,
        processing_class=processor,
        train_dataset=Dataset.from_list(list(rows)),
        environment_factory=factory,
        args=GRPOConfig(
            **{
                "output_dir": "runs/trl-screens",
                "report_to": "none",
                "save_strategy": "no",
                "logging_steps": 1,
                "num_generations": 2,
                "per_device_train_batch_size": 2,
                "max_tool_calling_iterations": 8,
                "max_completion_length": 8192,
                **settings,
            }
        ),
    )


def main() -> None:
    """Train, and print what TRL logs."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--model", help="a model that sees and calls tools; without it the plumbing")
    options.add_argument("--tasks", type=int, default=1)
    options.add_argument("--updates", type=int, default=1)
    chosen = options.parse_args()
    rows = generated_rows("osworld", chosen.tasks, prompt=PROMPT, kinds=["edit_text"])
    with tempfile.TemporaryDirectory() as folder, tool_environment(ENV, max_turns=8, **DESKTOP) as factory:
        model, processor = (chosen.model, None) if chosen.model else random_qwen3_vl(Path(folder))
        plumbing: dict[str, Any] = {"use_cpu": True, "bf16": False, "max_completion_length": 64}
        trainer = made_trainer(
            model, processor, factory, rows, max_steps=chosen.updates, **({} if chosen.model else plumbing)
        )
        trainer.train()
    for entry in trainer.state.log_history:
        print({name: entry[name] for name in ("reward", "loss", "grad_norm") if name in entry})


if __name__ == "__main__":
    main()
