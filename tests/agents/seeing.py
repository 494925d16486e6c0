"""A small model that sees, and a toy environment of screens with text, for tests."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from rlanything_agents.config import CheckpointConfig, SmallConfig
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.pretrained import load_model, load_template
from rlanything_agents.models.small import make_seeing_model
from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.rollout import Policy
from rlanything_envs.message import Image
from rlanything_envs.spaces import Unicode
from rlanything_envs.views import View

SIZE = SmallConfig(hidden_size=32, layers=2)
SCREEN = (96, 64)
"""Width and height of the toy's screen: 3 by 2 tokens."""


@cache
def folder(seed: int = 0) -> Path:
    """A model's folder, made once a process."""
    path = Path(tempfile.mkdtemp(prefix="seeing-")) / "model"
    make_seeing_model(path, SIZE, seed)
    return path


def settings(**changes: Any) -> CheckpointConfig:
    return CheckpointConfig.model_validate(
        {"checkpoint": str(folder()), "dtype": "float32", "max_tokens": 8, "context": 2048, **changes}
    )


def model_and_template(**changes: Any) -> tuple[Any, ChatTemplate]:
    config = settings(**changes)
    template = load_template(config)
    return load_model(config, template.tokenizer, seed=0), template


def screen(seed: int, width: int = SCREEN[0], height: int = SCREEN[1]) -> Image:
    return Image(np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8))


class Lamps(gym.Env[Any, str]):
    """Says nothing of the lamp on the screen, whose colour changes in each turn; the agent names it, five times."""

    def __init__(self) -> None:
        width, height = SCREEN
        picture = gym.spaces.Box(0, 255, (height, width, 3), np.uint8)
        self.observation_space = gym.spaces.Dict({"screenshot": picture, "message": Unicode(100)})
        self.action_space = Unicode(100)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.turn = 0
        return self._seen("Which lamp is lit?"), {"task_id": str((options or {}).get("task", ""))}

    def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        over = self.turn == 5
        return self._seen(f"You said {action[:9]!r}."), float(over), over, False, {"outcome": 1} if over else {}

    def _seen(self, message: str) -> dict[str, Any]:
        return {"screenshot": np.asarray(screen(self.turn).pixels), "message": message}


VIEW = View("full", read=lambda text: ("", text), write=lambda thought, action: thought + action, manual="Look.")


def policy(history: int | None = None, **changes: Any) -> Policy:
    model, template = model_and_template(**changes)
    engine = ChatGenerator(TransformersGenerator(model, template.tokenizer), template)
    return Policy(engine, Renderer(template, VIEW, settings(**changes), history))
