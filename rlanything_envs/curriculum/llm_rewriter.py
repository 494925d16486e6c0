"""Rewrites by a language model, for any domain and generator; its answers are untrusted."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rlanything_envs.curriculum.prompting import plain, plain_lines, render
from rlanything_envs.curriculum.rewriter import Request, Rewriting
from rlanything_envs.errors import SettingError
from rlanything_envs.llm.errors import GenerationStopped, RunMustStop
from rlanything_envs.llm.generator import Completion, Messages, SamplingParams, TextGenerator
from rlanything_envs.llm.schema import compact_json, example_of, schema_text
from rlanything_task_pools import Domain, Rejection, Task, get_domain

__all__ = ["GENERATOR_ERROR", "LLMRewriter", "read_proposal"]

logger = logging.getLogger(__name__)

GENERATOR_ERROR = "generator_error"
"""Recorded reason when the generator failed and not the model; it is not counted as an attempt of the model."""

MAX_ANSWER = 32_000
"""Longest answer that is read, in characters."""
MAX_CRITIQUE = 4_000
"""Longest critique in prompt and pool, in characters."""
MAX_DESCRIPTION = 20_000
"""Longest description of a task in a prompt, in characters."""
MAX_OBJECTS = 200
"""Maximum opening braces tried as the beginning of a JSON object in one answer."""

CUT = "the answer ends within a JSON object: it was cut off at its limit of tokens, or a bracket is missing"

_FENCE = re.compile(r"```[ \t]*+(?:json|JSON)?[ \t]*+\r?\n(.*?)```", re.DOTALL)


class LLMRewriter:
    """Queries a language model for a rewrite, up to `attempts` times, each with the reasons of the rejections so far.

    The rewriter knows a domain through `Domain.describe`, `Domain.proposal_schema` and `Domain.validate` alone.
    Every answer becomes either a proved task or a rejection with a reason: ``too_long``, ``truncated``,
    ``empty``, ``no_json``, ``already_tried``, or one of the domain's. When the generator fails, the request ends with
    the reason ``generator_error`` after the rejections so far; only `RunMustStop` is raised. Stateless, so safe to use
    from several threads.

    Args:
        generator: Language model that writes the proposals.
        name: The author in the pool; by default the model's name, where the generator has one.
        attempts: Maximum queries for one request.
        operators: The domain's rewrite operators to enable; the domain's defaults if None.
        params: Sampling parameters; ``n`` and ``seed`` are set for each attempt.
        template: Prompt template: the path of a Jinja file that uses ``direction``, ``accuracy``, ``attempts``,
            ``solved``, ``description``, ``critique``, ``schema`` (its text, see `schema_text`), ``example`` and
            ``failed``.

    Raises:
        SettingError: `attempts` is below 1, or the name is empty.
    """

    def __init__(
        self,
        generator: TextGenerator,
        name: str | None = None,
        *,
        attempts: int = 3,
        operators: Iterable[str] | None = None,
        params: SamplingParams | None = None,
        template: str | os.PathLike[str] = "rewrite.j2",
    ) -> None:
        if attempts < 1:
            raise SettingError(f"LLMRewriter: attempts must be at least 1, got {attempts}")
        model = getattr(getattr(generator, "endpoint", generator), "model", None)
        self.name = plain(name if name is not None else model if isinstance(model, str) else "llm", 200)
        if not self.name:
            raise SettingError("LLMRewriter: the name is empty; give the model's")
        self.generator = generator
        self.attempts = attempts
        self.operators = None if operators is None else tuple(operators)
        self.params = replace(params or SamplingParams(max_tokens=2048), n=1)
        self.template = template

    def rewrite(self, request: Request, rng: np.random.Generator) -> Rewriting:
        """Query, validate, and query again with the rejections; sampling is seeded by `rng`."""
        domain = get_domain(request.task.domain)
        if self.operators is not None:
            domain = domain.with_operators(self.operators)
        attempts = _Attempts(domain, replace(request, critique=plain_lines(request.critique, MAX_CRITIQUE)), self.name)
        for _ in range(self.attempts):
            seed = int(rng.integers(2**31))
            schema = domain.proposal_schema(request.task)
            prompt = attempts.prompt(self.template, schema, np.random.default_rng(seed))
            answer = self._ask(prompt, replace(self.params, seed=seed, schema=schema))
            if isinstance(answer, Rejection):
                attempts.rejections.append(answer)
                break
            if attempts.take(answer):
                break
        return Rewriting(attempts.candidate or attempts.again, tuple(attempts.rejections))

    def _ask(self, prompt: Messages, params: SamplingParams) -> Completion | Rejection:
        """One answer, or a rejection for a failure of the generator."""
        failure = "the generator gave no completion"
        try:
            answers = self.generator.generate([prompt], params)
        except GenerationStopped as stopped:
            failure, answers = f"{type(stopped).__name__}: {stopped}", stopped.completions
        except RunMustStop:
            raise
        except Exception as error:  # a failure of the service is not a rejection of the model's answer
            return _failed(f"{type(error).__name__}: {error}")
        if not answers or not answers[0]:
            return _failed(failure)
        answer = answers[0][0]
        return _failed(answer.error or failure) if answer.finish_reason == "error" else answer


def _failed(detail: str) -> Rejection:
    logger.warning("no rewrite, since the generator failed: %s", plain(detail, 300))
    return Rejection(reason=GENERATOR_ERROR, detail=plain(detail, 300))


@dataclass(slots=True)
class _Attempts:
    """State of one request over its attempts."""

    domain: Domain
    request: Request
    author: str
    candidate: Task | None = None
    again: Task | None = None
    """A valid rewrite that was already tried: the result where no new one is found."""
    rejections: list[Rejection] = field(default_factory=list)
    failed: list[tuple[str, str, str]] = field(default_factory=list)
    """Proposal, reason and detail of each rejection, for the next prompt."""

    def prompt(self, template: str | os.PathLike[str], schema: Mapping[str, Any], rng: np.random.Generator) -> Messages:
        """The prompt of the next attempt, with a proposal drawn from the schema as an example."""
        request = self.request
        text = render(
            template,
            direction=request.direction,
            accuracy=request.accuracy,
            attempts=request.attempts,
            solved=request.solved,
            description=self.domain.describe(request.task)[:MAX_DESCRIPTION],
            critique=request.critique,
            schema=schema_text(schema),
            example=compact_json(example_of(schema, rng)),
            failed=self.failed,
        )
        return [{"role": "user", "content": text}]

    def take(self, answer: Completion) -> bool:
        """Read and validate an answer; True if it is a valid new rewrite."""
        proposal = read_proposal(answer.text)
        if isinstance(proposal, Rejection):
            cut = answer.finish_reason == "length" and proposal.reason in ("empty", "no_json")
            self._reject(answer.text, Rejection(reason="truncated", detail=CUT) if cut else proposal)
            return False
        request = self.request
        result = self.domain.validate(
            request.task, proposal, direction=request.direction, author=self.author, critique=request.critique
        )
        if isinstance(result, Rejection):
            self._reject(json.dumps(proposal), result)
            return False
        if result.id in request.tried:
            self.again = self.again or result
            detail = "the agent was given this very task before, and it was of no use"
            self._reject(json.dumps(proposal), Rejection(reason="already_tried", detail=detail))
            return False
        self.candidate = result
        return True

    def _reject(self, proposal: str, rejection: Rejection) -> None:
        self.rejections.append(rejection)
        self.failed.append((plain(proposal, 400), rejection.reason, plain(rejection.detail, 300)))


def read_proposal(text: str) -> Mapping[str, Any] | Rejection:
    """The proposal in a model's answer: its last JSON object, in a code block if there is one.

    Text before ``</think>`` is skipped. The domain decides whether the object is a valid proposal. An object that the
    text does not close is cut off: no object within it is the proposal.

    Returns:
        The object (JSON types only, all text encodable), or a rejection: ``too_long``, ``empty``, ``no_json``,
        ``truncated``.
    """
    if len(text) > MAX_ANSWER:
        return Rejection(reason="too_long", detail=f"{len(text)} characters; at most {MAX_ANSWER} are read")
    if not text.strip():
        return Rejection(reason="empty", detail="the answer is empty")
    text = text.rpartition("</think>")[2]
    for block in reversed(_FENCE.findall(text)):
        if (found := _last_object(block)) is not None:
            return found
    found = _last_object(text)
    return Rejection(reason="no_json", detail="the answer holds no JSON object") if found is None else found


def _last_object(text: str) -> Mapping[str, Any] | Rejection | None:
    """The last JSON object that is not part of another, a rejection if it is cut off; None if there is none."""
    found: Mapping[str, Any] | None = None
    whole = len(text.rstrip())
    at, tried = text.find("{"), 0
    while at >= 0 and tried < MAX_OBJECTS:
        tried += 1
        try:
            value, end = _DECODER.raw_decode(text, at)
            # Neither infinity, as which 1e999 is read, nor lone surrogates can be stored.
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        except json.JSONDecodeError as error:
            if error.pos >= whole or error.msg.startswith("Unterminated string"):
                return Rejection(reason="truncated", detail=CUT)
            end = at + 1
        except (ValueError, RecursionError):  # what stands within it is no proposal
            return None
        else:
            found = value
        at = text.find("{", end)
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
