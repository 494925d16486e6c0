"""Sixty wrong usages of the command: each has its exit code and one line that names the thing and the remedy."""

from __future__ import annotations

import shlex
import sqlite3
from pathlib import Path

import pytest
from small_runs import small_run
from typer.testing import CliRunner

from rlanything_agents.tools.cli import app
from rlanything_task_pools import TaskPool, get_domain

PANEL = "--panel alfworld-easy --limit 1"
AGENT = """
class Fails:
    def act(self, messages):
        return self.plan[0]


def refuses(messages):
    raise ConnectionRefusedError("nobody there")


def number(messages):
    return 3


text = "no agent"
"""
WRONG: list[tuple[str, int, str]] = [
    # the command line
    ("bnchmark", 2, "No such command 'bnchmark'. Did you mean 'benchmark'?"),
    ("--versoin", 2, "No such option: --versoin"),
    ("train", 2, "(rlanything train --help)"),
    ("train quick.yaml --otu x", 2, "No such option: --otu"),
    ("train quick.yaml --set", 2, "Option '--set' requires an argument"),
    ("train quick.yaml --workers 0", 2, "Invalid value for '--workers'"),
    ("train quick.yaml again.yaml", 2, "unexpected extra argument"),
    ("pool", 2, ""),
    ("pool shw", 2, "No such command 'shw'. Did you mean 'show'?"),
    ("benchmark", 2, "Missing option '--agent'"),
    (f"benchmark --agent random {PANEL} --episodes many", 2, "Invalid value for '--episodes'"),
    (f"benchmark --agent random {PANEL} --fail-under 2", 2, "Invalid value for '--fail-under'"),
    ("reverify nowhere", 2, "there is no folder nowhere"),
    ("reverify folder", 2, "folder is neither a run (config.json) nor a benchmark (benchmark.json)"),
    ("reverify run --panel alfworld-easy --pool run", 2, "give one of --panel and --pool"),
    ("export run --out x --format csv", 2, "'csv' is not one of 'parquet', 'jsonl', 'inspect'"),
    ("view run --port 99999", 2, "Invalid value for '--port'"),
    # run files
    ("init quickstrat", 2, "no run file 'quickstrat': did you mean quickstart?"),
    ("init --out quick.yaml", 2, "quick.yaml exists: name another file with --out"),
    ("init --out file/run.yaml", 2, "file/run.yaml cannot be used: Not a directory"),
    ("init --out /sys/run.yaml", 75, "the right to write there"),
    ("train nothing.yaml", 2, "no configuration file nothing.yaml"),
    ("train folder", 2, "no configuration file folder"),
    ("train broken.yaml", 2, "broken.yaml is not valid YAML"),
    ("train list.yaml", 2, "list.yaml must hold a mapping"),
    ("train binary.yaml", 2, "binary.yaml is not valid YAML"),
    ("train misspelt.yaml", 2, "misspelt.yaml: unknown key `rollouts`: did you mean `rollout`?"),
    ("train quick.yaml --set rollouts.tasks=3", 2, "--set rollouts.tasks=3: unknown key `rollouts`: did you mean"),
    ("train quick.yaml --set rollout.task=3", 2, "unknown key `rollout.task`: did you mean `rollout.tasks`?"),
    ("train quick.yaml --set policy.chekpoint=x", 2, "did you mean `policy.checkpoint`?"),
    ("train quick.yaml --set rollout.tasks=three", 2, "--set rollout.tasks=three: `rollout.tasks`: Input should be"),
    ("train quick.yaml --set engine.kind=vllmm", 2, "'transformers', 'vllm', 'vllm_server' or 'tinker' (got 'vllmm')"),
    ("train quick.yaml --set seed", 2, "--set 'seed': expected key.subkey=value"),
    ("train quick.yaml --set seed.deep=1", 2, "--set seed.deep=1: `seed`: Input should be"),
    ("train quick.yaml --set 'seed=['", 2, "--set 'seed=['"),
    ("train quick.yaml --set domain=alfwrld", 2, "alfwrld"),
    ("train quick.yaml --tracker wandbb", 2, "wandbb"),
    ("train quick.yaml --out file/run", 2, "file/run"),
    ("train quick.yaml --out /sys/run", 75, "the right to write there"),
    # agents and panels
    (f"benchmark --agent rnadom {PANEL}", 2, "no agent is called 'rnadom': choose one of random, expert"),
    ("benchmark --agent random --panel alfworld-esy", 2, "no panel is called 'alfworld-esy': choose from"),
    ("benchmark --agent random", 2, "give either --panel ("),
    ("benchmark --agent random --panel alfworld-easy --pool pool.sqlite", 2, "give either --panel ("),
    (f"benchmark --agent random {PANEL} --env size", 2, "--env 'size': expected key=value"),
    (f"benchmark --agent random {PANEL} --env colour=red", 2, "cannot be made with"),
    (f"benchmark --agent random {PANEL} --out /sys/x", 75, "the right to write there"),
    (f"benchmark --agent random {PANEL} --price-in 1", 2, "--price-in and --price-out go together"),
    (f"benchmark --agent random {PANEL} --max-dollars 1", 2, "a limit on dollars needs prices"),
    (f"benchmark --agent openai:m {PANEL} --base-url nowhere", 2, "base_url 'nowhere' is not an http(s) address"),
    (f"benchmark --agent openai:m {PANEL} --key-env NO_SUCH_KEY", 2, "NO_SUCH_KEY"),
    (f"benchmark --agent python:nothing:Agent {PANEL}", 2, "No module named 'nothing'"),
    (f"benchmark --agent python:wrong_agent:Missing {PANEL}", 2, "has no attribute 'Missing'"),
    (f"benchmark --agent python:wrong_agent:text {PANEL}", 2, "is neither a function of messages nor a class"),
    (f"benchmark --agent python:wrong_agent:Fails {PANEL}", 2, "wrong_agent.py, line 4: 'Fails' object"),
    (f"benchmark --agent python:wrong_agent:number {PANEL}", 2, "answered with int, expected a str"),
    (f"benchmark --agent python:no_syntax:Agent {PANEL}", 2, "no_syntax.py, line 1"),
    (f"benchmark --agent python:wrong_agent:refuses {PANEL}", 75, "nobody there"),
    (f"benchmark --agent run:nothing {PANEL}", 2, "nothing"),
    ("compare run nothing", 2, "has no results.json"),
    (f"benchmark --agent hf:./none {PANEL}", 2, "no such folder"),
    ("benchmark --agent random --pool none", 2, "no task pool"),
    ("audit", 2, "give either --panel ("),
    (f"audit {PANEL} --out folder", 2, "not empty"),
    (f"audit {PANEL} --out /sys/x", 75, "the right to write there"),
    # games, pools, runs, desktops
    ("play alfwrld", 2, "no domain named 'alfwrld'"),
    ("play alfworld --knob size=large", 2, "unknown knobs ['size']"),
    ("play alfworld --pool nothing.sqlite", 2, "nothing.sqlite"),
    ("play --task nothing", 2, "needs its pool"),
    ("play --pool pool.sqlite --split train", 2, "leave them out"),
    ("play coding --env colour=1", 2, "colour"),
    ("play --split nowhere", 2, "nowhere"),
    ("play alfworld --task x --split train", 2, "--split and --knob are of generated tasks"),
    ("play alfworld --save /sys/x", 75, "the right to write there"),
    ("pool show nothing.sqlite", 2, "nothing.sqlite"),
    ("pool show file", 2, "file"),
    ("pool show other.sqlite", 2, "other.sqlite"),
    ("pool lineage pool.sqlite 99", 2, "99"),
    ("pool export pool.sqlite --out folder", 2, "folder"),
    ("pool export pool.sqlite --out /sys/x", 75, "the right to write there"),
    ("pool import nothing new.sqlite", 2, "nothing"),
    ("view nothing", 2, "there is no folder"),
    ("view folder", 2, "not the folder of a run"),
    ("view run --out folder", 2, "folder"),
    ("view run --out /sys/x", 75, "the right to write there"),
    ("export nothing --out x", 2, "nothing"),
    ("export run --out x --format inspect --what turns", 2, "leave out --what and --split-by"),
    ("export run --out /sys/x --format jsonl", 75, "the right to write there"),
    ("doctor nothing", 2, "nothing is not a run folder"),
    ("doctor run --tasks folder", 2, "give one of the folder of a run, --tasks and --guest"),
    ("serve RLAnything/AlfWorld-v0 --stdio", 2, "--stdio goes with --mcp"),
    ("serve desktop --host 0.0.0.0", 2, "a desktop is served on the loopback interface"),
    ("desktop install --with games", 2, "no optional packages are called 'games'; there are mail, media"),
    ("desktop fetch-assets nothing.json", 2, "does not exist"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the things that the usages name."""
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "run").symlink_to(small_run("alfworld"))
    (folder / "folder").mkdir()
    (folder / "folder" / "note").write_text("mine")
    (folder / "file").write_text("a text")
    (folder / "quick.yaml").write_text("name: quick\n")
    (folder / "broken.yaml").write_text("name: [\n")
    (folder / "list.yaml").write_text("- name\n")
    (folder / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    (folder / "misspelt.yaml").write_text("name: x\nrollouts: {tasks: 3}\n")
    (folder / "wrong_agent.py").write_text(AGENT)
    (folder / "no_syntax.py").write_text("def agent(:\n")
    TaskPool.create(folder / "pool.sqlite", [get_domain("alfworld").generate(0)]).close()
    with sqlite3.connect(folder / "other.sqlite") as other:
        other.execute("CREATE TABLE mine (x)")
    return folder


def test_there_are_sixty() -> None:
    assert len({usage for usage, _, _ in WRONG}) == len(WRONG) >= 60


@pytest.mark.parametrize(("usage", "code", "said"), WRONG, ids=[usage for usage, _, _ in WRONG])
def test_one_line_and_a_code(usage: str, code: int, said: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "/sys/" in usage and not Path("/sys").is_mount():
        pytest.skip("there is no /sys, in which nobody can make a file")
    monkeypatch.chdir(place)
    done = CliRunner(env={"NO_COLOR": "1"}).invoke(app, shlex.split(usage))
    told = [line for line in done.stderr.splitlines() if line.strip()]
    assert done.exit_code == code, done.output[-1500:] + repr(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    if said:
        assert told[-1].startswith("error: ")
        assert said in told[-1], told[-1]
        assert sum(line.startswith("error: ") for line in told) == 1
