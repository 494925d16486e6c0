"""A small model for the recipes on a processor: a Qwen3 of a hundred thousand weights that has seen an expert play.

It reads and writes 190 words, and imitates an expert that searches and now and then errs. `make_player` leaves a folder
as of any checkpoint; its answers are texts (``find apple <action> go to fridge 1 </action>``), which TRL reads as calls
of the tool ``act``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, normalizers, pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from rlanything_agents.config import SmallConfig
from rlanything_agents.domains.alfworld.expert import ExploringExpert
from rlanything_agents.models.small import small_model, word_tokenizer
from rlanything_agents.training.imitation import Row, fit
from rlanything_envs import Conversation
from rlanything_envs.adapters.trl import OVER
from rlanything_envs.alfworld.words import PHASES, TYPES
from rlanything_task_pools import Task

TEMPLATE = """\
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
<turn> {% generation %}{{ message.content }}
{%- for call in message.tool_calls or [] %}
{%- if call.function.name != 'act' %} {{ call.function.name }}{% endif %}
{%- for key, value in call.function.arguments.items() %}
{%- if key != 'action' %} {{ key }}{% endif %} <action> {{ value }} </action>{% endfor %}
{%- endfor %} <end>{% endgeneration %}
{%- else -%}
<obs> {{ message.content }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<turn>{%- endif -%}"""

RESPONSE = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<turn>",
    "fields": {
        "tool_calls": {
            "open_pattern": r"<action>\s*",
            "close_pattern": r"\s*</action>\s*",
            "repeats": True,
            "content": "text",
            "transform": {"type": "function", "function": {"name": "act", "arguments": {"action": "{content}"}}},
        },
        "content": {"close_pattern": r"(?=<action>)|<end>", "content": "text"},
    },
}
"""How transformers reads a turn back, in the format of its response templates."""

WORDS = (
    *("<obs>", "<turn>", "<action>", "</action>", "done"),
    *("go", "to", "take", "from", "move", "open", "close", "examine", "look", "inventory"),
    *PHASES,
    *("closed", "nothing", "happens", "pick", "task", "episode", "over"),
    *TYPES,
    *map(str, range(40)),
)
"""All that the model reads and writes; everything else in a message is passed over."""


def make_player(folder: Path, tasks: list[Task], steps: int, seed: int = 0, each: int = 60, epochs: int = 6) -> None:
    """Make the folder of a model that imitates an expert on some tasks; a folder that exists stays as it is.

    Args:
        folder: Where to.
        tasks: The tasks.
        steps: Commands an episode may take.
        seed: Seeds the weights and the order of the episodes.
        each: Episodes of a task.
        epochs: Passes over them.
    """
    if folder.exists():
        return
    tokenizer = player_tokenizer()
    model = small_model(tokenizer, SmallConfig(hidden_size=64, layers=2), seed)
    rows = imitation_rows(tokenizer, demonstrations(tasks, each, steps))
    losses = fit(model, rows, epochs=epochs, batch_size=16, learning_rate=3e-3, seed=seed)
    print(f"imitation: {len(rows)} episodes, nats per token {losses[0]:.2f} -> {losses[-1]:.2f}", flush=True)
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)


class Player:
    """A model in the place of the vLLM that the trainers start on a GPU.

    Args:
        folder: As `make_player` leaves it.
    """

    def __init__(self, folder: Path) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder)

    @torch.inference_mode()
    def sample(self, ids: list[int], most: int = 24) -> tuple[list[int], list[float]]:
        """The token ids of an answer to a prompt, the end mark included, and their log-probabilities."""
        done = self.model.generate(
            torch.tensor([ids]), do_sample=True, max_new_tokens=most, output_logits=True, return_dict_in_generate=True
        )
        answer = done.sequences[0, len(ids) :].tolist()
        scores = torch.stack(done.logits)[:, 0].log_softmax(-1)
        return answer, [float(scores[place, token]) for place, token in enumerate(answer)]


def player_tokenizer() -> PreTrainedTokenizerFast:
    """A token for each of the words."""
    tokenizer = word_tokenizer(WORDS)
    marks = [re.escape(word) for word in WORDS if word.startswith("<")]
    plain = [rf"(?<![a-z0-9]){word}(?![a-z0-9])" for word in WORDS if not word.startswith("<")]
    known = Regex("|".join([*marks, *plain]))
    tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Split(known, "removed", invert=True)
    tokenizer.chat_template = TEMPLATE
    tokenizer.response_template = RESPONSE
    return tokenizer


def demonstrations(tasks: list[Task], each: int, steps: int) -> list[list[dict[str, Any]]]:
    """Chats of an expert that searches like an agent would and now and then errs; lost episodes included."""
    chats = []
    with Conversation("RLAnything/AlfWorld-v0", max_episode_steps=steps) as conversation:
        for number, task in enumerate(tasks * each):
            expert = ExploringExpert(seed=number, mistakes=0.2)
            turn = conversation.start(task)
            chat = [{"role": "user", "content": turn.text}]
            said = turn.text
            while not turn.done:
                move = expert.act(said, turn.info)
                turn = conversation.answer(move.action)
                said = turn.text
                call = {"type": "function", "function": {"name": "act", "arguments": {"action": move.action}}}
                chat.append({"role": "assistant", "content": move.thought, "tool_calls": [call]})
                chat.append({"role": "tool", "name": "act", "content": f"{said}\n\n{OVER}" if turn.done else said})
            chats.append([*chat, {"role": "assistant", "content": "done"}])
    return chats


def imitation_rows(tokenizer: PreTrainedTokenizerFast, chats: list[list[dict[str, Any]]]) -> list[Row]:
    """The chats as tokens, of which the assistant's are learnt."""
    rows = []
    for chat in chats:
        coded = tokenizer.apply_chat_template(chat, return_dict=True, return_assistant_tokens_mask=True)
        rows.append(Row(coded["input_ids"], [bool(mine) for mine in coded["assistant_masks"]]))
    return rows
