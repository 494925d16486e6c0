"""A run whose tasks a language model rewrites, over real HTTP to a service that knows one answer."""

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_runs import settings as chat_settings
from scripted_service import KEY, Asked, Handler, Service, answer, served

from rlanything_agents.config import CurriculumConfig, RunConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.rewriting import open_rewriter
from rlanything_agents.runs.stored.episodes import read_episodes
from rlanything_agents.runs.train import open_run, train
from rlanything_envs import curriculum
from rlanything_envs.curriculum import JudgedEpisode, LLMSummariser, Request, ScriptedRewriter, Summary
from rlanything_envs.llm import read_log
from rlanything_task_pools import Task, TaskPool
from rlanything_task_pools.alfworld import DOMAIN

KNOBS = {"rooms": ["Kitchen"], "kinds": ["heat"]}
SMALL = {"hidden_size": 32, "layers": 1}


def _summary(prompt: str) -> str:
    """A summary of nothing but the reasons of the judge in a prompt; empty where it holds none."""
    reasons = re.findall(r"^   judge: (.+)$", prompt, re.MULTILINE)
    return json.dumps({"summary": f"The judge found: {', '.join(sorted(set(reasons)))}."}) if reasons else ""


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"[a-z]+", text.lower())}


@pytest.fixture
def root() -> Task:
    """The only task of the pool."""
    return DOMAIN.generate(seed_of(1, "pool", 0), "train", **KNOBS)


@pytest.fixture
def text(root: Task) -> str:
    """An easier task for the root that the domain accepts."""
    proposals = DOMAIN.propose(root, "easier", np.random.default_rng(0))
    good = next(p for p in proposals if isinstance(DOMAIN.validate(root, p, direction="easier", author="a"), Task))
    return f"Here it is:\n```json\n{json.dumps(good)}\n```"


@pytest.fixture
def service(text: str) -> Iterator[Service]:
    """Answers the text, or with a summary in the judge's words where it is asked for one."""

    def behave(handler: Handler, asked: Asked) -> None:
        handler.reply(answer(_summary(asked.body["messages"][0]["content"]) or text, usage=(500, 50)))

    with served() as service:
        service.default = behave
        yield service


def config(service: Service, summariser: str | None = "scripted", **llm: Any) -> RunConfig:
    return RunConfig.model_validate(
        {
            "name": "rewritten",
            "seed": 1,
            "threads": 1,
            "iterations": 1,
            "policy": SMALL,
            "reward_model": SMALL,
            "feedback": "masked",
            "warm_start": {"demonstrations": 6, "epochs": 1, "judge_steps": 20, "judge_epochs": 1},
            "rollout": {"tasks": 1, "rollouts": 2, "max_steps": 4},
            "evaluation": {"panels": ["valid_seen"], "episodes": 2, "max_steps": 4, "judge_episodes": 2},
            "curriculum": {
                "pool_size": 1,
                "knobs": KNOBS,
                "rewriter": "llm",
                "summariser": summariser,
                "llm": {"base_url": service.base_url, "model": "some/model", "api_key_env": "TEST_KEY", **llm},
            },
        }
    )


def test_the_answers_are_logged_and_not_asked_for_twice(
    service: Service, text: str, root: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    folder = RunFolder(tmp_path / "run")
    train(config(service), folder, Reporter.silent(), command="test")
    assert [asked.headers["authorization"] for asked in service.asked] == [f"Bearer {KEY}"]
    with TaskPool.open(folder.pool) as pool:
        candidate = pool.candidate(0)
    assert candidate is not None
    assert candidate.parent == root.id
    assert candidate.rewrite is not None
    assert candidate.rewrite.author == "some/model"
    (record,) = read_log(folder.prompts)
    assert record.text == text
    assert all(KEY not in path.read_text(errors="replace") for path in folder.path.rglob("*") if path.is_file())

    shutil.rmtree(folder.checkpoints.path / "0001")  # as if the run had been killed in its first iteration
    folder.summary.unlink()
    train(config(service), folder, Reporter.silent(), command="test")
    assert len(service.asked) == 1
    with TaskPool.open(folder.pool) as pool:
        assert pool.candidate(0) == candidate


def test_a_word_that_only_the_reward_model_wrote_reaches_the_rewriter(
    service: Service, text: str, root: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reward model -> votes -> summaries -> critique -> prompt of the rewriter, through a whole run."""
    monkeypatch.setenv("TEST_KEY", KEY)
    folder = RunFolder(tmp_path / "run")
    train(config(service, summariser=None), folder, Reporter.silent(), command="test")
    episodes = list(read_episodes(next(folder.trajectories.glob("*.jsonl.gz"))))
    turns = [turn for episode in episodes for turn in episode.turns]
    read = [said for turn in turns for said in (turn.thought, turn.action, turn.observation)]
    read += [episode.opening for episode in episodes]
    read += [DOMAIN.describe(root), *(path.read_text() for path in (files(curriculum) / "prompts").iterdir())]
    votes = _words(vote for turn in turns for vote in turn.judgements)
    only_in_votes = votes - _words(read) - {"boxed"}
    assert only_in_votes
    (rewriting,) = [record for record in read_log(folder.prompts) if record.text == text]
    prompt = rewriting.prompt[0]["content"]
    assert "solved 0 of 2 attempts" in prompt
    (reached,) = [line for line in prompt.splitlines() if "The judge found: " in line]
    assert only_in_votes & _words([reached])
    with TaskPool.open(folder.pool) as pool:
        candidate = pool.candidate(0)
        assert candidate is not None
        assert candidate.rewrite is not None
        assert candidate.rewrite.critic == "some/model"
        assert reached in candidate.rewrite.critique
    (row,) = folder.rows()
    assert row["summaries"] == {"written": 2}
    assert row["rewriter"]["requests"] == 3, "two summaries and a proposal"


def test_scripted_summaries_say_so_in_the_record(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    folder = RunFolder(tmp_path / "run")
    train(config(service), folder, Reporter.silent(), command="test")
    with TaskPool.open(folder.pool) as pool:
        candidate = pool.candidate(0)
    assert candidate is not None
    assert candidate.rewrite is not None
    assert candidate.rewrite.critic == "scripted"
    assert "summaries" not in folder.rows()[0]


def test_an_empty_budget_ends_the_rewriting_and_not_the_run(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    folder = RunFolder(tmp_path / "run")
    summary = train(config(service, budget=10), folder, Reporter.silent(), command="test")
    assert service.asked == []
    assert summary["iterations"] == 1
    with TaskPool.open(folder.pool) as pool:
        assert [event.reason for event in pool.events(kind="discarded")] == ["generator_error"]


def test_operators_reach_the_scripted_rewriter(tmp_path: Path, root: Task) -> None:
    changed = set()
    for operators in (None, ("start",)):
        with open_rewriter(CurriculumConfig(operators=operators), tmp_path / "absent.jsonl") as rewriter:
            assert isinstance(rewriter, ScriptedRewriter)
            result = rewriter.rewrite(Request(root, "easier", 0.0), np.random.default_rng(0))
            assert result.candidate is not None
            assert result.candidate.rewrite is not None
            changed.add(result.candidate.payload["goal"] == root.payload["goal"])
    assert changed == {False, True}, "the domain's own choice changes the goal, `start` leaves it"
    assert not (tmp_path / "absent.jsonl").exists()


def test_a_reward_model_summarises_before_it_is_updated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `feedback: paper` and a pretrained reward model; its own engine writes, with the weights that judged."""
    versions: list[int] = []
    summarise = LLMSummariser.summarise

    def watched(self: LLMSummariser, episodes: Sequence[JudgedEpisode]) -> list[Summary]:
        versions.append(judge.version)
        assert any(step.reasons for episode in episodes for step in episode.steps)
        return summarise(self, episodes)

    monkeypatch.setattr(LLMSummariser, "summarise", watched)
    settings = chat_settings(tmp_path / "models", feedback="paper", iterations=1)
    assert settings.summariser == "judge"
    folder = RunFolder(tmp_path / "run")
    with open_run(settings, folder, Reporter.silent()) as run:
        judge = run.parts.learners.judge
        run.warm_start()
        before = judge.version
        run.iterate()
        assert judge.version >= before
    (row,) = folder.rows()
    assert versions, "a group without a success is rewritten"
    assert set(versions) == {before}
    assert sum(row["summaries"].values()) == 3 * len(versions), "each of three episodes is summarised"


def test_who_summarises(service: Service, tmp_path: Path) -> None:
    assert config(service, summariser=None).summariser == "rewriter"
    assert config(service, summariser="scripted").summariser == "scripted"
    assert chat_settings(tmp_path).summariser == "scripted"
    assert chat_settings(tmp_path, feedback="reference").summariser == "judge"
    with pytest.raises(ValueError, match="writes no sentences"):
        config(service, summariser="judge")
    with pytest.raises(ValueError, match="summariser `rewriter` is the language model"):
        chat_settings(tmp_path, curriculum={"summariser": "rewriter"})
