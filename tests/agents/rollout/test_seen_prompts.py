"""Prompts with screens: the window of a policy that sees, its samples, and the judge's view of a step."""

import gc
import weakref
from typing import Any

import pytest
import torch
from families import policy as text_policy
from seeing import Lamps, model_and_template, policy, screen, settings

from rlanything_agents.config import ConfigError, RunConfig
from rlanything_agents.reward_models.step_judge import StepJudge
from rlanything_agents.reward_models.step_prompts import FullStepPrompts
from rlanything_agents.rollout.environments import check_eyes
from rlanything_agents.rollout.rollout import rollout
from rlanything_agents.rollout.trajectory import Step, Trajectory
from rlanything_agents.training.plain import PlainTrainer
from rlanything_agents.training.samples import trajectory_samples
from rlanything_envs.llm.generator import SeenPrompt
from rlanything_envs.message import Image


def played(history: int | None, episodes: int = 1, **changes: Any) -> list[Trajectory]:
    tasks = [f"task {number}" for number in range(episodes)]
    return rollout(policy(history, **changes), [Lamps() for _ in tasks], tasks, max_steps=9, seed=5)


@pytest.mark.parametrize(("history", "thinking"), [(0, None), (2, None), (2, "strip"), (None, None)])
def test_a_prompt_holds_the_last_screens_in_order(history: int | None, thinking: str | None) -> None:
    (trajectory,) = played(history, thinking=thinking)
    assert len(trajectory.turns) == len(trajectory.steps) == 5
    for number, turn in enumerate(trajectory.turns):
        first = 0 if history is None else max(0, number - history)
        assert turn.images == tuple(screen(shown) for shown in range(first, number + 1))
        _, template = model_and_template()
        assert template.images is not None
        assert turn.prompt_ids.count(template.images.token_id) == 6 * len(turn.images)
        text = template.tokenizer.decode(turn.prompt_ids)
        assert text.startswith("<user><|vision_start|>"), "a screen comes before its text"
        assert ("in short" in text) is (first > 0), "turns that have left the window are a line of text each"
        assert text.count("Look.") == 1


def test_a_window_is_cut_to_what_fits_with_the_tokens_of_its_screens() -> None:
    (wide,) = played(4)
    limit = len(wide.turns[3].prompt_ids) + settings().max_tokens
    (narrow,) = played(4, context=limit)
    assert [len(turn.images) for turn in narrow.turns][:4] == [1, 2, 3, 4]
    assert len(narrow.turns[4].images) < 5
    assert len(narrow.turns[4].prompt_ids) + settings().max_tokens <= limit


def test_a_turn_with_screens_is_a_sample_of_its_own() -> None:
    (trajectory,) = played(None)
    samples = trajectory_samples(trajectory, [1.0, 0.0, 1.0, 1.0, 1.0])
    assert [len(sample.images) for sample in samples] == [1, 3, 4, 5]
    assert all(sum(sample.weights) == pytest.approx(1) for sample in samples)


def test_a_renderer_keeps_no_screen() -> None:
    renderer = policy(0).renderer
    image = Image(screen(1).pixels.copy())
    turns = [([1], Step("", "pass", "in short", "ok", "", image))]
    gone = weakref.ref(image)
    assert isinstance(renderer.prompt("Look.", turns, screen(0)), SeenPrompt)
    del turns, image
    gc.collect()
    assert gone() is None


def test_of_a_screen_its_png_alone_is_kept() -> None:
    (trajectory,) = played(1)
    screens = [trajectory.screen, *(step.screen for step in trajectory.steps)]
    assert all(shown is not None and shown.source == shown.png for shown in screens)
    assert trajectory.turns[1].images[0] is trajectory.turns[0].images[0] is trajectory.screen, "stored once"
    assert "screen" not in trajectory.to_dict()["steps"][0]


def test_sampler_and_trainer_agree_on_turns_with_screens() -> None:
    """As for text: the probabilities that the sampler records are those of the trainer's own forward pass."""
    player = policy(2)
    episodes = rollout(player, [Lamps() for _ in range(3)], ["a", "b", "c"], max_steps=9, seed=5)
    trainer = PlainTrainer(player.engine.generator.model, RunConfig(name="x").policy_trainer)  # type: ignore[attr-defined]
    for trajectory in episodes:
        for sample in trajectory_samples(trajectory, [1.0] * 5):
            recorded = torch.tensor(sample.logprobs)[torch.tensor(sample.weights) > 0]
            assert torch.allclose(trainer._chosen(sample), recorded, atol=1e-4)


def test_the_judge_sees_the_screens_around_a_step() -> None:
    (trajectory,) = played(0)
    model, template = model_and_template()
    config = settings(context=4096)
    prompts = FullStepPrompts(template, config).prompts(trajectory)
    for number, prompt in enumerate(prompts):
        assert isinstance(prompt, SeenPrompt)
        assert prompt.images == (screen(number), screen(number + 1))
        text = template.tokenizer.decode(prompt.ids)
        before, after = (text.index(f"The screen {side} the step") for side in ("before", "after"))
        assert before < after < text.index("You said"), "the text about the step comes last"
    from rlanything_agents.engines.chat import ChatGenerator
    from rlanything_agents.engines.transformers import TransformersGenerator

    judge = StepJudge(
        ChatGenerator(TransformersGenerator(model, template.tokenizer), template),
        FullStepPrompts(template, config, constrained=False),
        max_tokens=6,
    )
    (votes,) = judge.judge([trajectory], votes=2, seed=1)
    assert all(len(step.samples([1.0, -1.0])[0].images) == 2 for step in votes)


def test_a_judge_that_reads_text_alone_gets_no_screens() -> None:
    (trajectory,) = played(0)
    template = text_policy("qwen3").renderer.template
    prompts = FullStepPrompts(template, settings(checkpoint="qwen3", context=8192)).prompts(trajectory)
    assert all(isinstance(prompt, list) for prompt in prompts)


def test_screens_for_a_policy_that_reads_text_are_refused() -> None:
    check_eyes(Lamps(), sees=True)
    with pytest.raises(ConfigError, match=r"environment\.observation"):
        check_eyes(Lamps(), sees=False)
