"""The generative reward model: what counts as a score, and what its votes carry."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rlanything_agents.domains.alfworld.dialect import AlfWorldDialect
from rlanything_agents.rollout.dialect import Step
from transformers import Qwen3ForCausalLM

from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.reward_models.step_judge import StepJudge, StepVotes, Vote, parse_score
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams


@pytest.mark.parametrize(
    ("text", "score"),
    [
        (r"progress \boxed{1}", 1),
        (r"useless \boxed{-1}", -1),
        ("The step finds the apple.\n\\boxed{1}\n", 1),
        (r"\boxed{1}", 1),
        (r"progress \boxed{0}", 0),
        (r"progress \boxed{+1}", 0),
        (r"progress \boxed{ 1 }", 0),
        (r"progress \boxed{1} or not", 0),
        (r"\boxed{1} \boxed{-1}", 0),
        (r"\boxed{1} \boxed{1}", 0),
        (r"boxed{1}", 0),
        ("1", 0),
        ("", 0),
    ],
)
def test_scores_are_read_strictly(text: str, score: int) -> None:
    assert parse_score(text) == score


@given(st.text(max_size=200))
def test_any_text_has_a_score(text: str) -> None:
    assert parse_score(text) in (-1, 0, 1)


def trajectory(steps: int) -> Trajectory:
    opening = "You see a cabinet 1.\n\nYour task is to: put a mug in cabinet."
    done = tuple(Step("find mug", "go to cabinet 1", "The cabinet 1 is closed.") for _ in range(steps))
    return Trajectory("t", "", opening, done, -1, "", 0.0, [1], [], [], [], [])


def test_votes_follow_the_steps_and_can_be_learnt_from(untrained: Qwen3ForCausalLM, dialect: AlfWorldDialect) -> None:
    model = StepJudge(TransformersGenerator(untrained, dialect.tokenizer), dialect)
    trajectories = [trajectory(3), trajectory(0), trajectory(2)]
    judged = model.judge(trajectories, votes=4, seed=5)
    assert [len(steps) for steps in judged] == [3, 0, 2]
    assert judged == model.judge(trajectories, votes=4, seed=5)
    assert judged != model.judge(trajectories, votes=4, seed=6)
    for played, steps in zip(trajectories, judged, strict=True):
        for index, step in enumerate(steps):
            assert step.prompt_ids == dialect.judge_prompts(played.opening, played.steps)[index]
            assert len(step.votes) == len(step.scores) == 4
            samples = step.samples([1.0, 0.0, -0.5, 2.0])
            assert len(samples) == 3, "a vote without advantage is no sample"
            for sample, vote in zip(samples, [step.votes[0], *step.votes[2:]], strict=True):
                assert sample.completion_ids == vote.token_ids
                assert sum(sample.weights) == pytest.approx(1.0)
                with torch.no_grad():
                    ids = torch.tensor([sample.prompt_ids + sample.completion_ids])
                    logprobs = untrained(ids).logits[0].log_softmax(-1)[len(sample.prompt_ids) - 1 : -1]
                expected = logprobs[range(len(sample.completion_ids)), sample.completion_ids]
                assert np.allclose(sample.logprobs, expected, atol=1e-4)


def test_an_untrained_judge_writes_what_cannot_be_read(untrained: Qwen3ForCausalLM, dialect: AlfWorldDialect) -> None:
    model = StepJudge(TransformersGenerator(untrained, dialect.tokenizer), dialect)
    scores = [score for step in model.judge([trajectory(20)], votes=3, seed=0)[0] for score in step.scores]
    assert scores.count(0) > 30


def test_a_source_that_hides_its_tokens_cannot_judge(dialect: AlfWorldDialect) -> None:
    class Remote:
        trainable = False

        def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
            return [[Completion(r"progress \boxed{1}", "stop")] * params.n for _ in prompts]

        def update_weights(self, source: object, version: int) -> None: ...

        def close(self) -> None: ...

    with pytest.raises(ValueError, match="token ids"):
        StepJudge(Remote(), dialect).judge([trajectory(1)], votes=2, seed=0)


def test_step_votes_need_one_advantage_per_vote() -> None:
    step = StepVotes([1], (Vote("", 0, [2], [-0.1]),))
    with pytest.raises(ValueError, match="argument"):
        step.samples([1.0, 2.0])
