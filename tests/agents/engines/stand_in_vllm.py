"""A stand-in for vLLM with its recorded interface: real sampling from a small transformers model, make-believe memory.

Every call is bound to the signatures in ``vllm_signatures.json``, so that a name vLLM does not have is an error here as
it is there. What the real engine would silently do wrong is an error: generation asleep or with weights that were
dropped, a prefix cache read with other weights than it was written with, more memory than the GPU has.
"""

from __future__ import annotations

import importlib.machinery
import inspect
import json
import re
import sys
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rlanything_agents.engines.spellings import Spellings
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_envs.llm.choices import PLAIN, Form, OneOf, Prose, Repeat, Then
from rlanything_envs.llm.generator import SamplingParams as OurParams

RECORD: dict[str, Any] = json.loads(Path(__file__).with_name("vllm_signatures.json").read_text(encoding="utf-8"))
TAGS = tuple(RECORD["sleep_tags"])


def signature(name: str) -> inspect.Signature:
    """The recorded signature of a callable."""
    kinds = {
        "positional": inspect.Parameter.POSITIONAL_OR_KEYWORD,
        "keyword": inspect.Parameter.KEYWORD_ONLY,
        "*": inspect.Parameter.VAR_POSITIONAL,
        "**": inspect.Parameter.VAR_KEYWORD,
    }
    return inspect.Signature(
        [
            inspect.Parameter(
                item, kinds[kind.lstrip("=")], default=None if kind[0] == "=" else inspect.Parameter.empty
            )
            for item, kind in RECORD["callables"][name]
        ]
    )


def bound(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name; those not given are absent.

    Raises:
        TypeError: vLLM has no such parameter.
    """
    return dict(signature(name).bind(*args, **kwargs).arguments)


def fielded(name: str, values: dict[str, Any]) -> SimpleNamespace:
    """An object with these fields; all others of the recorded class are None."""
    if unknown := set(values) - set(RECORD["fields"][name]):
        raise TypeError(f"{name} has no {sorted(unknown)}")
    return SimpleNamespace(**(dict.fromkeys(RECORD["fields"][name]) | values))


def form_of(expression: str) -> Form:
    """The form of which `rlanything_envs.llm.choices.pattern` made an expression; no other one is read."""
    form, end = _alternatives(expression, 0)
    assert end == len(expression)
    return form


def spelled(form: Form, tokenizer: Any) -> Form:
    """The form in texts that the tokenizer reads: one of whole words gets expressions of words without blanks."""
    if tokenizer.backend_tokenizer.decoder is not None or isinstance(form, Prose):
        return form
    if isinstance(form, OneOf):
        return OneOf(tuple(spelled(option, tokenizer) for option in form.options))
    if isinstance(form, Then):
        return Then(tuple(spelled(part, tokenizer) for part in form.parts))
    if isinstance(form, Repeat):
        return Repeat(spelled(form.part, tokenizer), form.least, form.most)
    words, found = sorted(tokenizer.get_vocab(), key=len, reverse=True), list[str]()
    while form:
        found.append(next(word for word in words if form.startswith(word)))
        form = form[len(found[-1]) :]
    return " ".join(found)


def _alternatives(expression: str, at: int) -> tuple[Form, int]:
    options: list[Form] = []
    while True:
        parts: list[Form] = []
        while at < len(expression) and expression[at] not in "|)":
            part, at = _item(expression, at)
            if isinstance(part, str) and parts and isinstance(parts[-1], str):
                part = f"{parts.pop()}{part}"
            parts.append(part)
        options.append(parts[0] if len(parts) == 1 else Then(tuple(parts)))
        if at == len(expression) or expression[at] == ")":
            return (options[0] if len(options) == 1 else OneOf(tuple(options))), at
        at += 1


def _item(expression: str, at: int) -> tuple[Form, int]:
    if expression.startswith("(?:", at):
        form, at = _alternatives(expression, at + 3)
        return _times(form, expression, at + 1)
    if expression[at] == "[":
        end = re.compile(r"(?:\\.|[^\]\\])*").match(expression, at + 1).end()  # type: ignore[union-attr]
        inside = re.compile(expression[at : end + 1])
        most = re.compile(r"\{0,(\d+)\}").match(expression, end + 1)
        if most is None:  # its first character has a class of its own
            later, at = _item(expression, end + 1)
            assert isinstance(later, Prose)
            return Prose(later.most + 1, later.without, begun=True), at
        return Prose(int(most[1]), "".join(c for c in PLAIN if not inside.fullmatch(c))), most.end()
    if expression[at] == "\\":
        return {"n": "\n", "t": "\t"}.get(expression[at + 1], expression[at + 1]), at + 2
    return expression[at], at + 1


def _times(form: Form, expression: str, at: int) -> tuple[Form, int]:
    found = re.compile(r"\{(\d+),(\d+)\}").match(expression, at)
    return (form, at) if found is None else (Repeat(form, int(found[1]), int(found[2])), found.end())


class Gpu:
    """Memory of a size of 1."""

    def __init__(self) -> None:
        self.held: dict[tuple[int, str], float] = {}

    @property
    def used(self) -> float:
        return sum(self.held.values())

    def take(self, owner: object, tag: str, amount: float) -> None:
        if self.used + amount > 1 + 1e-9:
            raise RuntimeError("CUDA out of memory")
        self.held[id(owner), tag] = amount

    def free(self, owner: object) -> None:
        for tag in TAGS:
            self.held.pop((id(owner), tag), None)


class LLM:
    """An engine."""

    gpu: ClassVar[Gpu]
    alive: ClassVar[list[LLM]]
    faults: ClassVar[dict[str, Exception]]
    """What the next call of a method raises."""
    lie: ClassVar[Callable[[Any], None] | None]
    """Changes each output before it is returned."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = bound("LLM", args, kwargs)
        settings = given | given.pop("kwargs", {})
        if unknown := set(settings) - set(RECORD["fields"]["EngineArgs"]):
            raise TypeError(f"EngineArgs has no {sorted(unknown)}")
        self._fault("LLM")
        self.settings = settings
        assert settings["trust_remote_code"] is False
        assert settings["logprobs_mode"] in RECORD["constants"]["logprobs_modes"]
        assert settings.get("max_lora_rank", 16) in RECORD["constants"]["lora_ranks"]
        self.tokenizer = AutoTokenizer.from_pretrained(settings["tokenizer"], local_files_only=True)
        self._load(settings["model"])
        longest = settings.get("max_model_len") or self.model.config.max_position_embeddings
        self.model_config = SimpleNamespace(max_model_len=longest)
        core = SimpleNamespace(shutdown=self._shutdown)
        self.llm_engine = SimpleNamespace(engine_core=core)
        self.asleep: set[str] = set()
        self.log: list[str] = []
        self._written: dict[tuple[Any, ...], Any] = {}
        self._adapters: dict[str, Any] = {}
        self._take(*TAGS)
        type(self).alive.append(self)

    def generate(self, *args: Any, **kwargs: Any) -> list[Any]:
        given = bound("LLM.generate", args, kwargs)
        self._fault("generate")
        self._must_live()
        if self.asleep:
            raise RuntimeError(f"asleep: {sorted(self.asleep)}")
        params = given["sampling_params"]
        assert len(params) == len(given["prompts"])
        outputs = []
        for number, (prompt, own) in enumerate(zip(given["prompts"], params, strict=True)):
            output = self._one(str(number), prompt["prompt_token_ids"], own, given.get("lora_request"))
            if self.lie is not None:
                type(self).lie(output)  # type: ignore[misc]
            outputs.append(output)
        return outputs

    def sleep(self, *args: Any, **kwargs: Any) -> None:
        given = bound("LLM.sleep", args, kwargs)
        self._fault("sleep")
        self._must_live()
        assert self.settings["enable_sleep_mode"]
        self.log.append(f"sleep {given['level']}")
        if given["level"] == 2:
            with torch.no_grad():
                for parameter in self.model.parameters():
                    parameter.fill_(float("nan"))
        self.asleep = set(TAGS)
        self.gpu.free(self)
        self._written.clear()

    def wake_up(self, *args: Any, **kwargs: Any) -> None:
        given = bound("LLM.wake_up", args, kwargs)
        self._fault("wake_up")
        self._must_live()
        tags = given.get("tags") or list(TAGS)
        assert set(tags) <= self.asleep
        self.log.append("wake " + " ".join(tags))
        self._take(*tags)
        self.asleep -= set(tags)

    def collective_rpc(self, *args: Any, **kwargs: Any) -> list[None]:
        given = bound("LLM.collective_rpc", args, kwargs)
        self._fault("collective_rpc")
        self._must_live()
        assert given["method"] == "reload_weights"
        path = bound("worker.reload_weights", (), given["kwargs"])["weights_path"]
        assert isinstance(path, str)
        assert "weights" not in self.asleep
        self.log.append(f"reload {Path(path).name}")
        self._load(path)
        return [None]

    def reset_prefix_cache(self, *args: Any, **kwargs: Any) -> bool:
        bound("LLM.reset_prefix_cache", args, kwargs)
        self._fault("reset_prefix_cache")
        self._must_live()
        self.log.append("reset")
        self._written.clear()
        return True

    def _one(self, name: str, prompt: list[int], params: Any, adapter: Any) -> Any:
        assert len(prompt) < self.model_config.max_model_len, "vLLM refuses the whole call"
        (end,) = params.stop_token_ids
        assert params.ignore_eos
        self.tokenizer.eos_token = self.tokenizer.convert_ids_to_tokens(end)
        assert params.temperature <= 2
        assert not params.stop or params.detokenize
        model = self._adapted(adapter) if adapter else self.model
        weights = adapter.lora_path if adapter else self._loads
        key = (*prompt, adapter and adapter.lora_name)
        assert self._written.setdefault(key, weights) == weights, "a stale prefix cache was read"
        structured = getattr(params, "structured_outputs", None)
        ours = OurParams(
            min(params.max_tokens, self.model_config.max_model_len - len(prompt)),
            temperature=params.temperature,
            top_p=params.top_p,
            n=params.n,
            stop=tuple(params.stop or ()),
            seed=params.seed,
            choices=() if structured is None else (spelled(form_of(structured.regex), self.tokenizer),),
        )
        (samples,) = TransformersGenerator(model, self.tokenizer).generate([prompt], ours)
        outputs = []
        for at, sample in enumerate(samples):
            assert sample.token_ids is not None
            assert sample.logprobs is not None
            values = sample.logprobs
            if structured is not None:
                allowed = Spellings(self.tokenizer, {end}).allowed(form_of(structured.regex), sample.token_ids)
                values = _over(model, prompt, sample.token_ids, allowed)
            steps = [
                {token: fielded("Logprob", {"logprob": value})}
                for token, value in zip(sample.token_ids, values, strict=True)
            ]
            if params.logprobs:
                may = None if structured is None else allowed[0]
                steps[0] = self._first(model, prompt, params, may) | steps[0]
            values = {
                "index": at,
                "text": sample.text,
                "token_ids": tuple(sample.token_ids),
                "logprobs": steps,
                "finish_reason": sample.finish_reason,
            }
            outputs.append(fielded("CompletionOutput", values))
        given = {"request_id": name, "prompt_token_ids": list(prompt), "outputs": outputs[::-1], "finished": True}
        assert set(given) <= set(RECORD["request_output"])
        return SimpleNamespace(**given)

    def _first(self, model: Any, prompt: list[int], params: Any, may: Sequence[int] | None) -> dict[int, Any]:
        with torch.inference_mode():
            logits = model(torch.tensor([prompt])).logits[0, -1].float()
        if may is not None:
            logits = torch.full_like(logits, -9999.0).index_copy(0, torch.tensor(may), logits[list(may)])
        if self.settings["logprobs_mode"].startswith("processed"):
            logits = logits / params.temperature
        top = logits.log_softmax(-1).topk(min(params.logprobs, len(logits)))
        return {
            int(token): fielded("Logprob", {"logprob": float(value)})
            for value, token in zip(top.values, top.indices, strict=True)
        }

    def _adapted(self, request: Any) -> Any:
        from peft import PeftModel

        assert self.settings["enable_lora"]
        if request.lora_name not in self._adapters:
            base = AutoModelForCausalLM.from_pretrained(self.settings["model"], local_files_only=True)
            adapted = PeftModel.from_pretrained(base, request.lora_path)
            self._adapters = {request.lora_name: adapted.merge_and_unload().eval()}  # max_loras 1
        return self._adapters[request.lora_name]

    def _load(self, path: str) -> None:
        self.model = AutoModelForCausalLM.from_pretrained(path, local_files_only=True).eval()
        self._loads = getattr(self, "_loads", 0) + 1

    def _take(self, *tags: str) -> None:
        share = self.settings["gpu_memory_utilization"]
        for tag in tags:
            self.gpu.take(self, tag, share * (0.4 if tag == "weights" else 0.6))

    def _shutdown(self, timeout: float | None = None) -> None:
        self.gpu.free(self)
        with suppress(ValueError):
            type(self).alive.remove(self)
        self.model = None

    def _must_live(self) -> None:
        assert self in type(self).alive, "the engine was ended"

    def _fault(self, method: str) -> None:
        if fault := type(self).faults.pop(method, None):
            raise fault


def _over(model: Any, prompt: list[int], ids: list[int], allowed: Sequence[Sequence[int]]) -> list[float]:
    """Log-probability of each id over those that were allowed, as vLLM computes it."""
    with torch.inference_mode():
        logits = model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1].float()
    both = zip(logits, ids, allowed, strict=True)
    return [float(row[token] - row[list(may)].logsumexp(0)) for row, token, may in both]


def install(monkeypatch: pytest.MonkeyPatch) -> type[LLM]:
    """Make ``import vllm`` find a fresh stand-in; returns its engine class."""
    made = type("LLM", (LLM,), {"gpu": Gpu(), "alive": [], "faults": {}, "lie": None})
    modules = {
        "vllm": {"LLM": made, "SamplingParams": lambda **values: fielded("SamplingParams", values)},
        "vllm.inputs": {"TokensPrompt": _tokens_prompt},
        "vllm.sampling_params": {"StructuredOutputsParams": lambda *, regex: SimpleNamespace(regex=regex)},
        "vllm.platforms": {
            "current_platform": types.SimpleNamespace(is_cpu=lambda: False, is_sleep_mode_available=lambda: True)
        },
        "vllm.lora": {},
        "vllm.lora.request": {"LoRARequest": _lora_request},
    }
    for name, contents in modules.items():
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        module.__dict__.update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    return made


def _tokens_prompt(**values: Any) -> dict[str, Any]:
    fielded("TokensPrompt", values)
    return values


def _lora_request(*args: Any, **values: Any) -> SimpleNamespace:
    request = fielded("LoRARequest", dict(zip(RECORD["fields"]["LoRARequest"], args, strict=False)) | values)
    assert request.lora_int_id >= 1
    assert request.lora_path
    return request
