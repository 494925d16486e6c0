"""Keys of the engines that generate text for the models of a run."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rlanything_agents.config.section import Positive, Section

__all__ = ["EngineConfig", "ServerConfig"]

Address = Annotated[str, Field(pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?/v1$")]


class ServerConfig(Section):
    """vLLM server that generates for one model."""

    base_url: Address
    """Address of its OpenAI-compatible interface, such as ``http://gpu-1:8000/v1``."""
    model: Annotated[str, Field(min_length=1)]
    """Name under which the server offers the model."""


_VLLM_ONLY = ("gpu_memory_utilization", "tensor_parallel_size")
"""Keys that only an engine in this process has."""


class EngineConfig(Section):
    """Engine that generates text for the policy and the reward model.

    ``transformers`` samples from the modules that are trained. ``vllm`` opens one engine per model in this process
    (extra ``vllm``, CUDA). ``vllm_server`` uses servers that are running already and that can read new weights from
    folders on this machine. ``tinker`` samples and trains adapters at the Tinker service (extra ``tinker``), whose key
    and address are ``$TINKER_API_KEY`` and ``$TINKER_BASE_URL``; a small model stays in this process.
    """

    kind: Literal["transformers", "vllm", "vllm_server", "tinker"] = "transformers"
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share of each GPU's memory that one engine takes while it is awake, its weights included."""
    tensor_parallel_size: Positive = 1
    """GPUs that one model is divided over."""
    sleep: bool | None = None
    """Whether an engine frees its GPU memory while other phases run; otherwise all engines and the trainers must fit
    together. None: engines in this process sleep where vLLM can (on GPUs); servers do not, because they have GPUs of
    their own (start them with ``--enable-sleep-mode`` otherwise)."""
    policy: ServerConfig | None = None
    """Server of the policy."""
    judge: ServerConfig | None = None
    """Server of the reward model."""

    @model_validator(mode="after")
    def _keys_of_its_kind(self) -> EngineConfig:
        foreign: list[str] = []
        if self.kind != "vllm":
            foreign += [name for name in _VLLM_ONLY if self._is_set(name)]
        if self.kind in ("transformers", "tinker") and self._is_set("sleep"):
            foreign.append("sleep")
        if self.kind != "vllm_server":
            foreign += [name for name in ("policy", "judge") if self._is_set(name)]
        elif self.policy is None and self.judge is None:
            raise ValueError("kind vllm_server needs the section `policy` or `judge` with base_url and model")
        if foreign:
            raise ValueError(f"{', '.join(foreign)} has no effect with kind {self.kind}: leave it out")
        return self

    @property
    def sleeps(self) -> bool:
        """Whether engines free their GPU memory while other phases run."""
        return self.kind == "vllm" if self.sleep is None else self.sleep

    @property
    def on(self) -> bool:
        """Whether an engine other than the trained modules generates."""
        return self.kind != "transformers"

    def server(self, role: str) -> ServerConfig | None:
        """Server of a role (``policy`` or ``judge``); None if the trained module generates for it."""
        servers = {"policy": self.policy, "judge": self.judge}
        return servers[role]

    def _is_set(self, name: str) -> bool:
        default: Any = type(self).model_fields[name].default
        return bool(getattr(self, name) != default)
