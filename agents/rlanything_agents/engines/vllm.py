"""Generator on vLLM in this process: an engine that sleeps while other phases need the GPU, and loads new weights from
a folder in shared memory.

Written for vLLM 0.32 (extra ``vllm``), which is imported when the engine first starts.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase

from rlanything_agents.config.engine import EngineConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.engines.completions import CompletionReader, banned, images_of_prompts, token_prompts
from rlanything_agents.engines.handover import PROBE_PARAMS, WeightsDiffer, reset_with_retries
from rlanything_agents.engines.vllm_watch import noticing_death
from rlanything_agents.engines.vllm_worker import WORKER_EXTENSION
from rlanything_agents.engines.weights import Weights
from rlanything_envs.errors import MissingExtra
from rlanything_envs.llm.errors import RunMustStop
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams
from rlanything_envs.message import Image
from rlanything_verifiers.installed import install

__all__ = ["EngineFailed", "VLLMGenerator", "check_temperature"]

logger = logging.getLogger(__name__)

LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Values that vLLM accepts for the greatest rank of adapters (``max_lora_rank``)."""

MOST_IMAGES = 64
"""Maximum images of a prompt; those of a window are few, and an episode without one has a screen a turn."""

HOTTEST = 2.0
"""Highest temperature that vLLM accepts."""


class EngineFailed(RunMustStop):
    """Engine or server that did not start, died, hides what training needs, or did not load its weights; the message
    names the remedy. Completions under way are discarded."""


def check_temperature(params: SamplingParams) -> None:
    """Refuse a temperature that vLLM would refuse, before any request.

    Raises:
        ValueError: The temperature is above `HOTTEST`.
    """
    if params.temperature > HOTTEST:
        raise ValueError(f"temperature {params.temperature}: vLLM samples at {HOTTEST:g} at most")


class VLLMGenerator:
    """Generator that samples with a vLLM engine of this process, from the weights that a trainer last handed over.

    Log-probabilities are vLLM's ``raw_logprobs``: natural, before temperature and truncation, over the whole
    vocabulary, or over the ids that its structured outputs allow where there is a form (``SamplingParams.choices``):
    all that go on with a text of the form. ``Completion.allowed`` lists them, see
    `rlanything_agents.engines.spellings`. Only the tokenizer's end of sequence ends a completion: a checkpoint's
    ``generation_config.json`` is not read. The tokens of a seed depend on vLLM's batching, so runs with it are not
    repeatable bit for bit.

    The engine starts at the first `wake` or `generate`. While it sleeps it holds no GPU memory: trained weights are
    dropped (level 2) and loaded again from their folder, the base of adapters moves to the host's memory (level 1).
    Where vLLM cannot sleep (on processors) it stays awake.

    After each load of weights, log-probabilities of a few tokens are compared with those of the model's own forward
    pass (see `rlanything_agents.engines.handover`). Weights that came from a folder are not compared.

    Args:
        model: Trained model; the generator only reads it.
        tokenizer: Tokenizer of the model.
        config: Settings of ``kind: vllm``.
        folder: Scratch folder of this generator alone, for weights in transit; emptied on construction.
        context: Maximum tokens of a prompt and its response; the model's own limit if None.

    Raises:
        MissingExtra: vLLM is not installed.
        ValueError: The tokenizer has no end of sequence, or adapters have a rank that vLLM has no room for.
    """

    trainable = True

    def __init__(
        self,
        model: Any,
        tokenizer: PreTrainedTokenizerBase,
        config: EngineConfig,
        folder: Path,
        context: int | None = None,
    ) -> None:
        if importlib.util.find_spec("vllm") is None:
            raise MissingExtra(
                "engine.kind vllm needs the package vllm, which runs on Linux with CUDA; in a separate environment: "
                f"{install('train', 'vllm')}"
            )
        self.config, self._context = config, context
        self._weights = Weights(folder, model, tokenizer)
        self._reader = CompletionReader(tokenizer, self._weights.vocabulary)
        if self._weights.adapters and self._weights.rank > LORA_RANKS[-1]:
            raise ValueError(f"lora.rank {self._weights.rank}: vLLM takes {LORA_RANKS[-1]} at most")
        self._engine: Any = None
        self._asleep = False
        self._sleeps = config.sleeps
        self._packs = False
        self._read: Path | None = None
        self._checked = False

    @property
    def version(self) -> int:
        """Version of the weights of the next completion."""
        return self._weights.version

    @property
    def awake(self) -> bool:
        """Whether the engine holds GPU memory."""
        return self._engine is not None and not self._asleep

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        """Sample ``params.n`` completions for each prompt, in the order of the prompts; wakes the engine first.

        A prompt that leaves no room for a token gets completions with ``finish_reason="error"``, and so does a
        completion that the engine cannot have sampled.

        Raises:
            ValueError: A prompt is not a list of the model's ids, there is not one seed for each prompt, or vLLM does
                not accept the temperature.
            EngineFailed: The engine died; the next call starts another.
            WeightsDiffer: The engine has other weights than the trainer.
        """
        check_temperature(params)
        ids, own = token_prompts(prompts, self._reader.vocabulary), seeded(params, len(prompts))
        images = images_of_prompts(prompts, self._weights.images)
        self.wake()
        return self._sample(ids, own, images)

    def _sample(
        self, ids: Sequence[list[int]], own: Sequence[SamplingParams], images: Sequence[tuple[Image, ...]]
    ) -> list[list[Completion]]:
        limit = int(self._engine.model_config.max_model_len)
        fitting = [at for at, prompt in enumerate(ids) if len(prompt) < limit]
        answers: dict[int, Any] = {}
        if fitting:
            vllm = importlib.import_module("vllm")
            with self._failing("while it generated"):
                outputs = self._engine.generate(
                    [self._input(ids[at], images[at]) for at in fitting],
                    [vllm.SamplingParams(**self._settings(own[at])) for at in fitting],
                    use_tqdm=False,
                    lora_request=self._adapter(),
                )
            answers = dict(zip(fitting, outputs, strict=False))
        full = f"a prompt of {{}} tokens leaves no room in a context of {limit}"
        return [
            self._completions(prompt, answers.get(at), own[at])
            if len(prompt) < limit
            else [self._reader.error(prompt, full.format(len(prompt)), self.version)] * own[at].n
            for at, prompt in enumerate(ids)
        ]

    def _input(self, ids: list[int], images: tuple[Image, ...]) -> Any:
        """Prompt for vLLM, which makes the placeholders of an image of one; `_completions` compares the ids it read."""
        prompt = importlib.import_module("vllm.inputs").TokensPrompt
        if (reader := self._weights.images) is None or not images:
            return prompt(prompt_token_ids=ids)
        pictures = [reader.resized(image) for image in images]
        return prompt(prompt_token_ids=reader.collapsed(ids, images), multi_modal_data={"image": pictures})

    def update_weights(self, source: Any | Path, version: int) -> None:
        """Store the weights of a model or of a folder for the engine, which loads them at once if it is awake.

        Raises:
            ValueError: The folder does not hold such weights.
            EngineFailed: The engine did not load them.
            WeightsDiffer: The engine has other weights than the trainer.
            OSError: The weights cannot be written.
        """
        self._weights.put(source, version)
        if self.awake:
            self._refresh()

    def sleep(self) -> None:
        """Free the GPU memory, unless ``engine.sleep`` is off.

        Raises:
            EngineFailed: The engine died, which frees its memory too.
        """
        if not self.awake or not self._sleeps:
            return
        with self._failing("on its way to sleep"):
            self._engine.sleep(level=1 if self._weights.adapters else 2)
        self._asleep = True
        if not self._weights.adapters:
            self._read = None

    def wake(self) -> None:
        """Take the GPU memory and load the newest weights.

        Raises:
            EngineFailed: The engine did not start, or did not load them.
            WeightsDiffer: The engine has other weights than the trainer.
        """
        if self._engine is None:
            self._open()
        elif self._asleep:
            # Weights first: loading them needs memory that the key-value cache would take.
            with self._failing("as it woke"):
                self._engine.wake_up(tags=["weights"])
                self._load()
                self._engine.wake_up(tags=["kv_cache"])
            self._asleep = False
        self._refresh()

    def close(self) -> None:
        """Shut the engine down and delete the weights in transit; a later call starts another engine."""
        self._end()
        self._weights.clear()

    def _end(self) -> None:
        engine, self._engine, self._asleep, self._read = self._engine, None, False, None
        if engine is not None:
            engine.llm_engine.engine_core.shutdown()

    def _open(self) -> None:
        weights, config = self._weights, self.config
        platform = importlib.import_module("vllm.platforms").current_platform
        self._packs = platform.is_cpu() and not weights.adapters
        if config.sleeps and not platform.is_sleep_mode_available():
            if config.sleep:
                raise EngineFailed("engine.sleep: vLLM cannot sleep on this machine (only on GPUs): leave the key out")
            logger.warning("vLLM cannot sleep on this machine: its engines keep their memory (engine.sleep is off)")
            self._sleeps = False
        settings: dict[str, Any] = {
            "tokenizer": str(weights.tokenizer_folder),
            "trust_remote_code": False,
            "dtype": weights.dtype,
            "gpu_memory_utilization": config.gpu_memory_utilization,
            "tensor_parallel_size": config.tensor_parallel_size,
            "enable_sleep_mode": self._sleeps,
            "enforce_eager": platform.is_cpu(),  # nothing is compiled there
            "logprobs_mode": "raw_logprobs",
            "generation_config": "vllm",  # its further ends of a sequence would share the probability of ours
        }
        if self._context is not None:
            settings["max_model_len"] = self._context
        if platform.is_cpu():
            # A seeded request whose prompt is read in parts fails there: its generator cannot go back a draw.
            settings["enable_chunked_prefill"] = False
        if weights.images is not None:
            settings["limit_mm_per_prompt"] = {"image": MOST_IMAGES, "video": 0}
        if self._packs:
            settings["worker_extension_cls"] = WORKER_EXTENSION
        if weights.adapters:
            rank = next(rank for rank in LORA_RANKS if rank >= weights.rank)
            settings |= {"enable_lora": True, "max_loras": 1, "max_lora_rank": rank}
        path = weights.path()
        model = weights.base if weights.adapters else str(path)
        with self._failing("as it started"):
            self._engine = importlib.import_module("vllm").LLM(model, **settings)
        self._asleep = self._checked = False
        self._read = None if weights.adapters else path

    def _refresh(self) -> None:
        """Load the newest weights into an engine that is awake, and check weights that were loaded since the last."""
        if self._read != self._weights.path():
            with self._failing("as it read new weights"):
                self._load()
                # Keys and values of other weights must not be reused; an engine that slept has dropped them already.
                if not reset_with_retries(self._engine.reset_prefix_cache):
                    raise RuntimeError("the prefix cache was not reset")
        self._weights.prune()
        if not self._checked and (reference := self._weights.reference) is not None:
            probes = reference.prompts
            ids, own = token_prompts(probes, self._reader.vocabulary), seeded(PROBE_PARAMS, len(probes))
            answers = self._sample(ids, own, images_of_prompts(probes, self._weights.images))
            try:
                reference.check(answers, "the vLLM engine", self.version)
            except WeightsDiffer:
                self._end()
                raise
        self._checked = True

    def _load(self) -> None:
        path = self._weights.path()
        if not self._weights.adapters:  # these come with each request
            method = "reload_and_pack" if self._packs else "reload_weights"
            self._engine.collective_rpc(method, kwargs={"weights_path": str(path)})
            if self._weights.images is not None:  # what it saw with the weights before; its scheduler counts on it
                self._engine.llm_engine.reset_encoder_cache()
        self._read, self._checked = path, False

    def _adapter(self) -> Any:
        if not self._weights.adapters:
            return None
        path = self._weights.path()
        number = 1 + int(path.name.rpartition("-")[2])
        return importlib.import_module("vllm.lora.request").LoRARequest(path.name, number, str(path))

    def _settings(self, params: SamplingParams) -> dict[str, Any]:
        return {
            "n": params.n,
            "max_tokens": params.max_tokens,
            "temperature": params.temperature,
            "top_p": params.top_p,
            "seed": params.seed,
            "stop": list(params.stop) or None,
            "stop_token_ids": [self._reader.end],
            "ignore_eos": True,
            "logprobs": params.odds,
            "detokenize": bool(params.stop),
            "skip_special_tokens": False,
            "logit_bias": banned(self._weights.images),
        } | self._form(params)

    def _form(self, params: SamplingParams) -> dict[str, Any]:
        if (expression := self._reader.expression(params)) is None:
            return {}
        kind = importlib.import_module("vllm.sampling_params").StructuredOutputsParams
        return {"structured_outputs": kind(regex=expression)}

    def _completions(self, prompt: list[int], answer: Any, params: SamplingParams) -> list[Completion]:
        outputs: list[Any] = [] if answer is None else sorted(answer.outputs, key=lambda output: output.index)
        version = self.version
        if answer is not None and list(answer.prompt_token_ids or ()) != prompt:
            return [self._reader.error(prompt, "MalformedAnswer: the engine read another prompt", version)] * params.n
        completions = []
        for output in outputs[: params.n]:
            ids = [int(token) for token in output.token_ids]
            steps = (output.logprobs or ()) if params.odds else ()
            tops = [{int(token): float(of.logprob) for token, of in step.items()} for step in steps]
            completions.append(
                self._reader.read(prompt, ids, _logprobs(output, ids), output.finish_reason, params, version, tops)
            )
        missing = self._reader.error(prompt, f"MalformedAnswer: {len(outputs)} of {params.n} completions", version)
        return completions + [missing] * (params.n - len(completions))

    @contextmanager
    def _failing(self, when: str) -> Iterator[None]:
        """Shut the engine down after any failure within the block: its state cannot be relied on."""
        try:
            with noticing_death(self._engine):
                yield
        except BaseException as error:
            try:
                self._end()
            except Exception as another:
                logger.warning("the engine could not be ended: %s", another)
            if not isinstance(error, Exception):
                raise
            raise EngineFailed(
                f"the vLLM engine failed {when} ({type(error).__name__}: {str(error)[:500]}): see its log above; lower "
                "engine.gpu_memory_utilization if memory ran out"
            ) from error


def seeded(params: SamplingParams, prompts: int) -> list[SamplingParams]:
    """Parameters of each prompt. A common seed becomes a seed per prompt, so that equal prompts get different samples.

    Raises:
        ValueError: There are seeds, but not one for each prompt.
    """
    if params.seeds or params.seed is None:
        return params.each(prompts)
    seeds = (seed_of(params.seed, "prompt", params.first + at) for at in range(prompts))
    return [replace(own, seed=seed) for own, seed in zip(params.each(prompts), seeds, strict=True)]


def _logprobs(output: Any, ids: list[int]) -> list[float] | None:
    """Log-probabilities of the sampled ids from vLLM's list of ``{id: Logprob}``; None if one is missing."""
    try:
        return [float(step[token].logprob) for step, token in zip(output.logprobs, ids, strict=True)]
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
