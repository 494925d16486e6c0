"""A model that has learnt to see learns to say where: the calls that solve a task, in the prompts of the closed loop.

Besides the demonstrations there are invented tasks, which need no desktop: any two elements of a screen take the places
of the file and the folder in the goal of a task.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.models.pretrained import load_template
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.trajectory import Step
from rlanything_agents.runs.folder import write_atomically
from rlanything_agents.training.imitation import pad, row_of
from rlanything_envs.llm.generator import SeenPrompt
from rlanything_envs.message import Image
from rlanything_envs.views import get_view
from studies.screens import SCREEN, Screen, solution
from studies.seeing import Eyes, hits, optimise, pixels_of

__all__ = ["Lesson", "act", "demonstrations", "invented", "measure", "renderer_of"]

_BATCH = 4
_GOALS = {
    "sort_files": 'In the folder "{0}" on the Desktop, move the file "{1}" into the folder "{2}".',
    "rename_files": 'In the folder "{0}" on the Desktop, rename "{1}" to "{2}".',
}
_COORDINATES = re.compile(r'"coordinate": \[(\d{1,4}), (\d{1,4})\]')
_ANSWER = 64
"""Tokens, of a byte each, in which a first place has been said."""

Point = tuple[float, float]
Lesson = tuple[SeenPrompt, list[int]]
"""A prompt with its screen, and the ids of the answer."""


def renderer_of(folder: Path) -> Renderer:
    """Renderer of prompts as a run with ``rollout.history: 0`` renders them: the latest screen, and a line a turn."""
    config = CheckpointConfig(checkpoint=str(folder), dtype="float32", max_tokens=128, context=2048)
    return Renderer(load_template(config), get_view("RLAnything/OSWorld-v0", "full"), config, history=0)


def demonstrations(screens: Sequence[Screen], renderer: Renderer) -> list[Lesson]:
    """The turns that solve the tasks of `SOLVED`, each with its prompt."""
    lessons: list[Lesson] = []
    for _, group in groupby(screens, key=lambda screen: screen.task):
        turns: list[tuple[list[int], Step]] = []
        episode = [screen for screen in group if screen.answer]
        for place, screen in enumerate(episode):
            shown = Image(pixels_of(screen))
            if place:
                ids, step = turns[-1]
                turns[-1] = ids, replace(step, observation=screen.text, screen=shown)
            prompt = renderer.prompt(episode[0].text, turns, Image(pixels_of(episode[0])))
            assert isinstance(prompt, SeenPrompt)  # nosec B101 # it has a screen
            ids = renderer.answer("", screen.answer)
            lessons.append((prompt, ids))
            turns.append((ids, Step("", screen.answer, "", "ok")))
    return lessons


def invented(screen: Screen, manual: str, renderer: Renderer, rng: np.random.Generator) -> Lesson | None:
    """The first turn of a task that any elements of a screen make; None where it has fewer than three.

    Args:
        screen: The screen.
        manual: What follows the goal in the first message.
        renderer: Renderer of the prompt.
        rng: Chooses elements and kind.
    """
    names = sorted({one.name for one in screen.elements if '"' not in one.name})
    if len(names) < 3:
        return None
    chosen, kind = [str(name) for name in rng.choice(names, 3, replace=False)], str(rng.choice(sorted(_GOALS)))
    prompt = _prompt(renderer, screen, _GOALS[kind].format(*chosen), manual)
    return prompt, renderer.answer("", solution(kind, chosen, screen.elements, 0))


def _prompt(renderer: Renderer, screen: Screen, goal: str, manual: str) -> SeenPrompt:
    prompt = renderer.prompt(f"Task: {goal}\n\n{manual}", [], Image(pixels_of(screen)))
    assert isinstance(prompt, SeenPrompt)  # nosec B101 # it has a screen
    return prompt


def act(
    folder: Path, train: Sequence[Screen], steps: int, *, seed: int = 0, note: Callable[[str], None] = print
) -> Path:
    """Teach the model of `seeing.teach` to answer; returns the folder of a checkpoint for ``policy.checkpoint``.

    An interrupted call continues where its last state was stored.

    Args:
        folder: Folder of a study, with the model.
        train: Screens to learn from.
        steps: Steps of the optimiser.
        seed: Seed of the order.
        note: Receives a line now and then.
    """
    policy = folder / "policy"
    if not policy.exists():
        shutil.copytree(folder / "model", policy)
    eyes, renderer = Eyes(policy), renderer_of(policy)
    shown = demonstrations(train, renderer)
    manual = _manual(train)

    def loss_at(rng: np.random.Generator) -> torch.Tensor:
        new = [invented(train[k], manual, renderer, rng) for k in rng.choice(len(train), _BATCH, replace=False)]
        return _loss(eyes, [shown[rng.integers(len(shown))], *filter(None, new)])

    optimise(eyes.model, folder / "act.pt", steps, loss_at, seed=seed, note=note)
    eyes.model.save_pretrained(policy)
    return policy


def _loss(eyes: Eyes, lessons: Sequence[Lesson]) -> torch.Tensor:
    """Mean loss of a token of the answers, in nats."""
    ids, learnt = pad([row_of(prompt, answer) for prompt, answer in lessons], eyes.model.device)
    hidden = eyes.model.model(**_inputs(eyes, ids[:, :-1], [prompt for prompt, _ in lessons])).last_hidden_state
    logits = eyes.model.lm_head(hidden[learnt[:, 1:]])
    return functional.cross_entropy(logits, ids[:, 1:][learnt[:, 1:]])


def _inputs(eyes: Eyes, ids: torch.Tensor, prompts: Sequence[SeenPrompt]) -> dict[str, torch.Tensor]:
    pixels = np.stack([np.asarray(image.pixels) for prompt in prompts for image in prompt.images])
    return {
        "input_ids": ids,
        **eyes.pictures(pixels),
        "mm_token_type_ids": (ids == eyes.model.config.image_token_id).int(),
    }


def measure(folder: Path, train: Sequence[Screen], unseen: Sequence[Screen]) -> dict[str, int]:
    """How often the most probable answer clicks first on what a task names: one name of each unseen screen.

    Args:
        folder: Folder of a study, after `act`.
        train: The screens of the training.
        unseen: Screens of other tasks.

    Returns:
        Numbers of screens, of answers that click at all, of hits, and of hits by the most frequent answer.
    """
    eyes, renderer, rng = Eyes(folder / "policy"), renderer_of(folder / "policy"), np.random.default_rng(0)
    eyes.model.eval()
    manual = _manual(train)
    asked: list[tuple[Screen, str, Point | None]] = []
    for screen in unseen:
        if names := sorted({one.name for one in screen.elements}):
            name = str(rng.choice(names))
            asked.append((screen, name, _said(eyes, renderer, screen, name, manual)))
    usual = Counter(point for _, _, point in asked).most_common(1)[0][0]
    found = {
        "screens": len(asked),
        "clicks": sum(point is not None for _, _, point in asked),
        "hits": sum(hits(screen.elements, name, point) for screen, name, point in asked),
        "hits of the most frequent answer": sum(hits(screen.elements, name, usual) for screen, name, _ in asked),
    }
    write_atomically(folder / "answers.json", json.dumps(found, indent=2) + "\n")
    return found


def _manual(train: Sequence[Screen]) -> str:
    """What follows the goal in a first message."""
    return next(screen.text for screen in train if screen.text).partition("\n\n")[2]


def _said(eyes: Eyes, renderer: Renderer, screen: Screen, name: str, manual: str) -> Point | None:
    prompt = _prompt(renderer, screen, _GOALS["rename_files"].format("photos", name, "summary.txt"), manual)
    ids = torch.tensor([prompt.ids])
    with torch.no_grad():
        said = eyes.model.generate(**_inputs(eyes, ids, [prompt]), max_new_tokens=_ANSWER, do_sample=False)
    found = _COORDINATES.search(renderer.template.decode(said[0, ids.shape[1] :].tolist()))
    return found and (int(found[1]) * SCREEN[0] / 1000, int(found[2]) * SCREEN[1] / 1000)
