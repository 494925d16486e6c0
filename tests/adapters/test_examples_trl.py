"""The TRL examples: the small model's chats can be read back, the recipe runs, and TRL loads small models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from rlanything_agents.config import SmallConfig
from rlanything_agents.models.small import make_small_model
from rlanything_envs.adapters.rows import task_rows
from rlanything_envs.adapters.trl import tool_environment
from rlanything_envs.alfworld.commands import read_answer
from rlanything_envs.osworld.desktop import MissingPackages, make_desktop
from rlanything_task_pools import Task, TaskPool, get_domain
from rlanything_task_pools.osworld import make_task, read_payload

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def player(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(EXAMPLES)
    import small_player

    return small_player


def test_chats_are_learnt_as_trl_will_read_them(player: Any) -> None:
    from trl.chat_template_utils import (  # type: ignore[import-untyped]
        is_chat_template_prefix_preserving,
        parse_response,
        supports_tool_calling,
    )

    tokenizer = player.player_tokenizer()
    assert supports_tool_calling(tokenizer)
    assert is_chat_template_prefix_preserving(tokenizer)
    chats = player.demonstrations([get_domain("alfworld").generate(0)], each=2, steps=12)
    for chat, row in zip(chats, player.imitation_rows(tokenizer, chats), strict=True):
        assert tokenizer.unk_token_id not in row.ids
        learnt = tokenizer.decode([token for token, mine in zip(row.ids, row.learnt, strict=True) if mine])
        said = [message for message in chat if message["role"] == "assistant"]
        turns = learnt.split(" <end>")[:-1]
        assert len(turns) == len(said)
        prompt = tokenizer("<obs> task <turn>")["input_ids"]
        for turn, message in zip(turns, said, strict=True):
            parsed = parse_response(tokenizer, tokenizer(f"{turn} <end>")["input_ids"], prefix=prompt)
            assert parsed["content"] == message["content"]
            assert parsed.get("tool_calls") == message.get("tool_calls")
            if calls := message.get("tool_calls"):  # where it is text, for trainers without tools
                assert read_answer(turn) == calls[0]["function"]["arguments"]["action"]


def test_the_recipe_runs_on_a_processor(
    player: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a player that has hardly learnt, so that the test is short; the trainer loads it from its folder."""
    monkeypatch.chdir(tmp_path)
    import recipe_trl

    small = recipe_trl.SMALL
    monkeypatch.setitem(small["trainer"], "per_device_train_batch_size", 16)
    monkeypatch.setitem(small["trainer"], "max_completion_length", 48)
    task = get_domain("alfworld").generate(0, **small["knobs"])
    player.make_player(Path("my-model"), [task], small["turns"], each=2, epochs=1)
    trainer = recipe_trl.main(["--small", "--updates", "2", "--episodes", "4"])
    with TaskPool.open("runs/trl/pool.sqlite") as pool:
        assert len(pool.outcomes()) == 2 * 16
    logs = [entry for entry in trainer.state.log_history if "loss" in entry]
    assert [entry["curriculum/groups"] for entry in logs] == [2, 4]
    assert "4 episodes: " in capsys.readouterr().out


def test_the_settings_of_the_recipe_for_a_gpu_are_settings_of_trl(player: Any) -> None:
    import recipe_trl
    from trl import GRPOConfig

    elsewhere = {"use_cpu": True, "bf16": False}
    config = GRPOConfig(num_generations=recipe_trl.ROLLOUTS, **{**recipe_trl.LARGE["trainer"], **elsewhere})
    assert (config.use_vllm, config.generation_batch_size) == (True, 64)


def test_the_trainer_loads_a_small_model_from_its_folder(tmp_path: Path) -> None:
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    make_small_model(tmp_path / "my-model", ["hello", "world"], SmallConfig(hidden_size=64, layers=1), seed=0)
    trainer = GRPOTrainer(
        model=str(tmp_path / "my-model"),
        reward_funcs=lambda completions, **_: [float(place) for place in range(len(completions))],
        train_dataset=Dataset.from_list([{"prompt": [{"role": "user", "content": "hello"}]}]),
        args=GRPOConfig(
            output_dir=str(tmp_path / "out"),
            use_cpu=True,
            bf16=False,
            report_to="none",
            max_steps=1,
            logging_steps=1,
            num_generations=2,
            per_device_train_batch_size=2,
            max_completion_length=4,
        ),
    )
    trainer.train()
    assert trainer.state.log_history[0]["reward"] == 0.5


NOTE = {
    "func": "compare_text_file",
    "result": {"type": "vm_file", "path": "/home/user/Desktop/a.txt", "dest": "a.txt"},
    "expected": {"type": "cloud_file", "path": "data:;base64,aGVsbG8geW91", "dest": "gold.txt"},
}


def note_task() -> Task:
    """Add a word to a file that is open."""
    path, goal = "/home/user/Desktop/a.txt", "Add the word you at the end of a.txt and save it."
    config = [
        {"type": "write_file", "parameters": {"path": path, "text": "hello"}},
        {"type": "open", "parameters": {"path": path}},
    ]
    evaluators = {"evaluators": {"evaluator1": NOTE}, "instructions": {"evaluator1": goal}}
    return make_task(read_payload({"instruction": goal, "config": config, "current": "evaluator1", **evaluators}))


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("press", {"key": "end"}),
    ("type_text", {"text": " you"}),
    ("hotkey", {"keys": ["ctrl", "s"]}),
    ("done", {}),
]


@pytest.mark.slow
def test_screens_of_a_real_desktop_reach_the_gradients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two episodes, one plays scripted calls and solves the task; then the update is TRL's own."""
    try:
        make_desktop("bwrap").close()
    except MissingPackages as error:
        pytest.skip(str(error))
    monkeypatch.syspath_prepend(EXAMPLES)
    import trl_screens
    from trl import GRPOTrainer

    class Scripted(GRPOTrainer):  # type: ignore[misc]
        batch: dict[str, Any]

        def _generate_single_turn(self, prompt_ids: Any, *_: Any, **__: Any) -> tuple[list[list[int]], None]:
            said = []
            for place, ids in enumerate(prompt_ids):
                played = self._tokenizer.decode(ids).count("<|im_start|>assistant") - 1
                call = CALLS[played] if place == 0 and played < len(CALLS) else None
                wish = json.dumps({"name": call[0], "arguments": call[1]}) if call else ""
                text = f"<tool_call>\n{wish}\n</tool_call><|im_end|>" if call else "Done.<|im_end|>"
                said.append(self._tokenizer.encode(text, add_special_tokens=False))
            return said, None

        def _generate_and_score_completions(self, inputs: Any) -> Any:
            self.batch = super()._generate_and_score_completions(inputs)
            return self.batch

    model, processor = trl_screens.random_qwen3_vl(tmp_path / "model")
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    with tool_environment(trl_screens.ENV, max_turns=8, **trl_screens.DESKTOP) as factory:
        trainer = trl_screens.made_trainer(
            model,
            processor,
            factory,
            task_rows([note_task()], trl_screens.PROMPT),
            Scripted,
            output_dir=str(tmp_path / "out"),
            max_steps=1,
            learning_rate=1e-2,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            disable_tqdm=True,
        )
        trainer.train()
    batch, log = trainer.batch, trainer.state.log_history[0]
    assert (log["reward"], log["tools/failure_frequency"]) == (0.5, 0)
    screens = 2 + len(CALLS)
    assert batch["image_grid_thw"].shape == (screens, 3), "an opening screen of each episode, and one after each call"
    assert batch["pixel_values"].shape[0] == int(batch["image_grid_thw"].prod(-1).sum())
    assert batch["advantages"][0] > 0 > batch["advantages"][1]
    assert log["grad_norm"] > 0
    changed = {name for name, value in model.named_parameters() if not torch.equal(value, before[name])}
    assert any(".visual." in name for name in changed), "the vision tower learns"
    assert any(".language_model." in name for name in changed)
