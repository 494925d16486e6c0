"""Tests of the adapter for verl; `test_verl.py` runs them where verl is installed.

verl's own classes play: the registry of agent loops, the data set, the building of tokens, the output. The language
model server, which needs a GPU, is a script with the same method.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import datasets
import hydra
import pytest
from canary_search import found_in
from canary_tasks import CASES, MARKERS, Case
from omegaconf import DictConfig, OmegaConf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap, ToolListWrap
from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.workers.rollout.replica import TokenOutput
from worlds import WORLDS, World, break_engine

from rlanything_envs.adapters import verl as adapter
from rlanything_envs.conversation import Conversation
from rlanything_envs.errors import InfrastructureError

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer() -> PreTrainedTokenizerFast:
    """A token for each byte."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(alphabet)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|im_end|>", pad_token="<|pad|>")
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    made.chat_template = TEMPLATE
    return made


TOKENS = tokenizer()


class ScriptedServer:
    """The method of verl's `LLMServerClient`, with answers from a list."""

    def __init__(self, answers: list[str]) -> None:
        self.answers, self.prompts = list(answers), list[str]()

    async def generate(
        self, *, request_id: str, prompt_ids: list[int], sampling_params: dict[str, Any], **more: Any
    ) -> TokenOutput:
        self.prompts.append(TOKENS.decode(prompt_ids))
        ids = [*TOKENS.encode(self.answers.pop(0)), TOKENS.eos_token_id]
        return TokenOutput(token_ids=ids, log_probs=[-0.5] * len(ids), stop_reason="completed")


def config(response_length: int) -> DictConfig:
    rollout = {"prompt_length": 20_000, "response_length": response_length}
    data = {"prompt_key": "prompt", "max_prompt_length": 20_000, "filter_overlong_prompts": False}
    return OmegaConf.create({"actor_rollout_ref": {"rollout": rollout}, "data": data})


def played(
    world: World | Case, row: dict[str, Any], answers: list[str], response_length: int = 40_000, **arguments: Any
) -> tuple[AgentLoopOutput, ScriptedServer]:
    """An episode, made by hydra from a section of the YAML file as verl's worker makes it."""
    section = OmegaConf.create(
        {
            "name": "ours",
            "_target_": "rlanything_envs.adapters.verl.EnvAgentLoop",
            "env_id": world.env_id,
            "arguments": {**world.arguments, **arguments},
        }
    )
    section.pop("name")
    server, settings = ScriptedServer(answers), config(response_length)

    async def play() -> AgentLoopOutput:
        loop = hydra.utils.instantiate(
            config=section,
            trainer_config=DictConfigWrap(config=settings),
            server_manager=server,
            tokenizer=TOKENS,
            processor=None,
            hf_model_type="llama",
            dataset_cls=RLHFDataset,
            data_config=DictConfigWrap(settings.data),
            tools=ToolListWrap([]),
        )
        return await loop.run({}, **row)

    return asyncio.run(play()), server


def row_of(world: World, folder: Path) -> dict[str, Any]:
    """A row as verl's data set reads it from a file."""
    file = folder / "train.parquet"
    datasets.Dataset.from_list(adapter.rows([world.task()], "ours", "Hello.")).to_parquet(str(file))
    data = RLHFDataset(data_files=str(file), tokenizer=TOKENS, config=config(1).data)
    return dict(data[0])


def learnt(output: AgentLoopOutput) -> str:
    ids = [token for token, mask in zip(output.response_ids, output.response_mask, strict=True) if mask]
    return TOKENS.decode(ids)


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_an_episode_from_a_row_to_an_output(world: World, tmp_path: Path) -> None:
    row, answers = row_of(world, tmp_path), world.answers(world.task())
    output, server = played(world, row, answers)
    assert output.reward_score == 1.0
    assert output.as_dict()["rm_scores"][-1] == 1
    assert output.num_turns == 2 * len(answers) + 1
    assert learnt(output) == "".join(f"{answer}<|im_end|>" for answer in answers)
    assert len(output.response_ids) == len(output.response_mask) == len(output.response_logprobs)
    with Conversation(world.env_id, **world.arguments) as conversation:
        turns = [conversation.start(world.task()), *map(conversation.answer, answers)]
    assert TOKENS.decode(output.prompt_ids) == (
        f"<|im_start|>user\nHello.\n\n{turns[0].text}<|im_end|>\n<|im_start|>assistant\n"
    )
    for number, prompt in enumerate(server.prompts):
        assert prompt.endswith(f"{turns[number].text}<|im_end|>\n<|im_start|>assistant\n")
    whole = TOKENS.decode([*output.prompt_ids, *output.response_ids])
    assert all(whole.startswith(prompt) for prompt in server.prompts)  # nothing is tokenised again
    assert output.extra_fields["reward_extra_info"] == {"success": 1.0, "finished": 1.0}


def test_a_failure_and_a_cut_have_no_reward(tmp_path: Path) -> None:
    world = WORLDS[0]
    row = row_of(world, tmp_path)
    failed, _ = played(world, row, [world.idle] * 3, max_episode_steps=3)
    assert (failed.reward_score, failed.extra_fields["reward_extra_info"]["finished"]) == (0.0, 1.0)
    cut, _ = played(world, row, [world.idle] * 50, response_length=300)
    assert (cut.reward_score, cut.extra_fields["reward_extra_info"]["finished"]) == (0.0, 0.0)
    assert len(cut.response_ids) == len(cut.response_mask) == 300


def test_an_infrastructure_failure_is_no_reward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, start = WORLDS[0], Conversation.start

    def breaks(self: Conversation, *arguments: Any, **options: Any) -> Any:
        turn = start(self, *arguments, **options)
        break_engine(self.env)
        return turn

    monkeypatch.setattr(Conversation, "start", breaks)
    with pytest.raises(InfrastructureError):
        played(world, row_of(world, tmp_path), [world.idle])


def test_a_row_has_to_name_a_task() -> None:
    with pytest.raises(ValueError, match=r"verl\.rows"):
        played(WORLDS[0], {"raw_prompt": []}, [])


@pytest.mark.parametrize("case", [CASES[0], CASES[-2], CASES[-1]], ids=str)
def test_nothing_secret_of_a_task_is_in_a_prompt(case: Case) -> None:
    (row,) = adapter.rows([case.task], "ours", "Hello.")
    for answers in case.episodes[1:3]:
        output, server = played(case, {**row, "raw_prompt": row["prompt"]}, [*answers, *answers[-1:] * 60])
        assert server.prompts
        assert found_in([server.prompts, output.extra_fields, TOKENS.decode(output.response_ids)], MARKERS) == set()
