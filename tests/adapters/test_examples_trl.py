"""The TRL examples: the small model's chats can be read back, and all of them runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scripted_trainer import byte_tokenizer, tiny_model

from rlanything_task_pools import TaskPool

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
