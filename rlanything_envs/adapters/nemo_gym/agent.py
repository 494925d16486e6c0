"""The agent that plays the episodes of the server, with the model of NeMo Gym's own agent."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from aiohttp import ClientResponseError
from fastapi import Request
from fastapi.responses import JSONResponse
from responses_api_agents.gymnasium_agent.app import GymnasiumAgent, GymnasiumAgentRunRequest

from rlanything_envs.adapters.nemo_gym.session import REASON, REFUSED

__all__ = ["TextAgent"]


class TextAgent(GymnasiumAgent):  # type: ignore[misc]
    """NeMo Gym's ``gymnasium_agent``, whose row says why an episode failed.

    The row of a failed episode has ``failure_reason``, ``failure_kind`` and ``mask_sample``, and no reward. Rollout
    collection writes it to the file of failures, plays it again with ``--resume``, and scores the others.
    """

    ray_enabled = False

    async def run(self, request: Request, body: GymnasiumAgentRunRequest) -> Any:
        """Play one episode; see the class."""
        try:
            result = await super().run(request, body)
            return result.model_copy(update={"success": float(bool(result.info.get("success")))})
        except ClientResponseError as error:
            if (detail := _detail(error)) is None:
                raise
        return JSONResponse(
            {
                "responses_create_params": body.responses_create_params.model_dump(mode="json", exclude_unset=True),
                "mask_sample": True,
                "instance_config": {"mask_sample": True},  # where NeMo RL looks for it
                **detail,
                # As `nemo_gym.rollout_collection` names it, which is slow to import.
                "_ng_failure_class": "environment_server_failed",
                "_ng_failure_message": detail["failure_reason"],
                "_ng_failure_terminal": detail["failure_kind"] == REFUSED,  # the row stays what it is
            }
        )

    async def _run_open_episode(self, body: Any, model_url_path: str, reset_data: Any, env_cookies: Any) -> Any:
        try:
            return await super()._run_open_episode(body, model_url_path, reset_data, env_cookies)
        except BaseException:
            # The model failed, or the run is over: no fault of the policy's, so no outcome of the task either.
            with suppress(Exception):
                server = self.config.resources_server.name
                await self.server_client.post(
                    server_name=server, url_path="/close", json={"failed": True}, cookies=env_cookies
                )
            raise


def _detail(error: ClientResponseError) -> dict[str, str] | None:
    """What the environment's server says of a failed request; None for an answer of another server."""
    content = getattr(error, "response_content", b"")
    if not str(error.request_info.url).endswith(("/reset", "/step")) or len(content) > 16 * REASON:
        return None
    try:
        detail = json.loads(content)["detail"]
        return {key: str(detail[key])[:REASON] for key in ("failure_reason", "failure_kind")}
    except (ValueError, KeyError, TypeError):
        return None
