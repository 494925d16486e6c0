"""A small model learns to see real desktops; how often it hits what is asked for on screens that it has not seen.

The model is a Qwen3-VL of random weights (`make_seeing_model`). Its tower is taught densely: what it says about each
cell of a screen is scored against a vector of each name, in both directions: "what is at (x, y)", and "where is Save".
So one screen has hundreds of labels.
"""

from __future__ import annotations

import io
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image as Picture
from torch.nn import functional

from rlanything_agents.config import CheckpointConfig, SmallConfig
from rlanything_agents.models.pretrained import load_base, load_template
from rlanything_agents.models.small import CELL, make_seeing_model
from rlanything_agents.runs.folder import write_atomically
from studies.plan import StudyError
from studies.screens import SCREEN, Named, Screen, screens

__all__ = ["Eyes", "hits", "optimise", "pixels_of", "run", "table", "teach"]

SIZE = SmallConfig(hidden_size=128, layers=2)
COLUMNS, ROWS = SCREEN[0] // CELL, SCREEN[1] // CELL
SHARPNESS = 16.0
"""Factor on the cosine of a cell and a name; the greatest and smallest scores are 32 nats apart."""
MODEL = "model"
NOTHING = ""
"""Name of a cell in which there is nothing."""
_SHIFT = 24
"""Maximum pixels by which a screen is shifted when it is taught, so that places alone do not tell the names."""
_BATCH, _RATE, _WARMUP = 6, 3e-3, 50
_OFTEN = 3
"""Screens of the training on which a name has to be to get a vector."""
_KEEP_S = 60.0

Pixels = NDArray[np.uint8]


class Eyes:
    """The tower of a seeing model, and vectors of names.

    Args:
        folder: Folder of the model, see `make_seeing_model`.
        names: Names that get a vector.
    """

    def __init__(self, folder: Path, names: Sequence[str] = ()) -> None:
        config = CheckpointConfig(
            checkpoint=str(folder), dtype="float32", freeze_vision=False, max_tokens=64, context=2048
        )
        self.model = load_base(config, load_template(config).tokenizer)
        self.number = {name: place for place, name in enumerate((NOTHING, *names))}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.vectors = torch.nn.Embedding(len(self.number), self.model.config.vision_config.out_hidden_size)
        self._embed = embed = self.model.model.visual.patch_embed
        # A convolution whose patches do not overlap is a linear map; on processors it takes fifteen times as long. Both
        # frames of a still picture are the same, so their weights are added.
        embed.forward = lambda pixels: functional.linear(pixels, embed.proj.weight.sum(2).flatten(1), embed.proj.bias)

    def whiten(self, pixels: Pixels) -> None:
        """Begin with patches along their principal directions, all as loud: else bright and dark are all that differs.

        Args:
            pixels: uint8 of shape (screens, height, width, 3).
        """
        rows, width = self.pictures(pixels)["pixel_values"], self._embed.proj.weight.shape[0]
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            centre = rows.mean(0)
            _, sizes, directions = torch.pca_lowrank(rows, width)
            weight = directions.T / (sizes**2 / len(rows) + 1e-3).sqrt()[:, None]
            self._embed.proj.weight.copy_((weight / 2).view(width, 3, 1, CELL, CELL).expand(-1, -1, 2, -1, -1))
            self._embed.proj.bias.copy_(-weight @ centre)

    def cells(self, pixels: Pixels) -> torch.Tensor:
        """What the tower says about each cell: float32 of shape (screens, cells, width), of length 1.

        Args:
            pixels: uint8 of shape (screens, height, width, 3).
        """
        shown = self.pictures(pixels)
        seen = self.model.model.visual(shown["pixel_values"], grid_thw=shown["image_grid_thw"]).pooler_output
        return functional.normalize(seen.view(len(pixels), -1, seen.shape[-1]), dim=-1)

    def pictures(self, pixels: Pixels) -> dict[str, torch.Tensor]:
        """Screens as arguments of the model: their patches, and their numbers in both directions.

        Args:
            pixels: uint8 of shape (screens, height, width, 3), height and width multiples of `CELL`.
        """
        count, height, width, _ = pixels.shape
        cut = torch.from_numpy(pixels).view(count, height // CELL, CELL, width // CELL, CELL, 3)
        flat = cut.permute(0, 1, 3, 5, 2, 4).reshape(-1, 3 * CELL**2)
        grid = torch.tensor([[1, height // CELL, width // CELL]] * count)
        return {"pixel_values": flat.float().div_(127.5).sub_(1), "image_grid_thw": grid}

    def scores(self, pixels: Pixels) -> torch.Tensor:
        """Scores of all names in the cells, that of `NOTHING` first: float32 of shape (screens, cells, names)."""
        return SHARPNESS * self.cells(pixels) @ functional.normalize(self.vectors.weight, dim=-1).T

    def points(self, pixels: Pixels, names: Sequence[str]) -> list[tuple[int, int] | None]:
        """Where each name is on one screen: the middle of the cell with the highest score; None for an unknown name."""
        with torch.no_grad():
            best = self.scores(pixels[None])[0].argmax(0)
        return [_middle(int(best[self.number[name]])) if name in self.number else None for name in names]


def loss_of(eyes: Eyes, pixels: Pixels, batch: Sequence[Sequence[Named]]) -> torch.Tensor:
    """Mean of two losses in nats: which name is in a cell, and in which cell of its screen a name is.

    Cells with nothing in them count a fifth, since they are most of a screen; those with an unknown name do not count.

    Args:
        eyes: The model.
        pixels: uint8 of shape (screens, height, width, 3).
        batch: Elements of each screen.
    """
    scores, there, empty = eyes.scores(pixels), torch.zeros(len(batch), ROWS * COLUMNS, len(eyes.number)), 0.2
    for screen, elements in enumerate(batch):
        taken = {cell for one in elements for cell in _cells(one)}
        there[screen, [cell for cell in range(ROWS * COLUMNS) if cell not in taken], 0] = 1
        for one in elements:
            if one.name in eyes.number:
                there[screen, sorted(_cells(one)), eyes.number[one.name]] = 1
    weight = torch.where(there[..., 0] > 0, empty, 1.0) * (there.sum(-1) > 0)
    what = -(functional.log_softmax(scores, -1) * there).sum(-1) / there.sum(-1).clamp(min=1)
    cells = there[..., 1:].sum(1)
    where = -(functional.log_softmax(scores[..., 1:], 1) * there[..., 1:]).sum(1)[cells > 0] / cells[cells > 0]
    return (what * weight).sum() / weight.sum() + where.mean()


def teach(
    folder: Path, train: Sequence[Screen], steps: int, *, seed: int = 0, note: Callable[[str], None] = print
) -> Eyes:
    """Teach a model densely; an interrupted call continues where its last state was stored.

    Args:
        folder: Where the model is; made if it does not exist.
        train: Screens to learn from.
        steps: Steps of the optimiser.
        seed: Seed of the weights and of the order.
        note: Receives a line now and then.
    """
    if not (folder / "model" / "config.json").exists():
        make_seeing_model(folder / "model", SIZE, seed, image_tokens=COLUMNS * ROWS, patch=CELL)
    eyes, pictures = Eyes(folder / "model", names_of(train)), [pixels_of(screen) for screen in train]
    if not (folder / "dense.pt").exists():
        eyes.whiten(np.stack(pictures[:: max(1, len(pictures) // 60)]))

    def loss_at(rng: np.random.Generator) -> torch.Tensor:
        chosen = rng.choice(len(train), min(_BATCH, len(train)), replace=False)
        batch = [_shifted(pictures[k], train[k].elements, rng) for k in chosen]
        return loss_of(eyes, np.stack([pixels for pixels, _ in batch]), [elements for _, elements in batch])

    learning = torch.nn.ModuleDict({"model": eyes.model.model.visual, "vectors": eyes.vectors})
    optimise(learning, folder / "dense.pt", steps, loss_at, seed=seed, note=note)
    eyes.model.save_pretrained(folder / "model")
    return eyes


def optimise(
    model: torch.nn.Module,
    kept: Path,
    steps: int,
    loss_at: Callable[[np.random.Generator], torch.Tensor],
    *,
    seed: int,
    note: Callable[[str], None],
) -> list[float]:
    """Minimise a loss by AdamW, and leave weights, optimiser and losses in a file, from which a second call continues.

    Args:
        model: Model to train in place; afterwards it is in evaluation mode.
        kept: The file.
        steps: Steps of the optimiser.
        loss_at: Loss of a step for its random generator.
        seed: Seed of these generators.
        note: Receives a line each time the file is written.

    Raises:
        StudyError: The file is of another seed, or of another number of steps, which the rate follows.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE, betas=(0.9, 0.98), weight_decay=0.01)
    losses: list[float] = []
    if kept.exists():
        state = torch.load(kept, weights_only=True)
        if (of := (state.get("seed"), state.get("steps"))) != (seed, steps):
            raise StudyError(f"{kept} is of seed {of[0]} and {of[1]} steps: give another --out")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        losses = state["losses"]
    model.train()
    begin = stored = time.monotonic()
    first = len(losses)
    for step in range(first, steps):
        loss = loss_at(np.random.default_rng((seed, step)))
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.param_groups[0]["lr"] = _RATE * min(1.0, (step + 1) / _WARMUP) * (0.1 + 0.9 * (1 - step / steps))
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        if step + 1 == steps or time.monotonic() - stored > _KEEP_S:
            stored = time.monotonic()
            part = kept.with_suffix(".part")
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "losses": losses}
            torch.save(state | {"seed": seed, "steps": steps}, part)
            part.replace(kept)
            each = (time.monotonic() - begin) / (step + 1 - first)
            note(f"{kept.stem} {step + 1}/{steps}: loss {np.mean(losses[-50:]):.3f} nats, {each:.2f} s a step")
    model.eval()
    return losses


def names_of(train: Sequence[Screen]) -> list[str]:
    """The names that are on some screens of the training."""
    count = Counter(name for screen in train for name in {one.name for one in screen.elements})
    return sorted(name for name, screens in count.items() if screens >= _OFTEN)


def table(eyes: Eyes, train: Sequence[Screen], unseen: Sequence[Screen]) -> dict[str, Any]:
    """Hit rates of named elements on unseen screens, in percent, with 95 % intervals over tasks (bootstrap).

    Rows: the model; the same with blank pictures; the most frequent place of the name in training; the middle of a
    random element with a name; a random point; and the most that the middle of a cell can hit. An element whose name is
    on a screen twice is hit by a click on either. A baseline's row has what the model is ahead of it, and the model's
    rate where the baseline misses.

    Args:
        eyes: The model.
        train: The screens of its training.
        unseen: Screens of other tasks.
    """
    rng, places = np.random.default_rng(0), dict[str, Counter[int]]()
    for screen in train:
        for one in screen.elements:
            places.setdefault(one.name, Counter())[_cell(one)] += 1
    usual = {name: _middle(cells.most_common(1)[0][0]) for name, cells in places.items()}
    tasks = sorted({screen.task for screen in unseen})
    counts, beyond = dict[str, NDArray[np.float64]](), Counter[str]()
    asked = np.zeros(len(tasks))
    for screen in unseen:
        pixels, names = pixels_of(screen), sorted({one.name for one in screen.elements})
        others = [screen.elements[k] for k in rng.integers(len(screen.elements), size=len(names))] if names else []
        points: dict[str, Sequence[Sequence[float] | None]] = {
            MODEL: eyes.points(pixels, names),
            "blank pictures": eyes.points(np.full_like(pixels, 127), names),
            "most frequent place in training": [usual.get(name) for name in names],
            "middle of a random named element": [(one.x, one.y) for one in others],
            "random point": list(rng.uniform((0, 0), SCREEN, (len(names), 2))),
            "best cell": [_best(screen.elements, name) for name in names],
        }
        task = tasks.index(screen.task)
        asked[task] += len(names)
        ours: list[bool] = []
        for row, clicked in points.items():
            hit = [hits(screen.elements, name, point) for name, point in zip(names, clicked, strict=True)]
            counts.setdefault(row, np.zeros(len(tasks)))[task] += sum(hit)
            ours = hit if row == MODEL else ours
            beyond[row] += sum(one and not other for one, other in zip(ours, hit, strict=True))
    drawn = np.random.default_rng(0).integers(len(tasks), size=(4000, len(tasks)))
    rates = {row: 100 * one[drawn].sum(1) / asked[drawn].sum(1) for row, one in counts.items()}
    return {
        row: {
            "rate": 100 * float(one.sum() / asked.sum()),
            "interval": np.quantile(rates[row], (0.025, 0.975)).tolist(),
            "ahead": np.quantile(rates[MODEL] - rates[row], (0.025, 0.975)).tolist(),
            "model where it misses": 100 * beyond[row] / max(1, int(asked.sum() - one.sum())),
        }
        for row, one in counts.items()
    } | {"asked": int(asked.sum()), "tasks": len(tasks), "screens": len(unseen)}


def pixels_of(screen: Screen) -> Pixels:
    """The picture of a screen: uint8 of shape (height, width, 3)."""
    return np.array(Picture.open(io.BytesIO(screen.png)).convert("RGB"), dtype=np.uint8)


def _shifted(pixels: Pixels, elements: Sequence[Named], rng: np.random.Generator) -> tuple[Pixels, list[Named]]:
    right, down = (int(value) for value in rng.integers(-_SHIFT, _SHIFT + 1, 2))
    moved = [Named(one.name, one.x + right, one.y + down, one.width, one.height) for one in elements]
    inside = [one for one in moved if 0 <= one.x < SCREEN[0] and 0 <= one.y < SCREEN[1]]
    return np.roll(pixels, (down, right), (0, 1)), inside


def _cells(one: Named) -> set[int]:
    """The cells whose middle an element covers, and that of its own middle."""
    columns = [k for k in range(COLUMNS) if 2 * abs((k + 0.5) * CELL - one.x) <= one.width]
    rows = [k for k in range(ROWS) if 2 * abs((k + 0.5) * CELL - one.y) <= one.height]
    return {_cell(one), *(row * COLUMNS + column for row in rows for column in columns)}


def _cell(one: Named) -> int:
    return one.y // CELL * COLUMNS + one.x // CELL


def _middle(cell: int) -> tuple[int, int]:
    return cell % COLUMNS * CELL + CELL // 2, cell // COLUMNS * CELL + CELL // 2


def hits(elements: Sequence[Named], name: str, point: Sequence[float] | None) -> bool:
    """Whether a click, if there is one, is on an element of a name."""
    return point is not None and any(one.holds(point[0], point[1]) for one in elements if one.name == name)


def _best(elements: Sequence[Named], name: str) -> tuple[int, int]:
    wanted = [one for one in elements if one.name == name]
    every = [_middle(cell) for one in wanted for cell in _cells(one)]
    return next((point for point in every if hits(wanted, name, point)), every[0])


def run(folder: Path, steps: int, *, seed: int = 0, note: Callable[[str], None] = print) -> dict[str, Any]:
    """Teach and measure; leaves ``table.json`` in the folder."""
    train, unseen = (screens(folder / "screens", part) for part in ("train", "held-out"))
    note(f"{len(train)} screens to learn from, {len(unseen)} unseen ones")
    eyes = teach(folder, train, steps, seed=seed, note=note)
    found = table(eyes, train, unseen)
    write_atomically(folder / "table.json", json.dumps(found, indent=2) + "\n")
    return found
