"""The source of text for a model that is trained, of the kind that a configuration asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from transformers import PreTrainedTokenizerBase

from rlanything_agents.config.engine import EngineConfig
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_envs.llm.generator import TextGenerator

if TYPE_CHECKING:
    from rlanything_agents.engines.vllm_client import Served, ServedGenerator

__all__ = ["Serving", "open_engine", "open_served"]


@runtime_checkable
class Serving(Protocol):
    """An engine that is a program of its own, from which other processes can have text too."""

    def serve(self) -> Served:
        """See to it that it has the weights it was given last, and say which they are."""
        ...


def open_engine(
    config: EngineConfig, role: str, model: Any, tokenizer: PreTrainedTokenizerBase, folder: Path
) -> TextGenerator:
    """A generator for a model; close it when it is no longer needed.

    Only `TransformersGenerator` writes with the module itself. The others write with the weights that
    `TextGenerator.update_weights` last gave them, and with the model's weights of the first use before that; they have
    ``sleep`` and ``wake`` (see `rlanything_agents.engines.scheduler`).

    Args:
        config: What generates.
        role: ``policy`` or ``judge``.
        model: What is trained: a transformers model, or a PEFT one.
        tokenizer: Its tokenizer.
        folder: Of scratch files, inside a folder that servers can read under the same path.

    Raises:
        MissingExtra: The engine's package is not installed.
        MissingKey: The environment variable of a server's key is unset.
        ValueError: Model or tokenizer do not suit the engine.
    """
    if config.kind == "vllm":
        from rlanything_agents.engines.vllm import VLLMGenerator

        return VLLMGenerator(model, tokenizer, config, folder / role)
    server = config.server(role) if config.kind == "vllm_server" else None
    if server is not None:
        from rlanything_agents.engines.vllm_server import VLLMServerGenerator

        return VLLMServerGenerator(server, model, tokenizer, folder / role, sleeps=config.sleeps)
    return TransformersGenerator(model, tokenizer)


def open_served(config: EngineConfig, role: str, tokenizer: PreTrainedTokenizerBase) -> ServedGenerator | None:
    """What asks the same server as `open_engine`, for processes that train nothing; None where a role has no server.

    Args:
        config: What generates.
        role: ``policy`` or ``judge``.
        tokenizer: Of the role's model.

    Raises:
        MissingExtra, MissingKey: As with `open_engine`.
    """
    server = config.server(role) if config.kind == "vllm_server" else None
    if server is None:
        return None
    from rlanything_agents.engines.vllm_client import ServedGenerator

    return ServedGenerator(server, tokenizer)
