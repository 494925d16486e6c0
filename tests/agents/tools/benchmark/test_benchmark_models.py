"""Agents with a model: a checkpoint of random weights, a policy of a training run, and code of one's own."""

import gzip
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmark_parts import timeless
from random_models import random_model
from rich.console import Console
from scripted_desktop import SCRIPTED
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from rlanything_agents.config import RunConfig, SmallConfig
from rlanything_agents.models import precision
from rlanything_agents.models.small import make_seeing_model
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.learners import Learners
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.tools.benchmark import runner
from rlanything_agents.tools.benchmark.checkpoint import CheckpointAgent
from rlanything_agents.tools.benchmark.episode import World, episodes_of
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.player import Response
from rlanything_agents.tools.benchmark.policy import RunAgent
from rlanything_agents.tools.benchmark.report import table_of
from rlanything_agents.tools.benchmark.runner import run_benchmark
from rlanything_agents.tools.benchmark.settings import ChatSettings
from rlanything_envs.llm.choices import OneOf
from rlanything_envs.llm.log import read_log
from rlanything_task_pools import get_domain
from rlanything_task_pools.panel import Entry, Panel, load_panel

SHORT = {"max_episode_steps": 3}
FEW = ChatSettings(max_tokens=6, max_history=1)


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """In float32 on every machine, where an answer does not depend on the others of its batch."""
    monkeypatch.setattr(precision, "_here", lambda: "float32")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model over single bytes, with a chat template."""
    folder = tmp_path_factory.mktemp("checkpoint")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(
        models.BPE(vocab={token: at for at, token in enumerate(["<s>", "</s>", *alphabet])}, merges=[])
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    fast.chat_template = (
        "{% for m in messages %}{{ m.role }}: {{ m.content }}</s>{% endfor %}"
        "{% if add_generation_prompt %}assistant: {% endif %}"
    )
    model = random_model(fast, hidden_size=16, layers=1, spread=0.5)
    model.generation_config.temperature, model.generation_config.do_sample = 0.3, True
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def test_a_checkpoint_plays_in_batches(checkpoint: Path, games: Panel, tmp_path: Path) -> None:
    play: Callable[..., dict[str, Any]] = lambda out, **more: run_benchmark(  # noqa: E731
        games, f"hf:{checkpoint}", tmp_path / out, environment=SHORT, chat=FEW, **more
    )
    found = play("out", episodes=2, workers=3)
    total = found["total"]
    assert (total["episodes"], total["steps"], total["tokens_estimated"]) == (8, 3.0, False)
    assert 0 < total["tokens_out"] <= 8 * 3 * 6
    assert total["tokens_in"] > 8 * 3 * 500, "the manual and the room are read again each turn"
    assert timeless(play("alone", episodes=2, workers=1)) == timeless(found)
    assert {"torch", "transformers"} <= set(found["versions"])


def test_answers_are_kept_and_no_token_is_read_twice(checkpoint: Path, games: Panel, tmp_path: Path) -> None:
    agent = CheckpointAgent(str(checkpoint), ChatSettings(max_tokens=6), tmp_path / "prompts.jsonl", 50)
    read: list[int] = []
    agent.model.get_input_embeddings().register_forward_hook(lambda _, given, __: read.append(given[0].shape[1]))
    episodes = episodes_of(games, 2, seed=0)
    results = list(agent.play(World(games.domain, SHORT), episodes[:5], parallel=1))
    assert [result.key for result in results] == [episode.key for episode in episodes[:5]]
    assert all((result.steps, result.outcome) == (3, -1) for result in results)
    assert all(result.readable is not None and result.readable <= 3 for result in results)
    records = list(read_log(tmp_path / "prompts.jsonl"))
    assert [len(record.prompt) for record in records] == [1, 3, 5] * 5
    assert records[1].prompt[1] == {"role": "assistant", "content": records[0].text}
    once = sum(record.usage.prompt_tokens for record in records[2::3])
    assert once <= sum(read) < once + 5 * 3 * 8
    assert sum(result.usage.prompt_tokens for result in results if result.usage) > 2 * once


def test_an_offered_form_is_kept(checkpoint: Path, tmp_path: Path) -> None:
    agent = CheckpointAgent(
        str(checkpoint), ChatSettings(max_tokens=20, temperature=2.0), tmp_path / "prompts.jsonl", 50
    )
    chat = [{"role": "user", "content": "hi"}]
    form = OneOf(("look", "inventory"))
    found = {agent.reply([chat, chat], [seed, seed], [0, 1], [form, None])[0].text for seed in range(16)}
    assert found == {"look", "inventory"}


def test_luck_belongs_to_a_chat_and_follows_the_temperature(checkpoint: Path, tmp_path: Path) -> None:
    agent = CheckpointAgent(str(checkpoint), ChatSettings(max_tokens=8), tmp_path / "log", 50)
    chats = [[{"role": "user", "content": text}] for text in ("hello", "a longer message", "x")]
    together = agent.reply(chats, [1, 2, 3])
    assert [agent.reply([chat], [seed])[0] for chat, seed in zip(chats, [1, 2, 3], strict=True)] == together
    assert agent.reply(chats, [4, 5, 6]) != together
    assert [said.usage.prompt_tokens for said in together if said.usage] == [
        len(f"user: {chat[0]['content']}assistant: ") + 1 for chat in chats
    ]
    greedy = CheckpointAgent(str(checkpoint), ChatSettings(max_tokens=8, temperature=0), tmp_path / "log", 50)
    assert greedy.reply(chats, [1, 2, 3]) == greedy.reply(chats, [4, 5, 6])


@pytest.mark.parametrize(
    ("change", "told"), [("nothing", "no such folder"), ("empty", "cannot be loaded"), ("plain", "no chat template")]
)
def test_what_is_no_chat_model(checkpoint: Path, tmp_path: Path, change: str, told: str) -> None:
    folder = tmp_path / "model"
    if change != "nothing":
        folder.mkdir()
    if change == "plain":
        for file in checkpoint.iterdir():
            if file.name != "chat_template.jinja":
                (folder / file.name).write_bytes(file.read_bytes())
    with pytest.raises(BenchmarkError, match=told):
        CheckpointAgent(str(folder), ChatSettings(), tmp_path / "log", 50)


def test_answers_without_room_for_a_chat_are_told(checkpoint: Path, games: Panel, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="lower --max-tokens"):
        run_benchmark(games, f"hf:{checkpoint}", tmp_path / "out", chat=ChatSettings(max_tokens=5000))


def test_answers_are_sized_for_a_short_context(checkpoint: Path, tmp_path: Path) -> None:
    sized = {
        (turns, history): CheckpointAgent(
            str(checkpoint), ChatSettings(max_history=history), tmp_path / "log", turns
        ).settings.max_tokens
        for turns, history in [(50, None), (4, None), (50, 3), (1, None), (500, None)]
    }
    context = 4096
    assert sized == {(50, None): context // 100, (4, None): 512, (50, 3): 512, (1, None): 1024, (500, None): 32}
    assert CheckpointAgent(str(checkpoint), ChatSettings(max_tokens=7), tmp_path / "log", 50).settings.max_tokens == 7


def test_a_chat_that_outgrows_the_context_ends_its_own_episode(
    checkpoint: Path, games: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four episodes with answers of one byte, the first one rambles: it has failed, and the others go on."""
    reply = CheckpointAgent.reply

    def rambling(self: CheckpointAgent, chats: Any, seeds: Any, keys: Any = (), *more: Any) -> list[Response]:
        answers = reply(self, chats, seeds, keys, *more)
        return [
            Response("x" * 2500 if key == 0 else answer.text, answer.usage)
            for key, answer in zip(keys, answers, strict=True)
        ]

    monkeypatch.setattr(CheckpointAgent, "reply", rambling)
    out = tmp_path / "out"
    found = run_benchmark(
        games, f"hf:{checkpoint}", out, environment={"max_episode_steps": 3}, chat=ChatSettings(max_tokens=1)
    )
    assert (found["left"], found["errors"], found["total"]["overlong"], found["total"]["episodes"]) == (0, [], 1, 4)
    results = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert {(r["outgrown"], r["outcome"], r["steps"] < 3) for r in results} == {("overlong", -1, True), ("", -1, False)}
    assert "1 episode failed because the agent&#39;s chat outgrew the model" in (out / "report.html").read_text()
    header, rows = table_of(found)
    assert rows[0][header.index("overlong")] == "1"
    stored = json.loads(next((out / "episodes").glob(f"{games.entries[0].task.id}-*.json")).read_text())
    assert (stored["outcome"], stored["outgrown"]) == (-1, "overlong")


def test_a_first_message_that_does_not_fit_is_no_failure_of_the_agent(
    checkpoint: Path, games: Panel, tmp_path: Path
) -> None:
    found = run_benchmark(games, f"hf:{checkpoint}", tmp_path / "out", chat=ChatSettings(max_tokens=4000))
    assert (found["total"]["rate"], found["left"], found["total"]["overlong"]) == (None, 4, 0)
    assert "lower --max-tokens" in found["errors"][0]["error"]


def test_a_model_of_text_refuses_screens(checkpoint: Path, tmp_path: Path) -> None:
    shown = {"observation": ["screenshot", "text"]}
    with pytest.raises(BenchmarkError, match=r"reads text alone.*: add --env observation=text"):
        run_benchmark(load_panel("osworld-generated", 1), f"hf:{checkpoint}", tmp_path / "out", environment=shown)


def test_the_pace_is_shown_before_the_first_answers_are_whole(
    checkpoint: Path, games: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "FIRST_S", 0.01)
    monkeypatch.setattr(runner, "LATER_S", 0.01)
    written = io.StringIO()
    reporter, chat = Reporter(Console(file=written, width=1000)), ChatSettings(max_history=0)
    run_benchmark(games, f"hf:{checkpoint}", tmp_path / "out", environment=SHORT, chat=chat, reporter=reporter)
    said = written.getvalue().splitlines()
    assert "answers of at most 1024 tokens" in said[0]
    begun = r"  0 turns \(0 a second\), [\d,]+ tokens \([\d,]+ a second\); the first answers are not whole yet"
    assert re.fullmatch(begun, said[1])
    later = next(line for line in said if "turns at most" in line)
    rest = r"\d+ tokens an answer; \d+ turns at most, so at most \d+"
    assert re.match(rf"  \d+ turns \([\d.e+-]+ a second\), [\d,]+ tokens \([\d,]+ a second\), {rest}", later)


def test_the_tokens_of_the_pace_are_those_that_the_model_reads(checkpoint: Path, tmp_path: Path) -> None:
    agent = CheckpointAgent(str(checkpoint), ChatSettings(max_tokens=6, max_history=2), tmp_path / "log", 50)
    chat = [{"role": "user", "content": "hi"}]
    (said,) = agent.reply([chat], [0])
    assert said.usage
    assert agent.pace.most == 50
    # The last token is sampled and not read.
    assert round(agent.pace._tokens) == said.usage.prompt_tokens + said.usage.completion_tokens - 1


def test_a_local_model_stores_what_its_results_depend_on(checkpoint: Path, games: Panel, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = run_benchmark(games, f"hf:{checkpoint}", out, environment=SHORT, chat=ChatSettings(max_history=1))
    assert found["settings"]["chat"] == {"max_tokens": 1024, "temperature": 1.0, "max_history": 1}
    assert "base_url" not in (out / "benchmark.json").read_text()
    seconds = [record.seconds for record in read_log(out / "prompts.jsonl")]
    assert min(seconds) > 0
    assert sum(set(seconds)) <= found["total"]["seconds"]
    again = run_benchmark(games, f"hf:{checkpoint}", out, environment=SHORT, chat=ChatSettings(max_history=1))
    assert again == found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder as a finished run leaves it, of random weights."""
    config = RunConfig.model_validate(
        {
            "name": "tiny",
            "domain": "alfworld",
            "policy": {"hidden_size": 32, "layers": 1},
            "reward_model": {"hidden_size": 32, "layers": 1},
        }
    )
    folder = RunFolder(tmp_path_factory.mktemp("runs") / "tiny")
    folder.prepare(config.model_dump(mode="json"))
    with folder.checkpoints.write(1) as scratch:
        Learners(config).save(scratch)
    folder.summary.write_text("{}")
    return folder.path


def test_a_policy_of_a_run_plays_in_the_view_it_learned_in(run: Path, games: Panel, tmp_path: Path) -> None:
    found = run_benchmark(games, f"run:{run}", tmp_path / "out", episodes=2, environment={"max_episode_steps": 5})
    assert (found["total"]["episodes"], found["left"]) == (8, 0)
    assert 0 < found["total"]["steps"] <= 5
    assert found["total"]["tokens_out"] >= 2 * 8, "a turn has a thought and a command"
    with gzip.open(tmp_path / "out" / "trajectories" / "0000.jsonl.gz", "rt") as file:
        assert [len(json.loads(line)["turns"]) for line in file] == [5] * 8, "the viewer shows them"
    lines = tmp_path / "out" / "results.jsonl"
    lines.write_text("".join(lines.read_text().splitlines(keepends=True)[::3]))
    again = run_benchmark(games, f"run:{run}", tmp_path / "out", episodes=2, environment={"max_episode_steps": 5})
    assert timeless(again) == timeless(found), "an episode's chance does not hang on what is left to play"
    assert len(lines.read_text().splitlines()) == 8


def test_a_run_plays_at_its_own_temperature_or_at_another(run: Path, games: Panel, tmp_path: Path) -> None:
    for temperature in (None, 0.0):
        how = {"environment": {"max_episode_steps": 5}, "chat": ChatSettings(temperature=temperature)}
        found = run_benchmark(games, f"run:{run}", tmp_path / str(temperature), episodes=2, **how)
        assert found["settings"]["chat"] == {"temperature": 0.8 if temperature is None else 0.0}
        assert found["settings"]["environment"] == {"view": "short", "max_episode_steps": 5}
        lines = map(json.loads, (tmp_path / str(temperature) / "results.jsonl").read_text().splitlines())
        courses = {(line["task"], str(line["usage"])) for line in lines}
        assert (len(courses) == 4) == (temperature == 0), "both episodes of a task are the same when greedy"
    with pytest.raises(BenchmarkError, match="as it was trained: leave out --max-tokens"):
        RunAgent(str(run), ChatSettings(max_tokens=5))


def test_a_policy_needs_no_optimizer_state_to_play(run: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    for role in ("policy", "judge"):
        shutil.rmtree(copy / "checkpoints" / "0001" / role / "optimizer")
    played, whole = (RunAgent(str(path), ChatSettings()).learners.policy.model for path in (copy, run))
    assert all(map(torch.equal, played.state_dict().values(), whole.state_dict().values()))
    (copy / "checkpoints" / "0001" / "policy" / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(BenchmarkError, match=r"model.safetensors is damaged: it has \d+ bytes"):
        RunAgent(str(copy), ChatSettings())


def test_the_policy_that_the_loop_began_with_plays_too(run: Path, games: Panel, tmp_path: Path) -> None:
    folder, warm = RunFolder(run), run / "stages" / "warm_start"
    with pytest.raises(BenchmarkError, match="no final weights"):
        RunAgent(str(warm), ChatSettings())
    Learners(RunConfig.model_validate(folder.config())).policy.save(folder.folder("warm_start") / "policy")
    folder.finish_stage("warm_start", {})
    found = run_benchmark(games, f"run:{warm}", tmp_path / "out", environment={"max_episode_steps": 2})
    assert (found["total"]["episodes"], found["left"]) == (4, 0)
    (warm / "policy" / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(BenchmarkError, match=r"it has \d+ bytes"):
        RunAgent(str(warm), ChatSettings())


def test_a_run_plays_its_own_domain_alone(run: Path, tmp_path: Path) -> None:
    agent, panel = RunAgent(str(run), ChatSettings()), load_panel("osworld-generated", 1)
    with pytest.raises(BenchmarkError, match="learned the domain alfworld"):
        agent.check(episodes_of(panel, 1, 0))
    with pytest.raises(ValueError, match="not a run folder"):
        RunAgent(str(tmp_path), ChatSettings())
    assert list(agent.play(World("alfworld", {}), [], 1)) == []
    (run / "summary.json").rename(run / "aside.json")
    with pytest.raises(BenchmarkError, match="no final weights"):
        RunAgent(str(run), ChatSettings())
    (run / "aside.json").rename(run / "summary.json")
    (run / "checkpoints" / "0001" / "policy" / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(BenchmarkError, match="no run that can be played"):
        RunAgent(str(run), ChatSettings())


OWN = """
def constant(messages):
    assert messages[-1]["role"] == "user"
    return "look"

def number(messages):
    return 3

def broken(messages):
    raise KeyError("lost")

def unplugged(messages):
    raise ConnectionError("nobody there")

class Counting:
    def start(self, episode):
        assert set(episode) == {"domain", "goal", "seed"}
        self.turns = 0
    def act(self, messages):
        self.turns += 1
        assert len(messages) == 2 * self.turns - 1
        return f"Action: look {self.turns}"

class Idle:
    pass

value = 7
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"own_agents_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    return f"python:{name}"


@pytest.mark.parametrize("agent", ["constant", "Counting"])
def test_own_code_plays(games: Panel, own: str, tmp_path: Path, agent: str) -> None:
    found = run_benchmark(games, f"{own}:{agent}", tmp_path / "out", environment=SHORT, workers=2)
    assert (found["total"]["rate"], found["total"]["steps"], found["total"]["tokens_in"]) == (0.0, 3.0, None)


def test_own_code_that_is_unplugged_loses_nothing(games: Panel, own: str, tmp_path: Path) -> None:
    found = run_benchmark(games, f"{own}:unplugged", tmp_path / "out", environment=SHORT)
    assert (found["total"]["rate"], found["total"]["errors"], found["left"]) == (None, 4, 4)
    assert "ConnectionError: nobody there" in found["errors"][0]["error"]


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ("number", "answered with int"),
        ("broken", r"failed with KeyError at .*\.py, line [0-9]+: 'lost'"),
        ("Idle", "neither a function"),
        ("value", "neither a function"),
        ("nothing", "no attribute"),
    ],
)
def test_own_code_that_is_broken_is_told(games: Panel, own: str, tmp_path: Path, agent: str, told: str) -> None:
    with pytest.raises(BenchmarkError, match=told):
        run_benchmark(games, f"{own}:{agent}", tmp_path / "out", environment=SHORT)


def test_there_is_no_such_code(games: Panel, tmp_path: Path) -> None:
    for place, told in (("python:nowhere_at_all:f", "No module"), ("python:json", "expected python:module:name")):
        with pytest.raises(BenchmarkError, match=told):
            run_benchmark(games, place, tmp_path / "out")


def test_a_checkpoint_that_sees_gets_the_last_screens(tmp_path: Path) -> None:
    folder = tmp_path / "seeing"
    make_seeing_model(folder, SmallConfig(hidden_size=32, layers=2), 0, image_tokens=16)
    shown = {**SCRIPTED, "observation": ["screenshot", "instruction", "message"], "screen": [640, 480], "max_turns": 4}
    task = get_domain("osworld").generate(0, kinds=["edit_text"])
    panel = Panel("seen", "", "osworld", {}, (Entry(task),), 1)
    found = run_benchmark(
        panel,
        f"hf:{folder}",
        tmp_path / "out",
        episodes=2,
        environment=shown,
        chat=ChatSettings(max_tokens=4, images=2),
    )
    assert (found["total"]["episodes"], found["total"]["errors"], found["total"]["steps"]) == (2, 0, 4.0)
    prompts = [record.prompt for record in read_log(tmp_path / "out" / "prompts.jsonl")]
    count = [
        sum(part["type"] == "image" for m in prompt if m["role"] == "user" for part in m["content"])
        for prompt in prompts
    ]
    assert sorted(count) == [1, 1, 2, 2, 2, 2, 2, 2]
    assert found["settings"]["chat"]["images"] == 2
