"""``rlanything doctor``: real run folders, really broken, and what it says of them; nothing in them is changed."""

import hashlib
import json
import pickle
import re
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_runs import small_run
from typer.testing import CliRunner

from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.manifest import seal
from rlanything_agents.tools.cli import app
from rlanything_agents.tools.doctor import Finding, examine_environments, examine_machine, examine_run, ready
from rlanything_agents.tools.doctor.machine import _extras
from rlanything_agents.tools.doctor.run import FIRST
from rlanything_agents.training.audit import SAMPLED, kept, read_samples, store_samples
from rlanything_agents.training.samples import Sample
from rlanything_verifiers.installed import install

EVIL = "\x1b[2J\u202e[bold]x"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    copy = tmp_path / "run"
    shutil.copytree(small_run("alfworld"), copy)
    return copy


def interrupted(run: Path) -> Path:
    """As if the last evaluation had not come to its end."""
    (run / "summary.json").unlink()
    (run / "stages" / "after.json").unlink()
    return run


def broken(run: Path, **options: Any) -> list[Finding]:
    return [finding for finding in examine_run(run, **options) if finding.good is False]


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def invoke(*words: str) -> tuple[int, str]:
    result = CliRunner(env={"COLUMNS": None, "TERM": "dumb"}).invoke(app, ["doctor", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout if result.exit_code != 2 else result.stderr


def audited(run: Path) -> dict[str, Finding]:
    """What is said of the samples of the last update, by role."""
    found = [finding for finding in examine_run(run) if finding.topic.endswith(SAMPLED)]
    return {finding.topic.split("/")[-2]: finding for finding in found}


def test_samples_are_scored_again_with_the_weights_that_sampled_them(run: Path) -> None:
    found = audited(run)
    assert set(found) == {"policy", "judge"}
    for finding in found.values():
        assert finding.good
        mean, largest, unknown = re.search(r"by (\S+) on average and (\S+) at most; (\d+)", finding.said).groups()
        assert float(mean) <= float(largest) < 1e-3
        assert unknown == "0"


def test_samples_of_other_weights_are_found_out(run: Path) -> None:
    (_, last), *_ = RunFolder(run).checkpoints.stored()
    samples = read_samples(last / "policy" / SAMPLED)
    wrong = [replace(one, logprobs=[lp - 5.0 * bool(w) for lp, w in zip(one.logprobs, one.weights, strict=True)])
             for one in samples]  # fmt: skip
    store_samples(wrong, last / "policy" / SAMPLED)
    seal(last)
    finding = audited(run)["policy"]
    assert finding.good is False
    assert "5 at most" in finding.said
    for content in (b"", b"\x80\x04nonsense", b"x" * 9_000_000):
        (last / "policy" / SAMPLED).write_bytes(content)
        seal(last)
        assert audited(run)["policy"].good is False
    save_file({"lengths": torch.full((1, 5), 2**40)}, last / "policy" / SAMPLED)
    seal(last)
    assert "it holds no samples (KeyError" in audited(run)["policy"].said


def test_only_a_few_samples_are_kept(tmp_path: Path) -> None:
    sample = Sample([1] * 100, [2, 3], [0.5, 0.5], [1.0, 1.0], [-1.0, -2.0], [(2, 3), (2, 3, 4)])
    assert len(kept([sample] * 1000)) == 8
    assert len(kept([replace(sample, prompt_ids=[1] * 20_000)] * 1000)) == 1
    store_samples([sample] * 3, tmp_path / SAMPLED)
    assert read_samples(tmp_path / SAMPLED) == [sample] * 3
    vast = replace(sample, allowed=[tuple(range(2, 400_000)), None])
    others = [replace(vast, allowed=[tuple(range(2, 400_000 + at)), None]) for at in range(3)]
    store_samples(others, tmp_path / SAMPLED)
    assert read_samples(tmp_path / SAMPLED) == others[:1]


# -- a whole run ---------------------------------------------------------------------------------------------


def test_a_whole_run_is_whole_and_untouched(run: Path) -> None:
    before = hashes(run)
    assert broken(run, proofs=True) == []
    assert hashes(run) == before
    code, output = invoke(str(run), "--json")
    assert code == 0
    found = json.loads(output)
    assert found["healthy"] is True
    states = {finding["topic"]: finding["said"] for finding in found["findings"]}
    assert states["resume"] == "the run has ended after 2 iterations"
    assert states["metrics.jsonl"] == "2 iterations"


def test_a_model_that_imitated_nothing_lacks_nothing(run: Path) -> None:
    stage = run / "stages" / "warm_start.json"
    stage.write_text(json.dumps({**json.loads(stage.read_text()), "judge_losses": []}))
    shutil.rmtree(run / "stages" / "warm_start" / "judge")
    (run / "stages" / "warm_start" / "manifest.json").unlink()
    assert broken(run) == []


def test_an_interrupted_run_goes_on_after_its_checkpoint(run: Path) -> None:
    interrupted(run)
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 3')
    findings = {finding.topic: finding for finding in examine_run(run)}
    assert findings["metrics.jsonl"].good is None
    assert findings["resume"].said == "after iteration 2"
    shutil.rmtree(run / "checkpoints" / "0002")
    assert {f.topic: f for f in examine_run(run)}["resume"].said == "after iteration 1; 1 later one(s) are played again"
    shutil.rmtree(run / "checkpoints" / "0001")
    assert "before the first iteration, with warm_start and before" in [f.said for f in examine_run(run)][-1]


# -- broken ones ---------------------------------------------------------------------------------------------


def cut(name: str, by: int = 100) -> Callable[[Path], None]:
    def breaking(run: Path) -> None:
        file = run / name
        file.write_bytes(file.read_bytes()[:-by])

    return breaking


def missing(name: str) -> Callable[[Path], None]:
    return lambda run: (run / name).unlink()


def not_finite(run: Path) -> None:
    file = run / "checkpoints/0002/judge/model.safetensors"
    tensors = load_file(file)
    tensors[min(tensors)].view(-1)[0] = float("nan")
    save_file(tensors, file)


def overwritten_pages(run: Path) -> None:
    file = run / "pool.sqlite"
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        size, count = db.execute("PRAGMA page_size").fetchone()[0], db.execute("PRAGMA page_count").fetchone()[0]
    with file.open("r+b") as pages:
        for page in range(2, count):
            pages.seek(page * size)
            pages.write(b"\xa5" * size)


def another_task(run: Path) -> None:
    with sqlite3.connect(run / "pool.sqlite") as db:
        db.execute("UPDATE tasks SET data = (SELECT max(data) FROM tasks)")


def other_rows(run: Path) -> None:
    (run / "metrics.jsonl").write_text('{"iteration": 1}\n{"iteration": 7}\n')


@pytest.mark.parametrize(
    ("breaking", "topic"),
    [
        (cut("trajectories/0001.jsonl.gz"), "trajectories/0001.jsonl.gz"),
        (missing("trajectories/0002.jsonl.gz"), "trajectories/0002.jsonl.gz"),
        (missing("checkpoints/0002/policy/model.safetensors"), "checkpoints/0002/policy/model.safetensors"),
        (cut("checkpoints/0001/judge/model.safetensors"), "checkpoints/0001/judge/model.safetensors"),
        (cut(f"checkpoints/0002/judge/{FIRST}"), f"checkpoints/0002/judge/{FIRST}"),
        (missing("checkpoints/0002/policy/config.json"), "checkpoints/0002/policy/config.json"),
        (not_finite, "checkpoints/0002/judge/model.safetensors"),
        (missing("checkpoints/0002/pool.sqlite"), "checkpoints/0002/pool.sqlite"),
        (overwritten_pages, "pool.sqlite"),
        (another_task, "pool.sqlite"),
        (cut("config.json"), "config.json"),
        (cut("stages/before.json", 3), "stages/before.json"),
        (missing(f"stages/warm_start/policy/{FIRST}"), f"stages/warm_start/policy/{FIRST}"),
        (other_rows, "metrics.jsonl"),
    ],
)
def test_what_is_broken_is_named(run: Path, breaking: Callable[[Path], None], topic: str) -> None:
    breaking(run)
    topics = [finding.topic for finding in broken(run)]
    assert topic in topics
    assert set(topics) <= {topic, "resume"}
    code, output = invoke(str(run))
    assert code == 1
    assert any(line.startswith("broken") and topic in line for line in output.splitlines())


class Payload:
    """What runs a program when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize(
    "how", [lambda value, file: torch.save(value, file), lambda v, f: f.write_bytes(pickle.dumps(v, protocol=2))]
)
def test_nothing_untrusted_is_unpickled(run: Path, tmp_path: Path, how: Callable[[Any, Path], Any]) -> None:
    how({"trainer": Payload(tmp_path / "ran")}, run / "checkpoints/0002/policy" / FIRST)
    (finding,) = broken(run)
    assert "header" in finding.said
    assert not (tmp_path / "ran").exists()


def test_text_of_a_folder_cannot_move_the_cursor(run: Path) -> None:
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, EVIL: 1}))
    code, output = invoke(str(run))
    assert code == 1
    assert "\\x1b[2J" in output
    assert not any(c in output for c in "\x1b\u202e")


def test_no_run_at_all(tmp_path: Path) -> None:
    code, output = invoke(str(tmp_path))
    assert code == 2
    assert "is not a run folder" in output


# -- the machine ---------------------------------------------------------------------------------------------


def test_the_machine_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    findings = {finding.topic: finding for finding in examine_machine(desktop=False)}
    assert {"python", "core packages", "extras", "memory", "disk", "gpu", "official games"} <= set(findings)
    assert "train" in findings["extras"].said.split()
    assert findings["official games"].said == "$ALFWORLD_DATA is not set: generated games only"


@pytest.mark.usefixtures("bwrap_desktop")
def test_every_environment_is_played() -> None:
    findings = {finding.topic: finding for finding in examine_environments()}
    assert set(findings) >= {"play alfworld", "play coding", "play osworld"}
    assert all(finding.good for finding in findings.values())


def test_missing_and_old_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    import rlanything_agents.tools.doctor.machine as machine

    needed = ["numpy>=2", "absent-package>=1", "torch>=999; extra == 'train'", "numpy; extra == 'export'"]
    needed += [f"absent-package; extra == '{extra}'" for extra in ("llm", "vllm", "docs")]
    monkeypatch.setattr(machine, "requires", lambda name: needed)
    findings = {finding.topic: finding for finding in _extras()}
    assert (findings["core packages"].good, findings["core packages"].said) == (False, "not installed: absent-package")
    assert findings["extra train"].good is False
    assert "is not >=999" in findings["extra train"].said
    assert findings["extras"].said == "export"
    assert (findings["missing extras"].good, findings["missing extras"].said) == (None, "llm vllm")
    assert findings["missing extras"].remedy == install("llm", "vllm")
    assert ready(findings.values()) == ([], ["training", "models behind an address", "vLLM"])
    played = Finding("play alfworld", True, "won")
    assert ready([*findings.values(), played]) == (["AlfWorld"], ["training", "models behind an address", "vLLM"])


def test_a_broken_environment_is_found_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import rlanything_agents.tools.doctor.machine as played

    monkeypatch.setattr(played, "domain_names", lambda: ["nowhere"])
    code, output = invoke("--no-desktop", "--json")
    assert code == 1
    found = json.loads(output)
    (finding,) = [f for f in found["findings"] if f["topic"] == "play nowhere"]
    assert finding["state"] == "broken"
    assert finding["remedy"]


def test_official_games_are_counted(alfworld_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_data))
    findings = {finding.topic: finding for finding in examine_machine(desktop=False)}
    assert any("official games" in finding.said for topic, finding in findings.items() if topic.startswith("games "))
