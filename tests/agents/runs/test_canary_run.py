"""A whole run on tasks with markers: no prompt of policy or judge holds one, and no record but those of whole tasks.

Whole tasks are in the pool, in its copies in the checkpoints, and in the panel on which the judge is measured.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from canary_search import found_in, found_under
from canary_tasks import CODING, DESKTOPS, MARKERS
from chat_runs import run, settings

from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.tools.export.run import export_run
from rlanything_agents.tools.view import Site

WHOLE_TASKS = ("pool.sqlite*", "checkpoints/*/pool.sqlite", "stages/*/judge_panel.json")
ROLLOUT = {"tasks": 2, "rollouts": 2, "max_steps": 2}


@dataclass(frozen=True)
class Ran:
    """A finished run.

    Attributes:
        domain: Its domain.
        folder: Its folder.
        prompts: Every chat that a model read.
        logs: What it logged.
    """

    domain: str
    folder: Path
    prompts: list[Any]
    logs: list[str]


@pytest.fixture(scope="module", params=["coding", pytest.param("osworld", marks=pytest.mark.slow)])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    home = tmp_path_factory.mktemp(request.param)
    tasks = _written(request.param, home)
    prompts: list[Any] = []
    logs: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: logs.append(logging.Formatter().format(record))  # type: ignore[method-assign]
    render = ChatTemplate._render

    def rendered(template: ChatTemplate, messages: Any, **options: Any) -> str:
        prompts.append(messages)
        return render(template, messages, **options)

    changes: dict[str, Any] = {
        "domain": request.param,
        "iterations": 1,
        "rollout": {**ROLLOUT, "max_steps": 1 if request.param == "coding" else 2},
        "judge": {"votes": 2},
        "curriculum": {"pool": str(tasks), "knobs": {}},
        "evaluation": {"judge_episodes": 2, "max_steps": 1, "pools": {"valid_seen": str(tasks)}},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChatTemplate, "_render", rendered)
        logging.getLogger("rlanything_agents").addHandler(handler)
        run(settings(home / "models", **changes), home / "run")
        logging.getLogger("rlanything_agents").removeHandler(handler)
    return Ran(request.param, home / "run", prompts, logs)


def _written(domain: str, home: Path) -> Path:
    """A folder with two tasks of the domain."""
    (home / "tasks").mkdir()
    for number, case in enumerate(CODING[:3] if domain == "coding" else DESKTOPS[:2]):
        (home / "tasks" / f"{number}.json").write_text(case.task.to_json())
    return home / "tasks"


def test_prompts(ran: Ran) -> None:
    roles = {"coding": ("hidden tests", "test"), "osworld": ("a.txt", "judge")}
    for words in roles[ran.domain]:
        assert words in json.dumps(ran.prompts)
    assert found_in([ran.prompts, ran.logs], MARKERS) == set()


def test_the_folder(ran: Ran) -> None:
    assert found_under(ran.folder, MARKERS, without=WHOLE_TASKS) == {}
    assert (ran.folder / "trajectories" / "0001.jsonl.gz").exists()
    assert (ran.folder / "report.html").exists()


def test_exports_of_its_episodes(ran: Ran, tmp_path: Path) -> None:
    kinds = ("episodes", "turns", "judgements")
    export_run(RunFolder(ran.folder), tmp_path / "exported", kinds=kinds, format="jsonl")
    assert found_under(tmp_path / "exported", MARKERS) == {}
    assert (tmp_path / "exported" / "README.md").exists()


def test_the_viewer_shows_whole_tasks_on_the_pages_of_tasks_alone(ran: Ran) -> None:
    """For people: the proof of a task is on its page."""
    site = Site(ran.folder)
    names = [f"r0/{name}" for name in site.runs[0].names()]
    found = {name: seen for name in names if (seen := found_in(site.get(name), MARKERS))}
    assert any(name.startswith("r0/episodes/") for name in names)
    assert all(name.startswith("r0/slots/") for name in found)
    assert bool(found)
