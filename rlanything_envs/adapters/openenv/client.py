"""A client of a server of text environments."""

from __future__ import annotations

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult

from rlanything_envs.adapters.openenv.messages import TextAction, TextObservation, TextState

__all__ = ["TextClient"]


class TextClient(EnvClient):  # type: ignore[misc]
    """Plays episodes on a server; one client is one session.

    It is OpenEnv's asynchronous client; ``.sync()`` gives the synchronous one. ``reset`` takes ``seed``, ``task`` (an
    id or a task's JSON object) and ``episode_id``; ``step`` takes a text. A failure on the server is a `RuntimeError`
    of OpenEnv's, with the name of the server's error in it; such an episode has no reward.

    Args:
        base_url: The server: ``http://HOST:PORT``.
        token: Bearer token, for servers that want one.
        settings: Of OpenEnv's `EnvClient`.
    """

    def __init__(self, base_url: str, *, token: str | None = None, **settings: Any) -> None:
        headers = dict(settings.pop("headers", None) or {})
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        super().__init__(base_url, headers=headers, **settings)

    def _step_payload(self, action: TextAction | str) -> dict[str, Any]:
        return {"text": action.text if isinstance(action, TextAction) else action}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult:
        reward, done = payload.get("reward"), bool(payload.get("done"))
        observation = TextObservation(**{**payload.get("observation", {}), "reward": reward, "done": done})
        return StepResult(observation=observation, reward=reward, done=done)

    def _parse_state(self, payload: dict[str, Any]) -> TextState:
        return TextState(**payload)
