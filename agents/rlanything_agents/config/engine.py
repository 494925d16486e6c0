"""The keys of what generates text for the models of a run."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rlanything_agents.config.section import Positive, Section

__all__ = ["EngineConfig", "ServerConfig"]

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Address = Annotated[str, Field(pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?/v1$")]


class ServerConfig(Section):
    """A vLLM server that generates for one model."""

    base_url: Address
    """Address of its OpenAI-compatible interface, such as ``http://gpu-1:8000/v1``."""
    model: Annotated[str, Field(min_length=1)]
    """Name under which it serves the model."""
    api_key_env: str | None = None
    """Environment variable that holds the key; None for a server without one."""
    concurrency: Positive = 256
    """Most requests at once; the server batches what it has."""
    connect_timeout: Seconds = 10.0
    """Seconds until a connection must stand."""
    read_timeout: Seconds = 900.0
    """Most seconds until an answer is there, and until new weights are loaded."""
    attempts: Positive = 6
    """Tries of a request, the first included."""
    patience: Seconds = 1800.0
    """Most seconds for one request, all its tries together."""


_VLLM_ONLY = ("gpu_memory_utilization", "tensor_parallel_size", "max_model_len", "max_num_seqs")
"""Keys of an engine in this process."""


class EngineConfig(Section):
    """What generates text for the policy and the reward model.

    ``transformers`` samples from the very modules that are trained. ``vllm`` is an engine for each model in this
    process (extra ``vllm``, CUDA). ``vllm_server`` asks servers that run already, and that read new weights from the
    folders this machine writes.
    """

    kind: Literal["transformers", "vllm", "vllm_server"] = "transformers"
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share of each GPU's memory that one engine takes while it is awake, weights included."""
    tensor_parallel_size: Positive = 1
    """GPUs that share a model."""
    max_model_len: Positive | None = None
    """Most tokens of prompt and response; what the model was made for if None."""
    max_num_seqs: Positive | None = None
    """Most sequences decoded at once; vLLM's own choice if None."""
    sleep: bool | None = None
    """Whether an engine gives its GPU memory back while others work; if not, all of them must fit beside the trainers.
    None: in this process yes, on servers no, for these have GPUs of their own (else: ``--enable-sleep-mode``)."""
    policy: ServerConfig | None = None
    """The server of the policy."""
    judge: ServerConfig | None = None
    """The server of the reward model."""

    @model_validator(mode="after")
    def _keys_of_its_kind(self) -> EngineConfig:
        foreign: list[str] = []
        if self.kind != "vllm":
            foreign += [name for name in _VLLM_ONLY if self._is_set(name)]
        if self.kind == "transformers" and self._is_set("sleep"):
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
        """Whether engines give their memory back while others work."""
        return self.kind == "vllm" if self.sleep is None else self.sleep

    @property
    def on(self) -> bool:
        """Whether anything but the trained modules themselves generates."""
        return self.kind != "transformers"

    def server(self, role: str) -> ServerConfig | None:
        """The server of a role, or None if the trained module itself generates for it."""
        servers = {"policy": self.policy, "judge": self.judge}
        return servers[role]

    def _is_set(self, name: str) -> bool:
        default: Any = type(self).model_fields[name].default
        return bool(getattr(self, name) != default)
