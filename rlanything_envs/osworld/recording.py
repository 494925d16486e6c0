"""Recording of episodes: GIF with Pillow alone, MP4 with ffmpeg (the extra ``video``)."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, SupportsFloat

import gymnasium as gym
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rlanything_envs.errors import MissingExtra
from rlanything_envs.osworld.clicks import Click, ClickFinder, mark_clicks
from rlanything_envs.osworld.desktop.observation import Pixels
from rlanything_verifiers.installed import install

__all__ = ["RecordEpisodes", "save_gif", "save_mp4"]

_BAND, _LINES, _FONT, _MARGIN = 60, 2, 16, 10
"""Height of the band with a caption in pixels, its lines, the size of its letters, and its margin."""
_PAPER, _INK = (24, 28, 33), (236, 240, 244)
_COLOURS = 128
"""Colours of a GIF; a desktop has few, and twice as many make files a third larger."""


def save_gif(
    frames: Sequence[Pixels],
    path: str | os.PathLike[str],
    *,
    captions: Sequence[str] | None = None,
    seconds: float = 0.8,
    width: int = 960,
) -> Path:
    """Write frames as an endless GIF.

    Args:
        frames: uint8, shape (height, width, 3), all of one size.
        path: file to write; missing directories are made.
        captions: a text for each frame, written below it.
        seconds: duration of a frame; the last one is shown three times as long.
        width: greatest width of the picture in pixels.

    Raises:
        ValueError: there are no frames, they differ in size, or there is not one caption for each.
    """
    pictures = [
        picture.quantize(_COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        for picture in _pictures(frames, captions, width)
    ]
    times = [max(20, round(1000 * seconds))] * len(pictures)
    times[-1] *= 3
    target = _target(path)
    pictures[0].save(
        target, "GIF", save_all=True, append_images=pictures[1:], duration=times, loop=0, optimize=False, disposal=1
    )
    return target


def save_mp4(
    frames: Sequence[Pixels],
    path: str | os.PathLike[str],
    *,
    captions: Sequence[str] | None = None,
    seconds: float = 0.8,
    width: int = 1280,
) -> Path:
    """Write frames as H.264 video; the arguments are those of `save_gif`.

    Raises:
        ValueError: as `save_gif`.
        MissingExtra: ffmpeg is missing; the message names the extra to install.
    """
    try:
        import imageio_ffmpeg  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtra(f"video files need ffmpeg: {install('video')}, or save a GIF") from None
    pictures = list(_pictures(frames, captions, width))
    size = tuple(side - side % 2 for side in pictures[0].size)  # the encoder wants even numbers
    target = _target(path)
    writer = imageio_ffmpeg.write_frames(
        str(target), size, fps=1 / seconds, codec="libx264", pix_fmt_out="yuv420p", macro_block_size=2
    )
    writer.send(None)
    try:
        for picture in [*pictures, pictures[-1], pictures[-1]]:  # the end stays as long as in a GIF
            writer.send(np.ascontiguousarray(np.asarray(picture)[: size[1], : size[0]]))
    finally:
        writer.close()
    return target


class RecordEpisodes(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Writes a file for each episode: the screen after each turn, with the action below it and marks where it clicked.

    The file is named after the number of the episode and its task, and is written when the episode ends, or when the
    next one begins, or on `close`.

    Args:
        env: an environment with ``render_mode="rgb_array"``.
        folder: where the files go.
        kind: ``"gif"`` or ``"mp4"``.
        every: record each episode whose number is a multiple of this.

    Raises:
        ValueError: another kind, or the environment draws no pictures.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        folder: str | os.PathLike[str],
        kind: Literal["gif", "mp4"] = "gif",
        every: int = 1,
    ) -> None:
        if kind not in ("gif", "mp4"):
            raise ValueError(f"RecordEpisodes: kind {kind!r} is unknown; choose 'gif' or 'mp4'")
        if env.render_mode != "rgb_array":
            raise ValueError("RecordEpisodes: make the environment with render_mode='rgb_array'")
        gym.utils.RecordConstructorArgs.__init__(self, folder=str(folder), kind=kind, every=every)
        gym.Wrapper.__init__(self, env)
        self.folder, self.kind, self.every = Path(folder), kind, max(1, int(every))
        self.episode = -1
        self._task = ""
        self._frames: list[Pixels] = []
        self._captions: list[str] = []
        self._clicks = ClickFinder(env)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode and a file."""
        self._write()
        observation, info = self.env.reset(seed=seed, options=options)
        self.episode += 1
        self._clicks.reset()
        self._task = str(info.get("task_id", "episode"))
        self._keep(str(info.get("instruction", "")))
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take an action and record the screen after it."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        clicks = self._clicks.find()
        told = f" · reward {float(reward):g}" if terminated or truncated else ""
        self._keep(f"{info.get('turn', len(self._frames))}: {_in_a_line(action)}{told}", clicks)
        if terminated or truncated:
            self._write()
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Write an unfinished recording, and close the environment."""
        self._write()
        super().close()

    def _keep(self, caption: str, clicks: Sequence[Click] = ()) -> None:
        if self.episode % self.every == 0:
            frame = self.env.render()
            assert isinstance(frame, np.ndarray)  # nosec B101 # for the type checker; render_mode ensures it
            self._frames.append(mark_clicks(np.array(frame, np.uint8), clicks))
            self._captions.append(caption)

    def _write(self) -> None:
        frames, captions, self._frames, self._captions = self._frames, self._captions, [], []
        if frames:
            save = save_gif if self.kind == "gif" else save_mp4
            save(frames, self.folder / f"{self.episode:04d}-{self._task}.{self.kind}", captions=captions)


def _in_a_line(action: Any) -> str:
    return " ".join(str(action).split())


def _target(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _pictures(frames: Sequence[Pixels], captions: Sequence[str] | None, width: int) -> Iterator[Image.Image]:
    if not frames:
        raise ValueError("there are no frames to save")
    if captions is not None and len(captions) != len(frames):
        raise ValueError(f"{len(captions)} captions for {len(frames)} frames; give one for each, or none")
    if any(frame.shape != frames[0].shape for frame in frames):
        raise ValueError(f"frames differ in size: {sorted({frame.shape for frame in frames})}")
    return _drawn(frames, captions or [""] * len(frames), captions is not None, width)


def _drawn(frames: Sequence[Pixels], captions: Iterable[str], band: bool, width: int) -> Iterator[Image.Image]:
    for frame, caption in zip(frames, captions, strict=True):
        if (picture := Image.fromarray(frame)).width > width:
            picture = picture.resize((width, max(1, round(picture.height * width / picture.width))))
        yield _with_band(picture, caption) if band else picture


def _with_band(picture: Image.Image, caption: str) -> Image.Image:
    page = Image.new("RGB", (picture.width, picture.height + _BAND), _PAPER)
    page.paste(picture, (0, 0))
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(_FONT)
    columns = max(10, int((picture.width - 2 * _MARGIN) / draw.textlength("n", font=font)))
    plain = "".join(letter if letter.isprintable() else "·" for letter in caption[:2000])
    lines = textwrap.wrap(plain, columns, max_lines=_LINES, placeholder=" …")
    for number, line in enumerate(lines):
        draw.text((_MARGIN, picture.height + _MARGIN + number * (_FONT + 5)), line, font=font, fill=_INK)
    return page
