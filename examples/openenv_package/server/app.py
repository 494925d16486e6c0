"""Serves one environment over OpenEnv's protocol: ``python -m server.app``, ``uv run server`` or a container.

Set by variables: RLANYTHING_ENV (``RLAnything/AlfWorld-v0``), RLANYTHING_HOST (127.0.0.1), RLANYTHING_PORT (8000) and
RLANYTHING_TOKEN, which clients have to show; without one the server listens on loopback only.
"""

import os

import uvicorn

import rlanything_envs  # noqa: F401 (registers the environments)
from rlanything_envs.adapters.openenv import create_server

HOST = os.environ.get("RLANYTHING_HOST", "127.0.0.1")

app = create_server(
    os.environ.get("RLANYTHING_ENV", "RLAnything/AlfWorld-v0"), host=HOST, token=os.environ.get("RLANYTHING_TOKEN")
).app


def main() -> None:
    """Serve until interrupted."""
    uvicorn.run(app, host=HOST, port=int(os.environ.get("RLANYTHING_PORT", "8000")))


if __name__ == "__main__":
    main()
