"""Opening of the engine that a configuration names, for a trained model or for a copy of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from transformers import PreTrainedTokenizerBase

from rlanything_agents.config.engine import EngineConfig
from rlanything_agents.engines.tinker import Adapter, TinkerGenerator
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.engines.vllm import VLLMGenerator
from rlanything_agents.engines.vllm_client import ServedGenerator, ServedWeights
from rlanything_agents.engines.vllm_server import VLLMServerGenerator
from rlanything_agents.models.image_reader import ImageReader
from rlanything_envs.llm.generator import TextGenerator

__all__ = ["Serving", "open_engine", "open_served"]


@runtime_checkable
class Serving(Protocol):
    """Engine that is a separate program, so that other processes can generate with it too."""

    def serve(self) -> ServedWeights:
        """Load the newest weights into the engine, and return their name."""
        ...


def open_engine(
    config: EngineConfig,
    role: str,
    model: Any,
    tokenizer: PreTrainedTokenizerBase,
    folder: Path,
    context: int | None = None,
) -> TextGenerator:
    """Open a generator for a trained model; the caller closes it.

    Only `TransformersGenerator` samples from the module itself. The others sample from the weights of the last
    `TextGenerator.update_weights`, or, before the first one, from the model's weights at their first use. All but
    Tinker's have ``sleep`` and ``wake`` (see `rlanything_agents.engines.scheduler`).

    Args:
        config: Kind of the engine, and its settings.
        role: ``policy`` or ``judge``.
        model: Trained model of transformers or PEFT, or adapter at the Tinker service.
        tokenizer: Tokenizer of the model.
        folder: Folder of scratch files, which servers can read under the same path.
        context: Maximum tokens of a prompt and its response, for an engine in this process; the model's limit if None.

    Raises:
        MissingExtra: The engine's package is not installed.
        MissingKey: The environment variable of the key holds characters that no key has.
        ValueError: The engine does not support the model or the tokenizer.
    """
    if isinstance(model, Adapter):
        return TinkerGenerator(model, tokenizer)
    if config.kind == "vllm":
        return VLLMGenerator(model, tokenizer, config, folder / role, context)
    server = config.server(role)
    if server is not None:
        return VLLMServerGenerator(server, model, tokenizer, folder / role, sleeps=config.sleeps)
    return TransformersGenerator(model, tokenizer)


def open_served(
    config: EngineConfig, role: str, tokenizer: PreTrainedTokenizerBase, images: ImageReader | None = None
) -> ServedGenerator | None:
    """Open a generator on the server of `open_engine`, for processes that do not train; None if a role has no server.

    Args:
        config: Kind of the engine, and its settings.
        role: ``policy`` or ``judge``.
        tokenizer: Tokenizer of the role's model.
        images: How that model reads images; None for one that reads text alone.

    Raises:
        MissingExtra: The package openai is not installed.
        MissingKey: The environment variable of the key holds characters that no key has.
    """
    server = config.server(role)
    if server is None:
        return None
    return ServedGenerator(server, tokenizer, images)
