"""Workers on Ray that write through vLLM's servers: the run of one process, also when a server fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from chat_runs import run, settings
from safetensors.torch import load_file
from stand_in_server import Handler, StandInServer
from stand_in_vllm import LLM

from rlanything_agents.config import RunConfig
from rlanything_agents.config.section import ANY
from rlanything_agents.rollout.environments import make_envs
from rlanything_agents.rollout.tasks import generate_tasks
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers import LocalWorkers, Play, Workers
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.learners import Learners
from rlanything_envs.llm.errors import RunMustStop
from rlanything_task_pools import get_domain

ray = pytest.importorskip("ray", reason="extra ray")

from rlanything_agents.rollout.workers.ray import RayWorkers  # noqa: E402

WORKERS = {"number": 2}
THROWN_AWAY = "thrown away and done again"


@pytest.fixture
def served(engines: type[LLM], tmp_path: Path) -> Iterator[tuple[RunConfig, dict[str, StandInServer]]]:
    """A run whose models are written for by two servers."""
    config, servers = settings(tmp_path / "models"), {}
    for role, model in (("policy", config.policy), ("judge", config.reward_model)):
        folder = model.checkpoint  # type: ignore[union-attr]
        servers[role] = StandInServer(engines, {"model": folder, "tokenizer": folder}, name=role)
        threading.Thread(target=servers[role].serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    engine = {"kind": "vllm_server"} | {
        role: {"base_url": server.base_url, "model": role} for role, server in servers.items()
    }
    yield settings(tmp_path / "models", engine=engine, rollout={"environments": 2}), servers
    for server in servers.values():
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_a_run_on_workers_with_servers_is_the_run_of_one_process(
    served: tuple[RunConfig, dict[str, StandInServer]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config, servers = served
    threads = torch.get_num_threads()
    folders = {"local": RunFolder(tmp_path / "local"), "ray": RunFolder(tmp_path / "ray")}
    run(config, folders["local"].path)
    half, restarts = len(servers["judge"].bodies) // 2, list[int]()

    def restart(handler: Handler, route: str) -> bool:
        """In the middle of what workers judge, the server loses its weights; again where no answers spanned that."""
        requests = len(servers["judge"].bodies)
        due = requests >= 3 * half + 5 * len(restarts) and THROWN_AWAY not in caplog.text
        if route == "POST /v1/completions" and due and len(restarts) < 3:
            restarts.append(requests)
            servers["judge"].start()
        return False

    servers["judge"].before = restart
    with_workers = RunConfig.model_validate({**config.model_dump(mode="json"), "workers": WORKERS})
    run(with_workers, folders["ray"].path)
    torch.set_num_threads(threads)
    rows = {
        name: [{key: value for key, value in row.items() if key != "seconds"} for row in folder.rows()]
        for name, folder in folders.items()
    }
    assert THROWN_AWAY in caplog.text
    assert len(rows["ray"]) == 2
    assert rows["ray"] == rows["local"]
    for role in ("policy", "judge"):
        file = f"0002/{role}/model.safetensors"
        one, other = (load_file(folder.checkpoints.path / file) for folder in folders.values())
        assert all(torch.equal(weight, other[name]) for name, weight in one.items())


def play(workers: Workers) -> list[Trajectory]:
    tasks = generate_tasks(get_domain("alfworld"), "train", range(4), ANY)
    return workers.play(tasks, Play(max_steps=2, seed=3, temperature=1.0))


@pytest.mark.slow
def test_requests_that_fail_mask_episodes_and_a_server_that_is_gone_stops_the_run(
    served: tuple[RunConfig, dict[str, StandInServer]], tmp_path: Path
) -> None:
    config, servers = served
    learners = Learners(config, tmp_path / "engines")
    local = LocalWorkers(config, learners, make_envs(config, 2))
    with_workers = RunConfig.model_validate({**config.model_dump(mode="json"), "workers": WORKERS})
    assert with_workers.workers is not None
    with RayWorkers.open(with_workers, with_workers.workers, learners) as workers:
        expected = play(local)
        assert play(workers) == expected
        bad = servers["policy"].bodies[-1]["prompt"]  # of one episode

        def fail(body: dict[str, Any]) -> None:
            if body["choices"][0]["prompt_token_ids"] == bad:
                body["choices"][0]["token_ids"] = [10**9]

        servers["policy"].lie = fail
        found = play(workers)
        masked = [
            k for k, episode in enumerate(found) if episode.outcome is None and "was not written" in episode.error
        ]
        assert masked
        assert [e for k, e in enumerate(found) if k not in masked] == [
            e for k, e in enumerate(expected) if k not in masked
        ]
        assert [e.error for e in play(local)] == [e.error for e in found]
        servers["policy"].lie = None
        servers["policy"].before = lambda handler, route: not handler.reply({"error": {"message": "no"}}, 500)
        for some in (local, workers):
            with pytest.raises(RunMustStop, match="ServerBusy"):
                play(some)
        servers["policy"].before = None
        assert play(workers) == expected
    learners.close()
