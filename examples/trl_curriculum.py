"""Tasks adapt while a stock TRL `GRPOTrainer` trains SmolLM2-135M-Instruct: nobody's code is patched, no GPU.

    pip install '.[train,smollm2]'
    python examples/trl_curriculum.py

The model plays small ALFWorld tasks in which the last line of every message is the next command of a plan. It repeats
the line, though not always at the temperature 0.8, so a long plan is harder than a short one: a task whose group is
always solved is rewritten into a harder one, and the printed lineage tells how.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import gymnasium as gym
from datasets import IterableDataset
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase
from trl import GRPOConfig, GRPOTrainer

from rlanything_agents.models.checkpoint import checkpoint_source
from rlanything_envs import CurriculumSource
from rlanything_envs.adapters.rows import group_rows
from rlanything_envs.adapters.trl import text_environment
from rlanything_envs.views import make_env
from rlanything_task_pools import Task, TaskPool, get_domain

EXAMPLE = [
    {"role": "user", "content": "You repeat the last line of every message, word for word.\n\nok\n\nact action: look"},
    {"role": "assistant", "content": "act action: look"},
]
"""In front of every episode: without an example the model tells stories."""
KNOBS: dict[str, Any] = {"kinds": ["simple"], "rooms": ["Bathroom"], "max_plan": 4}
STEPS = 10
"""Commands an episode may take; the plans of the first tasks have four."""

TEMPLATE = """\
{%- for message in messages -%}
<|im_start|>{{ 'assistant' if message.role == 'assistant' else 'user' }}
{% for call in message.tool_calls or [] -%}
{{ call.function.name }}{% for key, value in call.function.arguments.items() %} {{ key }}: {{ value }}{% endfor %}
{%- endfor -%}
{{ message.content or '' }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}"""
"""The model's own, with tools: a call is ``act action: go to shelf 1``."""

RESPONSE = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "tool_calls": {
            "open_pattern": r"(?P<name>act) action:\s*",
            "close_pattern": r"\s*(?=<\|im_end\|>)",
            "repeats": True,
            "content": "text",
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": {"action": "{content}"}}},
        },
        "content": {"close_pattern": r"(?=act action:)|<\|im_end\|>", "content": "text"},
    },
}
"""How transformers reads a turn back."""


class Hinted(gym.Env[str, str]):
    """ALFWorld in few words, with the next command of the task's proof in every message."""

    def __init__(self) -> None:
        self.env = make_env("RLAnything/AlfWorld-v0", "short", max_episode_steps=STEPS)
        self.observation_space, self.action_space = self.env.observation_space, self.env.action_space
        self.plan: list[str] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin a task."""
        observation, info = self.env.reset(seed=seed, options=options)
        task = (options or {}).get("task")
        self.plan = list(task.proof) if isinstance(task, Task) else []
        return self._hinted(observation), info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Act."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self.plan and action.strip() == self.plan[0]:
            del self.plan[0]
        return self._hinted(observation), float(reward), terminated, truncated, info

    def close(self) -> None:
        """Close the environment within."""
        self.env.close()

    def _hinted(self, observation: str) -> str:
        return f"{observation}\n\n{f'act action: {self.plan[0]}' if self.plan else 'Done.'}"


def with_tools(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    """SmolLM2's tokenizer, able to write and to read calls."""
    tokenizer.chat_template = TEMPLATE
    tokenizer.response_template = RESPONSE
    tokenizer.pad_token = tokenizer.pad_token or "<|endoftext|>"
    return tokenizer


def rows() -> Iterator[dict[str, Any]]:
    """A row for each group, with the example in front."""
    for row in group_rows():
        yield {**row, "prompt": [*EXAMPLE, *row["prompt"]]}


def print_lineage(pool: TaskPool) -> None:
    """Every rewrite that took a slot, after the task it was made from."""
    for slot in pool.slots:
        first, *rewrites = pool.lineage(pool.active(slot).id)
        print(f"slot {slot}  {first.goal} ({len(first.proof)} commands)")
        for task in rewrites:
            assert task.rewrite is not None
            print(f"   {task.rewrite.direction}: {task.goal} ({len(task.proof)} commands)")


def main(arguments: list[str] | None = None) -> TaskPool:
    """Make a pool, train on it while it changes, and print what became of it."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--model", default="smollm2-135m", help="a packaged model, a folder, or a name on the hub")
    options.add_argument("--pool", type=Path, default=Path("pool.sqlite"))
    options.add_argument("--tasks", type=int, default=3)
    options.add_argument("--updates", type=int, default=12)
    options.add_argument("--rollouts", type=int, default=6, help="episodes in a group")
    options.add_argument("--rate", type=float, default=1e-5)
    chosen = options.parse_args(arguments)

    place, local = checkpoint_source(chosen.model, "float32")
    tokenizer = with_tools(AutoTokenizer.from_pretrained(place, local_files_only=local))
    model = AutoModelForCausalLM.from_pretrained(place, local_files_only=local, dtype="float32")
    domain = get_domain("alfworld")
    pool = TaskPool.create(chosen.pool, [domain.generate(seed, **KNOBS) for seed in range(chosen.tasks)])
    with (
        CurriculumSource(pool, rollouts=chosen.rollouts, rewriting="inline", actor="SmolLM2") as source,
        text_environment(Hinted, source=source) as factory,
    ):
        trainer = GRPOTrainer(
            model=model,
            processing_class=tokenizer,
            args=GRPOConfig(
                output_dir="runs/trl-curriculum",
                use_cpu=True,
                bf16=False,
                gradient_checkpointing=False,
                report_to="none",
                save_strategy="no",
                logging_steps=1,
                learning_rate=chosen.rate,
                lr_scheduler_type="constant",
                max_steps=chosen.updates,
                per_device_train_batch_size=chosen.rollouts,
                num_generations=chosen.rollouts,
                temperature=0.8,
                max_completion_length=640,
                max_tool_calling_iterations=STEPS,
                generation_kwargs={"max_new_tokens": 24},
            ),
            train_dataset=IterableDataset.from_generator(rows),
            environment_factory=factory,
        )
        trainer.train()
    print(pool.counts())
    print_lineage(pool)
    return pool


if __name__ == "__main__":
    main()
