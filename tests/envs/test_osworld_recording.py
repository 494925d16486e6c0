"""Episodes as GIF and MP4."""

import sys

import gymnasium as gym
import numpy as np
import pytest
from osworld_tasks import SOLUTION, make
from PIL import Image
from scripted_desktop import SCRIPTED

from rlanything_envs.errors import MissingExtra
from rlanything_envs.osworld.recording import RecordEpisodes, save_gif, save_mp4


def frames(count=3, size=(60, 81)):
    return [np.full((*size, 3), 80 * i, np.uint8) for i in range(count)]


def shown(path):
    """The pictures of a GIF and how long each is shown, in milliseconds."""
    with Image.open(path) as image:
        pictures, times = [], []
        for i in range(image.n_frames):
            image.seek(i)
            pictures.append(np.asarray(image.convert("RGB")))
            times.append(image.info["duration"])
        assert image.info["loop"] == 0
    return pictures, times


def test_gif(tmp_path):
    pictures, times = shown(save_gif(frames(), tmp_path / "new" / "a.gif", seconds=0.5))
    assert times == [500, 500, 1500]
    assert [picture.shape for picture in pictures] == [(60, 81, 3)] * 3
    assert [int(picture[30, 40, 0]) for picture in pictures] == pytest.approx([0, 80, 160], abs=4)


def test_captions_and_width(tmp_path):
    captions = ["", "one\ud800\n" + "word " * 500, "two"]
    pictures, _ = shown(save_gif(frames(size=(500, 1000)), tmp_path / "a.gif", captions=captions, width=500))
    assert pictures[0].shape == (310, 500, 3)
    bands = [picture[250:] for picture in pictures]
    assert len(np.unique(bands[0].reshape(-1, 3), axis=0)) == 1
    assert all(len(np.unique(band.reshape(-1, 3), axis=0)) > 2 for band in bands[1:])


def test_a_gif_is_the_same_each_time(tmp_path):
    made = [save_gif(frames(), tmp_path / f"{i}.gif", captions=["a", "b", "c"]).read_bytes() for i in range(2)]
    assert made[0] == made[1]


def test_mp4(tmp_path):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="needs the extra: video")
    path = save_mp4(frames(), tmp_path / "a.mp4", captions=["a", "b", "c"], seconds=0.5)
    reader = imageio_ffmpeg.read_frames(str(path))
    facts = next(reader)
    assert facts["size"] == (80, 120)  # even, and with the band
    assert facts["codec"].startswith("h264")
    colours = [np.frombuffer(frame, np.uint8).reshape(120, 80, 3)[30, 40, 0] for frame in reader]
    assert len(colours) == 5
    assert [int(colour) for colour in colours] == pytest.approx([0, 80, 160, 160, 160], abs=8)


def test_without_ffmpeg(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingExtra, match=r"pip install -e '.*\[video\]"):
        save_mp4(frames(), tmp_path / "a.mp4")


@pytest.mark.parametrize(
    ("given", "captions", "words"),
    [([], None, "no frames"), (frames(), ["a"], "1 captions for 3"), ([*frames(), *frames(1, (9, 9))], None, "differ")],
)
def test_what_cannot_be_saved(given, captions, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        save_gif(given, tmp_path / "a.gif", captions=captions)


@pytest.fixture
def env():
    settings = {**SCRIPTED, "screen": [800, 600], "observation": "text", "render_mode": "rgb_array"}
    return gym.make("RLAnything/OSWorld-v0", tasks=[make()], **settings)


def test_each_episode_has_a_file(env, tmp_path):
    recorded = RecordEpisodes(env, tmp_path)
    for actions in (SOLUTION, SOLUTION[:1]):
        _, info = recorded.reset(seed=0)
        for action in [*actions, "DONE"]:
            recorded.step(action)
    recorded.reset(seed=0)
    recorded.close()
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [f"000{i}-{info['task_id']}.gif" for i in range(3)]
    pictures, _ = shown(files[0])
    assert len(pictures) == 5  # the start and four turns
    assert pictures[0].shape == (660, 800, 3)
    assert (pictures[2][:600] != pictures[0][:600]).any()


def test_some_episodes_as_video(env, tmp_path):
    pytest.importorskip("imageio_ffmpeg", reason="needs the extra: video")
    recorded = RecordEpisodes(env, tmp_path, "mp4", every=2)
    for _ in range(3):
        recorded.reset(seed=0)
        recorded.step("FAIL")
    recorded.close()
    assert [file.name[:4] for file in sorted(tmp_path.iterdir())] == ["0000", "0002"]


def test_gymnasiums_own_recorder(env, tmp_path):
    pytest.importorskip("moviepy", reason="needs the extra: video")
    recorded = gym.wrappers.RecordVideo(env, str(tmp_path / "videos"), video_length=0)
    recorded.reset(seed=0)
    for action in [*SOLUTION, "DONE"]:
        recorded.step(action)
    recorded.close()
    assert [file.suffix for file in (tmp_path / "videos").iterdir()] == [".mp4"]


def test_wrong_arguments(env, tmp_path):
    with pytest.raises(ValueError, match="choose 'gif' or 'mp4'"):
        RecordEpisodes(env, tmp_path, "avi")
    with pytest.raises(ValueError, match="render_mode='rgb_array'"):
        RecordEpisodes(gym.make("RLAnything/OSWorld-v0", tasks=[make()], **SCRIPTED), tmp_path)
