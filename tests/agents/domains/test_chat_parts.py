"""What surrounds the chats: other domains, engines that sleep and take new weights, judges that could not be heard."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from families import checkpoint, tokenizer
from rlanything_agents.domains.chat import ChatDialect, StepChatDialect, chat_dialect
from rlanything_agents.rollout.dialect import Step, UnknownDialect, get_dialect

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.feedback import FeedbackConfig, batch_feedback
from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.reward_models.judged_group import score_matrix
from rlanything_agents.reward_models.step_judge import StepVotes, Vote
from rlanything_agents.reward_models.step_reviewer import StepReviewer
from rlanything_agents.reward_models.unit_test_reviewer import program_of
from rlanything_agents.reward_models.unit_tests import ChatTests
from rlanything_agents.rollout.copies import ModelCopy, dialect_of
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.runs import learners as learners_module
from rlanything_agents.runs.learners import Learners
from rlanything_agents.runs.parts import make_envs
from rlanything_agents.training.samples import Sample
from rlanything_envs.curriculum import Assignment
from rlanything_envs.llm.generator import Completion, SamplingParams
from rlanything_task_pools import get_domain


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> RunConfig:
    folder = tmp_path_factory.mktemp("models")
    models = {
        role: {"checkpoint": str(checkpoint(name, folder / name)), "dtype": "float32", "max_tokens": 6, "context": 4096}
        for role, name in (("policy", "qwen3"), ("reward_model", "llama3"))
    }
    return RunConfig.model_validate({"name": "parts", **models})


class Engine:
    """A source of text elsewhere: it sleeps, and writes with the weights it was given last."""

    trainable = True

    def __init__(self, role: str, model: Any, words: Any, log: list[str]) -> None:
        self.role, self.log, self.inner = role, log, TransformersGenerator(model, words)
        self.awake = False

    def generate(self, prompts: Any, params: SamplingParams) -> list[list[Completion]]:
        assert self.awake
        self.log.append(f"{self.role} writes")
        return self.inner.generate(prompts, params)

    def update_weights(self, source: Any, version: int) -> None:
        self.log.append(f"{self.role} takes {version}")

    def sleep(self) -> None:
        if self.awake:
            self.log.append(f"{self.role} sleeps")
        self.awake = False

    def wake(self) -> None:
        if not self.awake:
            self.log.append(f"{self.role} wakes")
        self.awake = True

    def close(self) -> None:
        self.log.append(f"{self.role} ends")


def test_engines_take_turns_and_new_weights(config: RunConfig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log: list[str] = []
    monkeypatch.setattr(
        learners_module, "open_engine", lambda _, role, model, words, folder: Engine(role, model, words, log)
    )
    settings = config.model_copy(update={"policy_trainer": config.policy_trainer.model_copy(update={"average": 0.5})})
    both = Learners(settings, dialect_of(settings), tmp_path)
    params = SamplingParams(2, seed=0)

    def said() -> list[str]:
        done, log[:] = list(log), []
        return done

    assert isinstance(both.dialect, ChatDialect)
    prompt = both.dialect.opening("A room.")
    both.player.generate([prompt], params)
    both.player.generate([prompt], params)
    assert said() == ["policy wakes", "policy writes", "policy writes"]
    both.generator.generate([[{"role": "user", "content": "Judge."}]], params)
    assert said() == ["policy sleeps", "judge wakes", "judge writes"]
    both.policy.update([Sample([1], [2, 3], [0.5, 0.5], [1.0, 1.0], [-1.0, -1.0])], 1.0, groups=1)
    assert said() == ["judge sleeps"], "whoever learns has the memory"
    both.player.generate([prompt], params)
    assert said() == ["policy takes 1", "policy wakes", "policy writes"]
    with both.averaged():
        both.player.generate([prompt], params)
    both.player.generate([prompt], params)
    assert said() == ["policy takes 2", "policy writes", "policy takes 3", "policy writes"]
    both.close()
    assert said() == ["policy ends", "judge ends"]


def test_a_copy_plays_with_what_the_policy_has_learnt(config: RunConfig) -> None:
    both, copy = Learners(config, dialect_of(config)), ModelCopy(config, "policy")
    assert isinstance(both.dialect, ChatDialect)
    prompt, params = both.dialect.opening("A room."), SamplingParams(6, seed=1)
    start = both.player.generate([prompt], params)
    assert copy.player.generate([prompt], params) == start
    both.policy.update([Sample([1], [2, 3], [0.5, 0.5], [1.0, 1.0], [-1.0, -1.0])] * 4, 30.0, groups=1)
    learnt = both.player.generate([prompt], params)
    assert learnt != start
    copy.take(both.for_copies("policy"))
    assert [c[0].token_ids for c in copy.player.generate([prompt], params)] == [c[0].token_ids for c in learnt]


def test_small_and_pretrained_models_meet_where_that_makes_sense(config: RunConfig) -> None:
    mixed = RunConfig.model_validate(
        {"name": "mixed", "policy": {"hidden_size": 16, "layers": 1, "heads": 2}, "reward_model": config.reward_model}
    )
    both = Learners(mixed, dialect_of(mixed))
    assert both.dialect is get_dialect("alfworld")
    assert isinstance(both.judge_dialect, StepChatDialect)
    assert both.reward_model.max_tokens == 6
    with pytest.raises(ValueError, match="cannot read what a pretrained policy writes"):
        RunConfig.model_validate({"name": "mixed", "policy": config.policy})
    alone = RunConfig.model_validate(
        {"name": "alone", "policy": config.policy, "feedback": "outcome", "judge": {"train": False}}
    )
    assert not alone.judge_is_asked
    with pytest.raises(ValueError, match=r"engine\.kind vllm is for pretrained models"):
        RunConfig.model_validate({"name": "mixed", "engine": {"kind": "vllm"}})


def test_an_expert_can_be_imitated_in_chats(config: RunConfig) -> None:
    dialect = dialect_of(config)
    assert isinstance(dialect, StepChatDialect)
    turn = [*dialect.thought("find apple"), *dialect.command("go to fridge 1")]
    assert tokenizer("qwen3").decode(turn) == "I think: find apple.\nAction: go to fridge 1<|im_end|>"
    assert dialect.read_turn(turn) == ("I think: find apple.", "go to fridge 1")


def test_programs_are_written_whole_too() -> None:
    settings = CheckpointConfig(checkpoint="x", thinking="keep")
    dialect = chat_dialect("coding", ChatTemplate(tokenizer("qwen3"), thinking=True), settings)
    assert not isinstance(dialect, StepChatDialect)
    task = get_domain("coding").generate(3)
    text = f"<think>SUBMIT?\n```python\n1\n```</think>SUBMIT\n```python\n{task.proof[0]}\n```"
    thought, action = dialect.read_turn([*dialect.template.encode(text), dialect.end_id])
    assert thought.startswith("SUBMIT?")
    config = RunConfig.model_validate({"name": "code", "domain": "coding"})
    (env,) = make_envs(config, dialect, 1)
    with env:
        opening, _ = env.reset(options={"task": task})
        assert tokenizer("qwen3").decode(dialect.opening(opening)).count("<|im_start|>") == 2
        answer, *_, info = env.step(action)
    assert info["outcome"] == 1
    played = Trajectory("t", "", opening, (Step(thought, action, answer),), 1, "", 1.0, [1], [2], [0], [-1.0], [None])
    assert program_of(played).strip() == task.proof[0].strip()
    with pytest.raises(UnknownDialect, match="leave `lessons` off"):
        _ = dialect.lessons
    with pytest.raises(UnknownDialect, match="writes freely"):
        dialect.constraint({})


def test_a_pretrained_reward_model_writes_unit_tests_in_chats(config: RunConfig) -> None:
    code = RunConfig.model_validate({"name": "code", "domain": "coding", "reward_model": config.reward_model})
    both = Learners(code, dialect_of(code))
    reviewer: Any = both.dialect.reviewer(code, both)
    assert isinstance(reviewer.writer.style, ChatTests)
    assert reviewer.writer.style.max_test_tokens == 6


def vote(score: int) -> Vote:
    return Vote("said", score, [1], [-1.0])


def test_an_episode_whose_judge_could_not_be_heard_counts_for_nothing(config: RunConfig) -> None:
    both = Learners(config, dialect_of(config))
    reviewer: Any = both.dialect.reviewer(config, both)
    assert isinstance(reviewer, StepReviewer)
    steps = (Step("", "look", "ok"), Step("", "look", "ok"))
    episodes = [Trajectory("t", "", "o", steps, 1, "", 1.0, [1], [2, 3], [0, 1], [-1.0] * 2, [None] * 2)] * 2
    heard = [StepVotes([1], (vote(1), vote(-1)))] * 2
    votes = [[heard, [heard[0], StepVotes([1], (), "the card fell off")]]]
    reviewer._votes = lambda *_: votes
    assignment = Assignment(get_domain("alfworld").generate(0), 0, "active")
    (group,) = reviewer.heard([assignment], [episodes], [])
    assert group.outcomes == [1, None]
    assert "the card fell off" in group.trajectories[1].error
    (feedback,) = batch_feedback([(group.outcomes, group.scores())], FeedbackConfig(policy_band=None, judge_band=None))
    assert not feedback.policy[1].any()
    assert not feedback.judge[1].any()
    assert [outcome.success for outcome in group.pool_outcomes("x")] == [True, None]


def test_an_episode_without_a_step_breaks_nothing() -> None:
    assert score_matrix([]).shape == (0, 0)
    votes = [score_matrix([StepVotes([1], (vote(1), vote(-1)))]), score_matrix([])]
    config = FeedbackConfig(policy_band=None, judge_band=None)
    for outcome in (None, -1):
        (feedback,) = batch_feedback([([1, outcome], votes)], config)
        assert feedback.policy[1].shape == (0,)
        assert np.isfinite(feedback.policy[0]).all()
