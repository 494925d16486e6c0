"""Tests of the recipe for SkyRL; `test_skyrl.py` runs them where SkyRL's trainer is installed."""

from __future__ import annotations

import typing
from pathlib import Path

import pytest
import typing_extensions

from rlanything_task_pools import TaskPool

# SkyRL asks for Python 3.12. On 3.11, pydantic reads no TypedDict but that of typing_extensions; the rest runs.
typing.TypedDict = typing_extensions.TypedDict  # type: ignore[misc,assignment]

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_recipe_plays_with_skyrls_trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "examples"))
    monkeypatch.chdir(tmp_path)
    import recipe_skyrl
    from small_player import Player, make_player

    monkeypatch.setattr(recipe_skyrl, "ROLLOUTS", 2)
    sizes = {**recipe_skyrl.SMALL, "tasks": 1, "groups": 2}
    settings = recipe_skyrl.prepare(tmp_path / "out", sizes)
    path = tmp_path / "out" / "pool.sqlite"
    with TaskPool.open(path) as pool:
        task = pool.active(0)
        make_player(Path("my-model"), [task], 3, each=2, epochs=1)
        turns = len(task.proof)
        episodes = iter(range(4))

        def sample(self: Player, ids: list[int], most: int = 24) -> tuple[list[int], list[float]]:
            """The task's proof; every other episode looks round first, and has a turn too few."""
            turn = ids.count(self.tokenizer.convert_tokens_to_ids("<turn>")) - 1
            command = "look" if turn == 0 and next(episodes) % 2 else task.proof[turn]
            answer = [*self.tokenizer.encode(f"<action> {command} </action>"), self.tokenizer.eos_token_id]
            return answer, [-0.5] * len(answer)

        monkeypatch.setattr(Player, "sample", sample)
        settings.append(f"generator.max_turns={turns}")
        config = recipe_skyrl.SkyRLTrainConfig.from_cli_overrides(settings)
        recipe_skyrl.validate_cfg(config)
        numbers = recipe_skyrl.play(config, path, Path("my-model"))
        assert sorted(record.outcome.success for record in pool.outcomes()) == [False, False, True, True]
    assert (numbers["environment/turns"], numbers["environment/curriculum/groups"]) == (turns, 2)
    assert numbers["environment/success"] == numbers["loss/avg_final_rewards"] == 0.5
    assert 0 < numbers["generate/avg_assistant_tokens"] < numbers["generate/avg_num_tokens"], "messages are masked"
