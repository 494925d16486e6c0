"""Batched rollouts against real games: one path for a small model in the short view and for families of chat models."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gymnasium as gym
import pytest
import torch
from families import Scripted, model, policy

from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.feedback.metrics import action_shares
from rlanything_agents.rollout.renderer import Turn
from rlanything_agents.rollout.rollout import Policy, rollout
from rlanything_agents.rollout.screens import Screens
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.training.samples import Sample, trajectory_samples
from rlanything_agents.training.trainer import SampleTrainer
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.llm.errors import RunMustStop
from rlanything_envs.llm.generator import Completion
from rlanything_task_pools import Task, TaskFormatError
from rlanything_verifiers.alfworld import Game, Goal, Scene, World

Games = Callable[..., list[Task]]
Envs = list[gym.Env[str, str]]
MODELS = ("small", "llama3")
"""A small model with a tokenizer of words, and a chat model with one of bytes: no test asks which it has."""
WAYS = [
    ("small", None, None, 1),
    ("small", None, 1, 2),
    ("small", None, 0, 3),
    ("qwen2.5", None, None, 1),
    ("qwen3", None, None, 1),
    ("qwen3", "keep", None, 1),
    ("qwen3", "keep", 1, 2),
    ("qwen3", "strip", None, 3),
    ("llama3", None, None, 1),
    ("llama3", None, 0, 3),
    ("reasoner", "strip", None, 3),
    ("reasoner", "strip", 1, 3),
]
"""Model, thoughts, history window, and the rows of an episode of three turns."""


@dataclass(frozen=True)
class Agent:
    """A policy, its weights, and what it plays in."""

    policy: Policy
    trained: Any
    envs: Envs

    @property
    def play(self) -> Callable[..., list[Trajectory]]:
        return partial(rollout, self.policy, self.envs)


@pytest.fixture
def agent_of(envs: Envs, full_envs: Envs) -> Callable[..., Agent]:
    def make(name: str, thinking: str | None = None, **settings: Any) -> Agent:
        trained = model(name)
        playing = policy(name, trained, thinking=thinking, **settings)
        return Agent(playing, trained, envs if name == "small" else full_envs)

    return make


@pytest.fixture(params=MODELS)
def agent(request: pytest.FixtureRequest, agent_of: Callable[..., Agent]) -> Agent:
    return agent_of(request.param)


def scored(trained: Any, sample: Sample) -> Iterator[tuple[float, float]]:
    """(stored, recomputed) log-probability of every token that is learnt, by one pass over the whole row."""
    with torch.no_grad():
        logits = trained(torch.tensor([sample.prompt_ids + sample.completion_ids])).logits[0]
    for t, weight in enumerate(sample.weights):
        if weight:
            row = logits[len(sample.prompt_ids) + t - 1]
            choice = sample.allowed[t] if sample.allowed else None
            allowed = list(range(row.shape[0])) if choice is None else list(choice)
            place = allowed.index(sample.completion_ids[t])
            yield sample.logprobs[t], float(row[allowed].log_softmax(-1)[place])


@pytest.mark.parametrize(("name", "thinking", "history", "each"), WAYS)
def test_sampled_tokens_are_learnt_as_they_were_sampled(
    name: str, thinking: str | None, history: int | None, each: int, agent_of: Callable[..., Agent], games: Games
) -> None:
    agent = agent_of(name, thinking, history=history)
    played = agent.play(games(4), max_steps=3, seed=1, temperature=0.7)
    rows = [sample for t in played for sample in trajectory_samples(t, [1.0, -1.0, 2.0])]
    assert len(rows) == len(played) * each
    for row in rows:
        pairs = list(scored(agent.trained, row))
        assert len(pairs) >= 2
        assert max(abs(stored - again) for stored, again in pairs) < 1e-4
    template = agent.policy.renderer.template
    trainer = SampleTrainer(agent.trained, template.tokenizer, TrainerConfig(optimizer_steps=1, learning_rate=1e-3))
    stats = trainer.update(rows)
    assert stats.kl < 5e-9, "the trainer scores the tokens as they were sampled"
    assert stats.grad_norm > 0
    assert stats.step_samples == pytest.approx(12)
    assert trainer.update(rows).kl > 1e-7, "and then the model has moved"


def test_top_p_changes_what_is_sampled_not_what_is_recorded(agent: Agent, games: Games) -> None:
    played, narrow = (agent.play(games(4), max_steps=3, seed=1, top_p=top_p) for top_p in (1.0, 0.3))
    assert [t.completion_ids for t in played] != [t.completion_ids for t in narrow]
    for trajectory in narrow:
        for row in trajectory_samples(trajectory, [1.0, -1.0, 2.0]):
            assert max(abs(stored - again) for stored, again in scored(agent.trained, row)) < 1e-4


@pytest.mark.parametrize("thinking", [None, "strip"])
def test_stop_texts_end_an_answer(thinking: str | None, agent_of: Callable[..., Agent], games: Games) -> None:
    """The action is read from the text before a stop text, whose tokens stay in the transcript and are learnt."""
    letters = tuple("abcdefghijklmnopqrstuvwxyz")
    agent = agent_of("qwen3", thinking)
    played = agent.play(games(3), max_steps=2, seed=1, stop=letters)
    steps = [step for trajectory in played for step in trajectory.steps]
    assert not any(letter in step.thought + step.action for step in steps for letter in letters)
    decode, stopped = agent.policy.renderer.template.decode, 0
    for trajectory in played:
        sampled = zip(trajectory.completion_ids, trajectory.step_of_token, strict=True)
        answers: dict[int, list[int]] = {}
        for token, step in sampled:
            if step is not None:
                answers.setdefault(step, []).append(token)
        for ids in answers.values():
            assert not any(letter in decode(ids[:-1]) for letter in letters)
            stopped += decode(ids)[-1:] in letters
        for row in trajectory_samples(trajectory, [1.0, -1.0]):
            assert max(abs(stored - again) for stored, again in scored(agent.trained, row)) < 1e-4
    assert stopped


def test_a_small_model_may_write_freely(agent_of: Callable[..., Agent], games: Games) -> None:
    agent = agent_of("small")
    played = agent.play(games(6), max_steps=4, seed=0, constrained=False)
    steps = [step for trajectory in played for step in trajectory.steps]
    shares = action_shares(step.command for step in steps)
    assert shares["admissible"] <= shares["readable"] < 1
    assert sum(step.full == "Nothing happens." for step in steps) > len(steps) / 2
    for trajectory in played:
        assert set(trajectory.allowed) == {None}
        (sample,) = trajectory_samples(trajectory, [1.0] * len(trajectory.steps))
        assert sample.allowed is None
        assert max(abs(stored - again) for stored, again in scored(agent.trained, sample)) < 1e-4
        for number in range(len(trajectory.steps)):
            assert 1 <= trajectory.step_of_token.count(number) <= agent.policy.renderer.limit


def test_rounded_weights_give_nearly_what_was_sampled(full_envs: Envs, games: Games) -> None:
    trained = model("qwen3").bfloat16()
    played = rollout(policy("qwen3", trained), full_envs, games(2), max_steps=3, seed=1)
    pairs = [pair for t in played for sample in trajectory_samples(t, [1.0] * 3) for pair in scored(trained, sample)]
    assert sum(abs(stored - again) for stored, again in pairs) / len(pairs) < 0.03


def test_constrained_turns_are_admissible_and_replayable(agent_of: Callable[..., Agent], games: Games) -> None:
    tasks = games(8)
    for task, trajectory in zip(tasks, agent_of("small").play(tasks, max_steps=8, seed=3), strict=True):
        world = World(
            Game(Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"]), sentence=task.goal)
        )
        assert trajectory.full_opening == world.reset()
        assert trajectory.opening != trajectory.full_opening
        assert trajectory.task_id == task.id
        for step in trajectory.steps:
            assert step.action in world.admissible_commands
            assert step.full == world.step(step.action)
        assert (trajectory.outcome, trajectory.score) == ((1, 1.0) if world.won else (-1, 0.0))


@pytest.mark.parametrize(("name", "thinking", "history"), [way[:3] for way in WAYS])
def test_prompts_are_those_of_the_template(
    name: str, thinking: str | None, history: int | None, agent_of: Callable[..., Agent], games: Games
) -> None:
    agent = agent_of(name, thinking, history=history)
    renderer = agent.policy.renderer
    for trajectory in agent.play(games(2), max_steps=3, seed=5):
        chat: list[Turn] = []
        transcript = renderer.opening(trajectory.opening)
        whole = trajectory.prompt_ids + trajectory.completion_ids
        assert trajectory.prompt_ids == transcript
        for number, step in enumerate(trajectory.steps):
            ids = answer_ids(whole[len(transcript) :], renderer.end_id)
            assert bool(trajectory.turns) == (thinking == "strip" or history is not None)
            if trajectory.turns:
                assert trajectory.turns[number].prompt_ids == renderer.prompt(trajectory.opening, chat)
            if number < len(trajectory.steps) - 1:  # of the last answer forced tokens at its end are not kept
                for turn in trajectory.turns[number : number + 1]:
                    assert turn.token_ids == ids[: len(turn.token_ids)]
                assert renderer.read(ids) == (step.thought, step.action)
            transcript += [*ids, *renderer.message(step.observation)]
            assert whole[: len(transcript)] == transcript[: len(whole)]
            chat.append((ids, step))


def answer_ids(following: list[int], end: int) -> list[int]:
    """The ids of the answer that stands first, closed."""
    length = following.index(end) if end in following else len(following)
    return [*following[:length], end]


def test_forced_tokens_have_no_weight(agent_of: Callable[..., Agent], games: Games) -> None:
    forced = 0
    for trajectory in agent_of("small").play(games(6), max_steps=6, seed=3):
        assert trajectory.step_of_token[-1] == len(trajectory.steps) - 1, "nothing is kept after the last choice"
        assert {s for s in trajectory.step_of_token if s is not None} == set(range(len(trajectory.steps)))
        advantages = [0.0 if i % 3 == 0 else float(i) - 4.5 for i in range(len(trajectory.steps))]
        (sample,) = trajectory_samples(trajectory, advantages)
        for step, logprob, choice, weight in zip(
            trajectory.step_of_token, trajectory.logprobs, trajectory.allowed, sample.weights, strict=True
        ):
            assert (step is None) == (choice is None)
            assert choice is None or len(choice) > 1, "a forced token is no choice"
            assert step is not None or (logprob, weight) == (0.0, 0.0)
            forced += step is None
        for number, advantage in enumerate(advantages):
            tokens = [t for t, step in enumerate(trajectory.step_of_token) if step == number]
            assert sum(sample.weights[t] for t in tokens) == pytest.approx(1.0 if advantage else 0.0)
            assert {sample.advantages[t] for t in tokens} == {advantage}
        assert sample.completion_ids == trajectory.completion_ids
    assert forced > 20


def test_an_episode_depends_on_seed_and_number_alone(agent: Agent, games: Games) -> None:
    tasks = games(6)
    together = agent.play(tasks, max_steps=4, seed=3)
    few = replace(agent, envs=agent.envs[:2])
    apart = [*few.play(tasks[:3], max_steps=4, seed=3), *few.play(tasks[3:], max_steps=4, seed=3, first=3)]
    assert [t.steps for t in apart] == [t.steps for t in together]
    assert [t.completion_ids for t in apart] == [t.completion_ids for t in together]
    assert [t.steps for t in agent.play(tasks, max_steps=4, seed=4)] != [t.steps for t in together]


class Failing(gym.Wrapper[str, str, str, str]):
    """An environment whose machinery fails at a given step (0: at reset)."""

    def __init__(self, env: gym.Env[str, str], at: int, how: str) -> None:
        super().__init__(env)
        self.at, self.how, self.count = at, how, 0

    def reset(self, **kwargs: Any) -> Any:
        self.count = 0
        observation, info = super().reset(**kwargs)
        if self.at == 0:
            raise InfrastructureError("no world")
        return observation, info

    def step(self, action: str) -> Any:
        self.count += 1
        result = super().step(action)
        if self.count < self.at:
            return result
        if self.how == "raise":
            raise ConnectionResetError("gone")
        return result[0], 0.0, False, True, {**result[4], "outcome": "error"}


def test_failures_of_the_machinery_end_their_own_episode(agent: Agent, games: Games) -> None:
    tasks = games(6)
    whole = agent.play(tasks, max_steps=5, seed=3)
    some = list(agent.envs[:6])
    some[1], some[2] = Failing(some[1], 0, "raise"), Failing(some[2], 3, "raise")
    some[4] = Failing(some[4], 4, "report")
    ended: list[int] = []
    trajectories = rollout(
        agent.policy, some, tasks, max_steps=5, seed=3, tags=[f"slot {i}" for i in range(6)], progress=ended.append
    )
    for i, trajectory in enumerate(trajectories):
        assert trajectory.tag == f"slot {i}"
        if i in (1, 2, 4):
            assert trajectory.outcome is None
            assert trajectory.success is None
            assert trajectory.error
        else:
            assert trajectory.steps == whole[i].steps
            assert trajectory.error == ""
    assert [len(trajectories[i].steps) for i in (1, 2, 4)] == [0, 3, 4]
    assert trajectories[1].task_id == tasks[1].id
    assert "gone" in trajectories[2].error
    assert sum(ended) == 5, "an episode that never began did not end"


def test_misuse_is_raised_not_masked(agent: Agent, games: Games) -> None:
    (task,) = games(1)
    broken = task.model_copy(update={"domain": "chess"})
    with pytest.raises(TaskFormatError):
        agent.play([task, broken], max_steps=2, seed=0)
    with pytest.raises(ValueError, match="at least one environment"):
        rollout(agent.policy, [], [task], max_steps=2, seed=0)
    with pytest.raises(ValueError, match="one tag per task"):
        agent.play([task], max_steps=2, seed=0, tags=[])
    with pytest.raises(ValueError, match="temperature"):
        agent.play([task], max_steps=2, seed=0, temperature=-0.1)
    assert agent.play([], max_steps=2, seed=0) == []


def test_progress_counts_every_episode_once(untrained: Policy, envs: Envs, games: Games) -> None:
    ended: list[int] = []
    rollout(untrained, envs[:3], games(7), max_steps=3, seed=0, progress=ended.append)
    assert sum(ended) == 7


class Waiting(gym.Wrapper[str, str, str, str]):
    """An environment whose steps wait until something has happened."""

    def __init__(self, env: gym.Env[str, str], event: threading.Event) -> None:
        super().__init__(env)
        self.event = event

    def step(self, action: str) -> Any:
        assert self.event.wait(60), "the other environment waits for this one"
        return super().step(action)


def test_few_environments_play_in_turn_and_wait_for_no_other(untrained: Policy, envs: Envs, games: Games) -> None:
    tasks, ended, over = games(7), list[int](), threading.Event()
    expected = rollout(untrained, envs[:7], tasks, max_steps=3, seed=3, first=2)

    def progress(number: int) -> None:
        ended.append(number)
        if sum(ended) == 6:
            over.set()

    slow = [Screens(Waiting(envs[0], over)), Screens(envs[1])]
    played = rollout(untrained, slow, tasks, max_steps=3, seed=3, first=2, threads=2, progress=progress)
    assert [t.steps for t in played] == [t.steps for t in expected]
    assert [t.completion_ids for t in played] == [t.completion_ids for t in expected]
    assert sum(ended) == 7
    assert [list(env.take()) for env in slow] == [[0], [1, 2, 3, 4, 5, 6]], (
        "pictures are of the episode of their number"
    )


def test_in_turn_a_failure_ends_its_own_episode_and_misuse_is_raised(
    untrained: Policy, envs: Envs, games: Games
) -> None:
    tasks = games(6)
    whole = rollout(untrained, envs[:6], tasks, max_steps=4, seed=3)
    some: Envs = [Failing(envs[0], 2, "raise"), Failing(envs[1], 0, "raise"), envs[2]]
    played = rollout(untrained, some, tasks, max_steps=4, seed=3, threads=3)
    assert all(bool(one.error) is (one.outcome is None) for one in played)
    assert any(one.error for one in played)
    for one, same in zip(played, whole, strict=True):
        assert one.error or one.steps == same.steps
    broken = tasks[0].model_copy(update={"domain": "chess"})
    with pytest.raises(TaskFormatError):
        rollout(untrained, envs[:2], [*tasks, broken], max_steps=2, seed=0, threads=2)


def scripted(agent: Agent, texts: Sequence[str | None]) -> Agent:
    return replace(agent, policy=replace(agent.policy, engine=Scripted(agent.policy.renderer.template, texts)))


def test_turns_are_read_as_every_other_agents_are(agent_of: Callable[..., Agent], games: Games) -> None:
    texts = [
        "<think>Perhaps Action: look</think>I check what I carry.\nAction: inventory",
        "<think>It never ends. Action: inventory",
    ]
    (played,) = scripted(agent_of("qwen3", "keep"), texts).play(games(1), max_steps=2, seed=0)
    first, second = played.steps
    assert (first.thought, first.action) == ("Perhaps Action: look\nI check what I carry.", "inventory")
    assert first.observation == "You are not carrying anything."
    assert (second.thought, second.action) == ("It never ends. Action: inventory", "")
    assert second.observation == "Nothing happens."


def test_a_turn_that_was_not_written_is_no_reward(agent: Agent, games: Games) -> None:
    fine, broken = scripted(agent, ["look", None]).play(games(2), max_steps=1, seed=0)
    assert (fine.outcome, fine.error) == (-1, "")
    assert broken.outcome is None
    assert "the card fell off" in broken.error
    assert broken.steps == ()
    with pytest.raises(RunMustStop, match="none of 2 turns"):
        scripted(agent, [None]).play(games(2), max_steps=1, seed=0)


def test_a_source_that_hides_its_tokens_is_refused(agent: Agent, games: Games) -> None:
    hiding = scripted(agent, ["look"])
    hiding.policy.engine.write = lambda: Completion("look", "stop")  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="token ids"):
        hiding.play(games(1), max_steps=1, seed=0)


@pytest.mark.parametrize(("name", "thinking"), [("small", None), ("qwen3", None), ("qwen3", "strip")])
def test_an_episode_that_outgrows_the_context_is_cut_off_and_failed(
    name: str, thinking: str | None, agent_of: Callable[..., Agent], games: Games
) -> None:
    texts = ["look" if name == "small" else "Action: look"]
    wide = agent_of(name, thinking)
    (whole,) = scripted(wide, texts).play(games(1), max_steps=4, seed=0)
    assert len(whole.steps) == 4
    limit = wide.policy.renderer.limit
    room = len(wide.policy.renderer.opening(whole.opening)) + limit
    narrow = scripted(agent_of(name, thinking, context=room), texts)
    (cut,) = narrow.play(games(1), max_steps=4, seed=0)
    assert (len(cut.steps), cut.outcome, cut.error) == (1, -1, "")
    assert (whole.overlong, cut.overlong) == (False, True)
    assert "overlong" not in whole.to_dict()
    assert cut.to_dict()["overlong"] is True
    assert [len(prompt) + limit for prompt in narrow.policy.engine.prompts] == [room]  # type: ignore[attr-defined]
    (failed,) = scripted(agent_of(name, thinking, context=room - 1), texts).play(games(1), max_steps=4, seed=0)
    assert (failed.steps, failed.outcome) == ((), -1)


def test_with_a_window_an_episode_does_not_outgrow_the_context(agent_of: Callable[..., Agent], games: Games) -> None:
    wide = agent_of("qwen3", "strip")
    (whole,) = scripted(wide, ["Action: look"]).play(games(1), max_steps=12, seed=0)
    limit = wide.policy.renderer.limit
    room = len(whole.turns[0].prompt_ids) + limit + 80
    assert len(whole.turns[-1].prompt_ids) + limit > room + 80
    narrow = scripted(agent_of("qwen3", "strip", history=4, context=room), ["Action: look"])
    (played,) = narrow.play(games(1), max_steps=12, seed=0)
    assert (len(played.steps), played.overlong) == (12, False)
    assert all(len(turn.prompt_ids) + limit <= room for turn in played.turns)
