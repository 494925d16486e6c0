"""The TRL examples: the small model's chats can be read back, and all of them runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from scripted_trainer import byte_tokenizer, tiny_model

from rlanything_envs.adapters.rows import task_rows
from rlanything_envs.adapters.trl import tool_environment
from rlanything_envs.osworld.desktop import MissingPackages, make_desktop
from rlanything_task_pools import Task, TaskPool
from rlanything_task_pools.osworld import make_task, read_payload

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(EXAMPLES)
    import trl_grpo

    return trl_grpo


def test_chats_are_learnt_as_trl_will_read_them(example: Any) -> None:
    from trl.chat_template_utils import (  # type: ignore[import-untyped]
        is_chat_template_prefix_preserving,
        parse_response,
        supports_tool_calling,
    )

    from rlanything_task_pools import get_domain

    tokenizer = example.small_tokenizer()
    assert supports_tool_calling(tokenizer)
    assert is_chat_template_prefix_preserving(tokenizer)
    chats = example.demonstrations([get_domain("alfworld").generate(0, **example.KNOBS)], each=2)
    for chat, row in zip(chats, example.imitation_rows(tokenizer, chats), strict=True):
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


@pytest.mark.slow
def test_the_example_runs(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "trl_grpo.py"), "--tasks", "2", "--updates", "2", "--episodes", "128"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "before: " in done.stdout
    assert "after:  " in done.stdout


def test_the_curriculum_example_runs_with_any_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """This one has learnt nothing, so no task is ever solved."""
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    import trl_curriculum

    tokenizer = byte_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]})
    tokenizer.eos_token = "<|im_end|>"
    tokenizer.save_pretrained("model")
    tiny_model(tokenizer).save_pretrained("model")
    trl_curriculum.main(["--model", "model", "--updates", "2", "--rollouts", "2", "--tasks", "2"])
    with TaskPool.open("pool.sqlite") as pool:
        assert [record.outcome.success for record in pool.outcomes()] == [False] * 4
        assert pool.events()
    assert capsys.readouterr().out.count("slot ") == 2


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

        def _generate_single_turn(
            self, prompt_ids: list[list[int]], *_: Any, **__: Any
        ) -> tuple[list[list[int]], None]:
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
