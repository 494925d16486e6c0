"""Stand-in for the SDK of Tinker: its calls and objects (0.38), on a module of this process in place of a service.

It computes what the service computes, with the sum of the losses of tokens, so that numbers can be compared with those
of `PlainTrainer`. ``averages`` makes it average as SkyRL's JAX backend does. What it cannot show is the wire format:
`tinker_checks.py` drives the SDK itself against SkyRL's server.
"""

import copy
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from rlanything_agents.engines.tinker import TinkerService


class TinkerError(Exception):
    """Errors of the SDK; subclasses carry its names."""


class APIConnectionError(TinkerError): ...


class AuthenticationError(TinkerError): ...


class BadRequestError(TinkerError): ...


@dataclass
class ModelInput:
    ids: list[int]

    @classmethod
    def from_ints(cls, ids: list[int]) -> "ModelInput":
        return cls(list(ids))

    @property
    def length(self) -> int:
        return len(self.ids)


def done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


@dataclass
class StandInService:
    """The SDK's module and its ``ServiceClient`` in one object.

    Attributes:
        model: Base model; a client trains a copy of all of its weights.
        averages: Whether losses are averaged over the tokens of a row and over rows.
        broken: Changes what is sampled, or raises.
        requests: Names of the requests so far.
    """

    model: torch.nn.Module
    averages: bool = False
    broken: Callable[[Any], Any] = lambda response: response
    requests: list[str] = field(default_factory=list)
    stored: dict[str, Any] = field(default_factory=dict)
    closed: bool = False

    @property
    def types(self) -> Any:
        return SimpleNamespace(
            ModelInput=ModelInput, Datum=SimpleNamespace, SamplingParams=SimpleNamespace, AdamParams=SimpleNamespace
        )

    def ServiceClient(self) -> "StandInService":
        return self

    def create_lora_training_client(self, base_model: str, rank: int, seed: int) -> Future[Any]:
        self.requests.append(f"make {base_model} {rank}")
        return done(StandInClient(self, copy.deepcopy(self.model)))

    def create_training_client_from_state_with_optimizer(self, path: str) -> Future[Any]:
        self.requests.append(f"restore {path}")
        weights, moments, steps = copy.deepcopy(self.stored[path])
        client = StandInClient(self, copy.deepcopy(self.model))
        client.model.load_state_dict(weights)
        client.optimizer.load_state_dict(moments)
        client.steps = steps
        return done(client)

    def close(self, status: str) -> Future[Any]:
        self.closed = True
        return done(None)


class StandInClient:
    """Training client."""

    def __init__(self, service: StandInService, model: Any) -> None:
        self.service, self.model, self.steps, self.rows = service, model, 0, 0
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, weight_decay=0.0)

    def forward(self, data: list[Any], loss: str, config: Any = None) -> Future[Any]:
        with torch.no_grad():
            return self._pass("forward", data, loss, config)

    def forward_backward(self, data: list[Any], loss: str, config: Any = None) -> Future[Any]:
        return self._pass("forward_backward", data, loss, config)

    def _pass(self, name: str, data: list[Any], loss: str, config: Any) -> Future[Any]:
        self.service.requests.append(f"{name} {loss}")
        outputs, total = [], torch.zeros(())
        for row in data:
            targets = torch.tensor(row.loss_fn_inputs["target_tokens"])
            logits = self.model(torch.tensor([row.model_input.ids])).logits[0].float()
            new = logits.log_softmax(-1).gather(1, targets[:, None])[:, 0]
            losses = self._losses(new, row.loss_fn_inputs, loss, config or {})
            share = 1 / len(losses) if self.service.averages else 1.0
            total = total + share * losses.sum()
            outputs.append({"logprobs": SimpleNamespace(data=new.tolist())})
            if self.service.averages:
                outputs[-1]["elementwise_loss"] = SimpleNamespace(data=losses.tolist())
        if name == "forward_backward":
            total.backward()
            self.rows += len(data)
        metrics = {} if self.service.averages else {"loss:sum": total.item()}
        return done(self.service.broken(SimpleNamespace(loss_fn_outputs=outputs, metrics=metrics)))

    @staticmethod
    def _losses(new: torch.Tensor, inputs: Any, loss: str, config: Any) -> torch.Tensor:
        if loss == "cross_entropy":
            return -new * torch.tensor(inputs["weights"])
        advantages = torch.tensor(inputs["advantages"])
        ratio = (new - torch.tensor(inputs["logprobs"])).exp()
        clipped = ratio.clamp(config.get("clip_low_threshold", 0.8), config.get("clip_high_threshold", 1.2))
        return -torch.minimum(ratio * advantages, clipped * advantages)

    def optim_step(self, settings: Any) -> Future[Any]:
        self.service.requests.append("optim_step")
        if self.service.averages:
            for weight in self.model.parameters():
                weight.grad /= self.rows
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), settings.grad_clip_norm)
        for group in self.optimizer.param_groups:
            group.update(lr=settings.learning_rate, betas=(settings.beta1, settings.beta2), eps=settings.eps)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.steps, self.rows = self.steps + 1, 0
        return done(SimpleNamespace(metrics={"service/grad_norm": float(norm)}))

    def save_state(self, name: str) -> Future[Any]:
        path = f"tinker://run/weights/{name}"
        moments = self.optimizer.state_dict()
        self.service.stored[path] = copy.deepcopy((self.model.state_dict(), moments, self.steps))
        return done(SimpleNamespace(path=path))

    def save_weights_and_get_sampling_client(self) -> Future[Any]:
        self.service.requests.append("hand over")
        return done(StandInSampler(self.service, copy.deepcopy(self.model)))


class StandInSampler:
    """Sampling client of weights at one moment."""

    def __init__(self, service: StandInService, model: Any) -> None:
        self.service, self.model = service, model

    def sample(self, prompt: ModelInput, num_samples: int, sampling_params: Any) -> Future[Any]:
        rng = torch.Generator().manual_seed(sampling_params.seed or 0)
        sequences = [self._sequence(prompt.ids, sampling_params, rng) for _ in range(num_samples)]
        return done(self.service.broken(SimpleNamespace(sequences=sequences)))

    @torch.no_grad()
    def _sequence(self, prompt: list[int], params: Any, rng: torch.Generator) -> Any:
        ids, logprobs = list[int](), list[float]()
        while len(ids) < params.max_tokens and not (ids and ids[-1] in params.stop):
            scores = self.model(torch.tensor([[*prompt, *ids]])).logits[0, -1].float()
            shares = (scores / (params.temperature or 1e-6)).softmax(-1)
            ids.append(int(torch.multinomial(shares, 1, generator=rng)))
            logprobs.append(float(scores.log_softmax(-1)[ids[-1]]))
        reason = "stop" if ids[-1] in params.stop else "length"
        return SimpleNamespace(tokens=np.array(ids), logprobs=np.array(logprobs), stop_reason=reason)


def stand_in(model: Any, **options: Any) -> tuple[TinkerService, StandInService]:
    """Service of the package, with the stand-in in place of the SDK."""
    fake = StandInService(model, **options)
    return TinkerService(fake), fake
