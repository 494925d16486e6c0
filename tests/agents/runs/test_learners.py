"""The models of a run and what they write with; judges that could not answer."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from families import checkpoint, tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.config.model import MAX_ANSWER
from rlanything_agents.domains.coding.short_tests import ShortTests
from rlanything_agents.domains.supervision import get_supervision
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.feedback import FeedbackConfig, batch_feedback
from rlanything_agents.models.small import word_tokenizer
from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.reward_models.judged_group import score_matrix
from rlanything_agents.reward_models.step_judge import StepVotes, Vote
from rlanything_agents.reward_models.step_reviewer import StepReviewer
from rlanything_agents.reward_models.unit_test_reviewer import submission
from rlanything_agents.reward_models.unit_tests import ChatTests
from rlanything_agents.rollout.copies import ModelCopy
from rlanything_agents.rollout.environments import make_envs, view_of
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.trajectory import Step, Trajectory
from rlanything_agents.runs import learners as learners_module
from rlanything_agents.runs.learners import Learners
from rlanything_agents.training.samples import Sample
from rlanything_envs.curriculum import Assignment
from rlanything_envs.llm.generator import Completion, SamplingParams
from rlanything_envs.views import get_view
from rlanything_task_pools import get_domain
from rlanything_task_pools.coding import read_payload

OUTCOME = {"policy": {"checkpoint": "x"}, "feedback": "outcome", "judge": {"train": False}}
SIZE = {"hidden_size": 16, "layers": 1}


@pytest.fixture(scope="module")
def chats(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("models")
    return {
        role: {"checkpoint": str(checkpoint(name, folder / name)), "dtype": "float32", "max_tokens": 6, "context": 4096}
        for role, name in (("policy", "qwen3"), ("reward_model", "llama3"))
    }


@pytest.fixture(params=["small", "chat"])
def config(request: pytest.FixtureRequest, chats: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> RunConfig:
    """Of small models made on the spot, or of checkpoints: no test asks which."""
    # samples of these tests have probabilities of no sampler
    monkeypatch.setattr("rlanything_agents.training.trainer.MOST_SAMPLER_RATIO", math.inf)
    models = chats if request.param == "chat" else {"policy": SIZE, "reward_model": SIZE}
    return RunConfig.model_validate({"name": "parts", **models, "feedback": "masked"})


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
        learners_module, "open_engine", lambda _, role, model, words, *more: Engine(role, model, words, log)
    )
    both = Learners(config, tmp_path)
    params = SamplingParams(2, seed=0)

    def calls() -> list[str]:
        done, log[:] = list(log), []
        return done

    engine, prompt = both.actor.engine, both.actor.renderer.opening("nothing")
    engine.generate([prompt], params)
    engine.generate([prompt], params)
    assert calls() == ["policy wakes", "policy writes", "policy writes"]
    both.judge_model.generator.generate([[{"role": "user", "content": "nothing"}]], params)
    assert calls() == ["policy sleeps", "judge wakes", "judge writes"]
    both.policy.update([Sample([1], [2, 3], [0.5, 0.5], [1.0, 1.0], [-1.0, -1.0])], 1.0)
    assert calls() == ["judge sleeps"], "whoever learns has the memory"
    engine.generate([prompt], params)
    assert calls() == ["policy takes 1", "policy wakes", "policy writes"]
    both.close()
    assert calls() == ["policy ends", "judge ends"]


def test_a_loss_divides_by_the_longest_answer_of_its_model(config: RunConfig) -> None:
    settings = config.policy_trainer.model_copy(update={"loss": "dr_grpo", "recompute": True})
    both = Learners(config.model_copy(update={"policy_trainer": settings}))
    stats = both.policy.update([Sample([1], [2, 3], [0.5, 0.5], [1.0, 1.0], [-1.0, -1.0])], 1.0)
    assert stats.loss == pytest.approx(-2 / getattr(config.policy, "max_tokens", MAX_ANSWER), rel=1e-5)


def test_a_copy_plays_with_what_the_policy_has_learnt(config: RunConfig) -> None:
    both, copy = Learners(config), ModelCopy(config, "policy")
    prompt, params = both.actor.renderer.opening("nothing"), SamplingParams(6, seed=1)
    start = both.actor.engine.generate([prompt], params)
    assert copy.policy.engine.generate([prompt], params) == start
    both.policy.update([Sample([1], [2, 3], [0.5, 0.5], [1.0, 1.0], [-1.0, -1.0])] * 4, 30.0)
    learnt = both.actor.engine.generate([prompt], params)
    assert learnt != start
    copy.load(both.for_copies("policy"))
    assert [c[0].token_ids for c in copy.policy.engine.generate([prompt], params)] == [c[0].token_ids for c in learnt]


def test_learners_without_a_folder_delete_their_own() -> None:
    both = Learners(RunConfig.model_validate({"name": "parts", "policy": SIZE, "reward_model": SIZE}))
    folder = Path(both.policy.tokenizer.name_or_path).parent  # type: ignore[union-attr]
    assert folder.is_dir()
    both.close()
    assert not folder.exists()


def test_a_small_model_is_a_folder_that_anybody_reads(tmp_path: Path) -> None:
    """Ids, logits and chats of a run's small model are those of the folder as transformers loads it."""
    config = RunConfig.model_validate({"name": "folder", "policy": SIZE, "reward_model": SIZE})
    both = Learners(config, tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "policy")
    words = AutoTokenizer.from_pretrained(tmp_path / "policy")
    ids = both.actor.renderer.opening("put a hot apple in fridge")
    chat = [{"role": "user", "content": "put a hot apple in fridge"}]
    assert words.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)["input_ids"] == ids
    with torch.inference_mode():
        assert torch.equal(model(torch.tensor([ids])).logits, both.policy.model(torch.tensor([ids])).logits)
    other = Learners(config, tmp_path / "elsewhere")
    for name, weight in other.policy.model.state_dict().items():
        assert torch.equal(weight, both.policy.model.state_dict()[name]), "the same seed makes the same model"


@pytest.mark.parametrize("domain", ["AlfWorld", "Coding"])
def test_each_word_of_a_short_view_is_one_token(domain: str) -> None:
    view = get_view(f"RLAnything/{domain}-v0", "short")
    template = ChatTemplate(word_tokenizer(view.words))
    words = template.tokenizer
    assert len(words) == len(view.words) + 5
    for word in view.words:
        (token,) = template.encode(word)
        assert token != words.unk_token_id
        assert words.decode([token]).strip() == word
    several = view.words[7:11]
    assert template.encode(" ".join(several)) == [template.encode(word)[0] for word in several]
    if not any(":" in word for word in view.words):
        assert template.encode(f"{several[0]}: {several[1]}") == template.encode(f"{several[0]} {several[1]}")
    assert template.encode("Unheard-of") == [words.unk_token_id]
    chat = [{"role": "user", "content": several[0]}, {"role": "assistant", "content": several[1]}]
    begun = template.prompt(chat[:1])
    whole = [*begun, *template.answer(several[1]), *template.between(several[2])]
    assert whole == template.prompt([*chat, {"role": "user", "content": several[2]}]), "boundaries are exact"
    assert words.decode(begun).split() == ["<user>", *several[0].split(), "<answer>"]


def test_a_small_policy_and_a_pretrained_judge(chats: dict[str, Any]) -> None:
    mixed = RunConfig.model_validate({"name": "mixed", "policy": SIZE, "reward_model": chats["reward_model"]})
    both = Learners(mixed)
    assert (mixed.view, both.judge_model.config.max_tokens) == ("short", 6)
    small_judge = RunConfig.model_validate(
        {"name": "mixed", "policy": chats["policy"], "reward_model": SIZE, "environment": {"view": "short"}}
    )
    assert Learners(small_judge).actor.renderer.view.name == "short", "any model can use the short view"
    with pytest.raises(ValueError, match="reward_model is a small model, whose words are those of the short view"):
        RunConfig.model_validate(
            {"name": "mixed", "policy": chats["policy"], "reward_model": SIZE, "feedback": "masked"}
        )
    alone = RunConfig.model_validate(
        {"name": "alone", "policy": chats["policy"], "feedback": "outcome", "judge": {"train": False}}
    )
    assert not alone.queries_judge


def test_an_expert_can_be_imitated_in_full_chats(chats: dict[str, Any]) -> None:
    config = RunConfig.model_validate({"name": "x", **chats})
    renderer = Learners(config).actor.renderer
    answer = renderer.answer("find apple", "go to fridge 1")
    assert tokenizer("qwen3").decode(answer) == "find apple\nAction: go to fridge 1<|im_end|>"
    assert renderer.read(answer) == ("find apple", "go to fridge 1")


def test_programs_are_written_in_chats_too() -> None:
    settings = CheckpointConfig(checkpoint="x", thinking="keep")
    config = RunConfig.model_validate({"name": "code", "domain": "coding", "environment": {"view": "full"}, **OUTCOME})
    template = ChatTemplate(tokenizer("qwen3"), thinking=True)
    renderer = Renderer(template, view_of(config), settings)
    task = get_domain("coding").generate(3)
    text = f"<think>SUBMIT?\n```python\n1\n```</think>SUBMIT\n```python\n{task.proof[0]}\n```"
    thought, action = renderer.read([*template.encode(text), template.end_id])
    assert thought.startswith("SUBMIT?")
    (env,) = make_envs(config, 1)
    with env:
        opening, _ = env.reset(options={"task": task})
        assert tokenizer("qwen3").decode(renderer.opening(opening)).count("<|im_start|>") == 2
        answer, *_, info = env.step(action)
    assert info["outcome"] == 1
    played = Trajectory("t", "", opening, (Step(thought, action, answer),), 1, "", 1.0, [1], [2], [0], [-1.0], [None])
    assert submission(played, read_payload(task.payload), {}).code.strip() == task.proof[0].strip()


@pytest.mark.parametrize("view", ["full", "short"])
def test_a_reward_model_of_coding_writes_tests_in_the_words_of_the_view(chats: dict[str, Any], view: str) -> None:
    code = RunConfig.model_validate({"name": "code", "domain": "coding", "environment": {"view": view}, **chats})
    reviewer: Any = get_supervision("coding").reviewer(code, Learners(code).judge_model)
    assert isinstance(reviewer.writer.style, ChatTests if view == "full" else ShortTests)
    assert reviewer.writer.max_tokens == 6


def vote(score: int) -> Vote:
    return Vote("said", score, [1], [-1.0])


def test_an_episode_whose_judge_could_not_answer_counts_for_nothing(config: RunConfig) -> None:
    reviewer: Any = get_supervision(config.domain).reviewer(config, Learners(config).judge_model)
    assert isinstance(reviewer, StepReviewer)
    steps = (Step("", "look", "ok"), Step("", "look", "ok"))
    episodes = [Trajectory("t", "", "o", steps, 1, "", 1.0, [1], [2, 3], [0, 1], [-1.0] * 2, [None] * 2)] * 2
    heard = [StepVotes([1], (vote(1), vote(-1)))] * 2
    votes = [[heard, [heard[0], StepVotes([1], (), "the card fell off")]]]
    reviewer._votes = lambda *_: votes
    assignment = Assignment(get_domain("alfworld").generate(0), 0, "active")
    (group,) = reviewer.collate([assignment], [episodes], [])
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
