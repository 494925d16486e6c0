"""An ALFWorld episode over the network: an OpenEnv server with a token, and a client that knows the way.

    python examples/openenv_episode.py

As a separate program the server is ``rlanything serve RLAnything/AlfWorld-v0 --port 8000``. This prints the messages
of one episode; its last line is ``solved: reward 1.0 after N answers``.
"""

from __future__ import annotations

import json
import secrets

from rlanything_envs.adapters.openenv import TextClient, create_server
from rlanything_task_pools import get_domain


def main() -> None:
    """Serve, play, print."""
    task = get_domain("alfworld").generate(3)
    token = secrets.token_urlsafe(32)
    with (
        create_server("RLAnything/AlfWorld-v0", token=token, max_sessions=4, idle_seconds=60) as server,
        TextClient(server.url, token=token).sync() as env,
    ):
        result = env.reset(task=json.loads(task.to_json()))
        print(result.observation.text)
        for command in task.proof:  # what a model would find out
            result = env.step(f"Action: {command}")
            print(f"\n> {command}\n{result.observation.text}")
    verdict = "solved" if result.observation.outcome == 1 else "lost"
    print(f"\n{verdict}: reward {result.reward} after {len(task.proof)} answers")


if __name__ == "__main__":
    main()
