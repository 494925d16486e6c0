"""Sounds and films as plain numbers, decoded by ffmpeg (the extra ``video``) in a process with limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.libraries import library
from rlanything_verifiers.osworld.limited import run_limited

__all__ = ["RATE", "SIDE", "film_frames", "sound_samples"]

RATE = 22_050
"""Samples a second."""

SIDE = 32
"""Height and width in pixels to which the frames of a film are scaled."""

_LONGEST = 20 * 60
"""Seconds of a sound that are listened to."""

_SECONDS = 60
"""Of processor time."""

_CONTAINERS = ",".join(
    (
        *("aac", "ac3", "aiff", "asf", "avi", "flac", "flv", "matroska", "mov", "mp3", "mp4", "mpeg", "mpegts"),
        *("mpegvideo", "ogg", "wav", "webm", "m4v", "amr", "au", "caf", "wv"),
    )
)
"""Kinds of files. Playlists are none of them: they name other files and addresses to read."""


def sound_samples(file: File) -> NDArray[np.float32]:
    """The samples of a sound, all channels mixed to one, in [-1, 1]; shape (samples,)."""
    options = ["-vn", "-ac", "1", "-ar", str(RATE), "-t", str(_LONGEST), "-f", "s16le"]
    return np.frombuffer(_decoded(file, options), np.dtype("<i2")).astype(np.float32) / np.float32(2**15)


def film_frames(file: File, most: int) -> NDArray[np.uint8]:
    """The first frames of a film in gray, scaled to `SIDE` pixels; shape (frames, `SIDE`, `SIDE`)."""
    scale = f"scale={SIDE}:{SIDE}:flags=lanczos,format=gray"
    options = ["-an", "-frames:v", str(most), "-fps_mode", "passthrough", "-vf", scale, "-f", "rawvideo"]
    return np.frombuffer(_decoded(file, options), np.uint8).reshape(-1, SIDE, SIDE)


def _decoded(file: File, options: list[str]) -> bytes:
    ffmpeg = str(library("imageio_ffmpeg").get_ffmpeg_exe())
    with file.reading():
        reading = ["-nostdin", "-v", "error", "-threads", "1", "-protocol_whitelist", "file"]
        command = [ffmpeg, *reading, "-format_whitelist", _CONTAINERS, "-i", "{}", *options, "pipe:1"]
        return run_limited(file, command, file.data, seconds=_SECONDS)
