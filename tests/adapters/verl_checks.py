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
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap, ToolListWrap
from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.workers.rollout.replica import TokenOutput
from worlds import SEEN, WORLDS, World, break_engine

from rlanything_envs.adapters import verl as adapter
from rlanything_envs.conversation import Conversation
from rlanything_envs.errors import InfrastructureError, SettingError
from rlanything_task_pools import TaskPool

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
    world: World | Case,
    row: dict[str, Any],
    answers: list[str],
    response_length: int = 40_000,
    pool: Path | None = None,
    **arguments: Any,
) -> tuple[AgentLoopOutput, ScriptedServer]:
    """An episode, made by hydra from a section of the YAML file as verl's worker makes it."""
    section = OmegaConf.create(
        {
            "name": "ours",
            "_target_": "rlanything_envs.adapters.verl.EnvAgentLoop",
            "env_id": world.env_id,
            "arguments": {**world.arguments, **arguments},
            **({"pool": str(pool), "rollouts": 2, "curriculum": {"rewriting": "inline"}} if pool else {}),
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


def test_a_pool_deals_the_tasks_of_groups_and_takes_their_outcomes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, path = WORLDS[0], tmp_path / "pool.sqlite"
    pool = TaskPool.create(path, [world.task(seed) for seed in range(2)])
    first, second = ({**row, "raw_prompt": row["prompt"]} for row in adapter.group_rows(2, "ours", "Hello."))
    rewards = [played(world, first, [world.idle] * 3, pool=path, max_episode_steps=3)[0].reward_score]
    with Conversation(world.env_id, **world.arguments) as conversation:
        tasks = {conversation.start(pool.active(slot)).text: pool.active(slot) for slot in pool.slots}
    shown = TOKENS.decode(played(world, first, [world.idle], 10, pool=path)[0].prompt_ids)
    assert any(opening in shown for opening in tasks)
    assert rewards == [0.0]
    assert [record.outcome.success for record in pool.outcomes()] == [False, False]
    assert pool.counts()["proposed"] == 1
    start = Conversation.start

    def breaks(self: Conversation, *arguments: Any, **options: Any) -> Any:
        turn = start(self, *arguments, **options)
        break_engine(self.env)
        return turn

    monkeypatch.setattr(Conversation, "start", breaks)
    for _ in range(2):
        with pytest.raises(InfrastructureError):
            played(world, second, [world.idle], pool=path)
    assert pool.counts()["errors"] == 2, "no outcome"
    with pytest.raises(SettingError, match="give the agent loop a pool"):
        played(world, first, [])


def test_the_recipe_composes_verls_settings_and_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples"))
    monkeypatch.chdir(tmp_path)
    import recipe_verl
    from small_player import make_player

    monkeypatch.setattr(recipe_verl, "ROLLOUTS", 2)
    sizes = {**recipe_verl.SMALL, "groups": 3, "turns": 3}
    settings = recipe_verl.prepare(tmp_path / "out", sizes)
    with TaskPool.open(tmp_path / "out" / "pool.sqlite") as pool:
        make_player(Path("my-model"), [pool.active(0)], 3, each=2, epochs=1)
        numbers = recipe_verl.play(settings, Path("my-model"))
        assert (numbers["groups"], pool.counts()["outcomes"]) == (3, 6)


class QueueStandIn:
    """The two functions of TransferQueue that a buffer without a filter calls; the queue itself is Ray's processes."""

    def __init__(self, **tags: dict[str, Any]) -> None:
        self.tags = {"train": tags, "val": {}}

    def kv_list(self) -> dict[str, dict[str, dict[str, Any]]]:
        return {part: dict(items) for part, items in self.tags.items()}

    def kv_clear(self, *, partition_id: str, keys: list[str]) -> None:
        for key in keys:
            self.tags[partition_id].pop(key, None)


def test_verls_user_sampler_logs_the_curriculum_and_replaces_groups_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verl.trainer.ppo.v1 import replay_buffer
    from verl.utils.import_utils import load_extern_object

    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples"))
    import recipe_verl

    settings = recipe_verl.prepare(tmp_path, {**recipe_verl.SMALL, "tasks": 2, "groups": 2})
    with hydra.initialize_config_module("verl.trainer.config", version_base=None):
        v1 = hydra.compose("ppo_trainer", settings).trainer.v1
    prompt = {"is_prompt": True, "global_steps": 0}
    queue = QueueStandIn(a={**prompt, "status": "failure"}, b={**prompt, "status": "finished"}, b_0_0={}, b_1_0={})
    monkeypatch.setattr(replay_buffer, "tq", queue)

    def refill(count: int) -> None:  # as verl's trainer, which sends further prompts to the agent loops
        queue.tags["train"] |= {f"c{n}": {**prompt, "status": "failure"} for n in range(count)}
        queue.tags["train"] |= {f"c{n}_0_0": {} for n in range(count)}  # one episode of the group ran

    sampler = v1.sampler
    buffer = load_extern_object(sampler.custom_sampler.path, sampler.custom_sampler.name)(
        trainer_mode=v1.trainer_mode,
        trainer_config=v1.sync,
        max_off_policy_threshold=sampler.max_off_policy_threshold,
        max_off_policy_strategy=sampler.max_off_policy_strategy,
        sampler_kwargs=sampler.sampler_kwargs,
        refill_fn=refill,
    )
    batch, numbers = buffer.sample(0, "train", 2)
    assert sorted(batch.keys) == ["b_0_0", "b_1_0", "c0_0_0"], "without the group in which nothing ran"
    assert numbers["training/rollout_failure/evicted_samples"] == 1
    assert numbers["curriculum/pool_size"] == 2
    assert buffer.sample(0, "val", 0)[1] == {}
    with pytest.raises(SettingError, match="pool"):
        type(buffer)(sampler_kwargs={}, trainer_mode="sync")
    with pytest.raises(SettingError, match="'separate_async'"):
        type(buffer)(sampler_kwargs={"pool": "p"}, trainer_mode="separate_async")


@pytest.mark.parametrize("case", [CASES[0], CASES[-2], CASES[-1]], ids=str)
def test_nothing_secret_of_a_task_is_in_a_prompt(case: Case) -> None:
    (row,) = adapter.rows([case.task], "ours", "Hello.")
    for answers in case.episodes[1:3]:
        output, server = played(case, {**row, "raw_prompt": row["prompt"]}, [*answers, *answers[-1:] * 60])
        assert server.prompts
        assert found_in([server.prompts, output.extra_fields, TOKENS.decode(output.response_ids)], MARKERS) == set()


SEEING = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{% if message['content'] is string %}"
    "{{ message['content'] }}{% else %}{% for part in message['content'] %}{% if part['type'] == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class Processor:
    """The parts of a Qwen-VL processor that verl uses: its own needs torchvision for videos."""

    def __init__(self) -> None:
        side = {"shortest_edge": 32**2, "longest_edge": 64 * 32**2}
        self.image_processor = Qwen2VLImageProcessorPil(patch_size=16, merge_size=2, size=side)
        self.tokenizer, self.chat_template = SEEING_TOKENS, SEEING

    def apply_chat_template(self, messages: list[dict[str, Any]], **settings: Any) -> Any:
        return self.tokenizer.apply_chat_template(messages, chat_template=SEEING, **settings)

    def __call__(self, text: list[str], images: list[Any] | None = None, **_: Any) -> Any:
        out = dict(self.image_processor(images, return_tensors="pt")) if images else {}
        (whole,) = text
        for grid in out.get("image_grid_thw", ()):
            whole = whole.replace("<|image_pad|>", "<|placeholder|>" * (int(grid.prod()) // 4), 1)
        whole = whole.replace("<|placeholder|>", "<|image_pad|>")
        return {"input_ids": [self.tokenizer.encode(whole, add_special_tokens=False)], **out}


SEEING_TOKENS = tokenizer()
SEEING_TOKENS.add_special_tokens(
    {"additional_special_tokens": ["<|im_start|>", "<|vision_start|>", "<|image_pad|>", "<|vision_end|>"]}
)


class SeeingServer(ScriptedServer):
    """Keeps how many images each prompt came with, and how many placeholders it has."""

    def __init__(self, answers: list[str]) -> None:
        super().__init__(answers)
        self.seen: list[tuple[int, int]] = []

    async def generate(self, *, prompt_ids: list[int], image_data: Any = None, **more: Any) -> TokenOutput:
        marks = prompt_ids.count(SEEING_TOKENS.convert_tokens_to_ids("<|image_pad|>"))
        self.seen.append((len(image_data or ()), marks))
        ids = [*SEEING_TOKENS.encode(self.answers.pop(0)), SEEING_TOKENS.eos_token_id]
        return TokenOutput(token_ids=ids, log_probs=[-0.5] * len(ids), stop_reason="completed")


@pytest.mark.parametrize("response_length", [40_000, 100])
def test_screens_go_to_the_server_and_into_the_output(response_length: int) -> None:
    settings, server = config(response_length), SeeingServer(["WAIT", "DONE"])

    async def play() -> AgentLoopOutput:
        loop = adapter.EnvAgentLoop(
            env_id=SEEN.env_id,
            arguments=SEEN.arguments,
            trainer_config=DictConfigWrap(config=settings),
            server_manager=server,
            tokenizer=SEEING_TOKENS,
            processor=Processor(),
            hf_model_type="qwen3_vl",
            dataset_cls=RLHFDataset,
            data_config=DictConfigWrap(settings.data),
            tools=ToolListWrap([]),
        )
        return await loop.run({}, raw_prompt=[{"role": "user", "content": "Hello."}], seed=0)

    output = asyncio.run(play())
    images = output.multi_modal_data["images"]
    assert [image.size for image in images] == [(640, 480)] * len(server.seen)
    assert [count for count, _ in server.seen] == list(range(1, len(images) + 1))
    per_image = server.seen[0][1]
    assert [marks for _, marks in server.seen] == [per_image * count for count in range(1, len(images) + 1)]
    pads = [*output.prompt_ids, *output.response_ids].count(SEEING_TOKENS.convert_tokens_to_ids("<|image_pad|>"))
    assert pads == per_image * len(images), "no image is cut"
    assert len(images) == (2 if response_length > 100 else 1)
