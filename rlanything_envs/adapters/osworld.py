"""OSWorld's own interface: `DesktopEnv`, as agents and loops written for the package ``desktop_env`` call it.

```python
from rlanything_envs.adapters.osworld import DesktopEnv  # was: from desktop_env.desktop_env import DesktopEnv

env = DesktopEnv(action_space="pyautogui")
obs = env.reset(task_config=example)  # a task file of OSWorld, decoded
obs, reward, done, info = env.step("pyautogui.click(100, 200)")
env.evaluate()  # 0 to 1
```
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from rlanything_envs.errors import EpisodeOver, InfrastructureError
from rlanything_envs.osworld.clicks import clicks_of, mark_clicks
from rlanything_envs.osworld.desktop import Client, Desktop
from rlanything_envs.osworld.desktop.observation import Pixels
from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_envs.osworld.recording import save_mp4
from rlanything_envs.osworld.setup import Files
from rlanything_task_pools.osworld import import_task
from rlanything_verifiers.osworld import Strict

__all__ = ["Controller", "DesktopEnv"]

_TURNS = 1_000_000
"""Loops written for OSWorld count turns themselves."""

Observation = dict[str, Any]


class DesktopEnv:
    """A desktop under the names of OSWorld's ``desktop_env.DesktopEnv``; `OSWorldEnv` does the work.

    As there, ``reset`` and ``step`` return what is seen as a mapping of ``screenshot`` (PNG), ``accessibility_tree``
    (XML), ``terminal`` and ``instruction``; the reward of a step is 0, and ``evaluate`` gives the score. Other than
    there, a failure of desktop or evaluator raises `InfrastructureError` and is never a score.

    Args:
        action_space: ``"pyautogui"`` or ``"computer_13"``.
        screen_size: Width and height in pixels.
        require_a11y_tree: Whether observations have the accessibility tree.
        require_terminal: Whether they have the terminal's text.
        client_password: Password of the guest's user; empty for the usual one.
        backend: Desktop, as of `OSWorldEnv`; it takes the place of `provider_name`, `region`, `path_to_vm`,
            `snapshot_name`, `cache_dir`, `headless`, `os_type` and `enable_proxy`, which have no effect.
        assets: Directory of the tasks' remote files, as of `OSWorldEnv`.
        strict: Whose reading of a metric counts, as of `OSWorldEnv`.

    Attributes:
        instruction: The task in words.
        task_id: Id in the task file; of a task without one, that of this package.
        action_history: Actions since the reset.
        controller: The way to the desktop besides the actions.

    Raises:
        ValueError: An argument is not one of its choices.
    """

    def __init__(
        self,
        provider_name: str = "",
        region: str | None = None,
        path_to_vm: str | None = None,
        snapshot_name: str = "init_state",
        action_space: str = "pyautogui",
        cache_dir: str = "cache",
        screen_size: Sequence[int] = (1920, 1080),
        headless: bool = False,
        require_a11y_tree: bool = True,
        require_terminal: bool = False,
        os_type: str = "Ubuntu",
        enable_proxy: bool = False,
        client_password: str = "",  # nosec B107 # the desktop's own
        *,
        backend: str | Desktop = "bwrap",
        assets: Files | str | os.PathLike[str] | None = None,
        strict: Strict = "upstream",
    ) -> None:
        """See the class."""
        if action_space not in ("pyautogui", "computer_13"):
            raise ValueError(
                f"DesktopEnv: action_space {action_space!r:.40} is unknown; choose pyautogui or computer_13"
            )
        seen = ["screenshot"] + ["accessibility_tree"] * require_a11y_tree + ["terminal"] * require_terminal
        self._env = OSWorldEnv(
            _TURNS,
            backend=backend,
            observation=seen,
            action_space="computer_13" if action_space == "computer_13" else "pyautogui",
            screen=screen_size,
            assets=assets,
            password=client_password or "password",
            strict=strict,
        )
        self.action_space = action_space
        self.screen_width, self.screen_height = screen_size
        self.client_password = client_password or "password"
        self.instruction, self.task_id = "", ""
        self.config: list[Any] = []
        self.evaluator: dict[str, Any] = {}
        self.action_history: list[Any] = []
        self.controller = Controller(self)
        self._score: float | None = None
        self._last: str | None = None

    def reset(
        self,
        task_config: Mapping[str, Any] | None = None,
        seed: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Observation:
        """Begin an episode on a decoded task file of OSWorld or RLAnything; without one, on a task drawn at random.

        Raises:
            TaskFormatError, EvaluatorError, TaskFormatError: The task is malformed or needs what is not there.
            InfrastructureError: The desktop or its set-up failed, or a file of the task is missing.
        """
        wanted = dict(options or {})
        if task_config is not None:
            wanted["task"] = import_task(task_config)
        seen, info = self._env.reset(seed=seed, options=wanted)
        given = task_config or {}
        self.task_id = str(given.get("id") or info["task_id"])
        self.instruction = info["instruction"]
        self.config, self.evaluator = list(given.get("config") or ()), dict(given.get("evaluator") or {})
        self.action_history = []
        self._score = self._last = None
        self.controller._reset(seen["screenshot"])
        return self._told(seen)

    def step(self, action: Any, pause: float = 2) -> tuple[Observation, float, bool, dict[str, Any]]:
        """Take one action; ``DONE`` and ``FAIL`` only say that the episode is over, and `evaluate` scores it.

        Args:
            action: PyAutoGUI code, a mapping with it as ``command``, or one of ``WAIT``, ``DONE``, ``FAIL``; with
                ``computer_13`` a mapping with an ``action_type``.
            pause: Ignored: what is seen afterwards waits for the screen to settle.

        Returns:
            What is seen, 0, whether the episode is over, and ``done`` or ``fail`` where the action said so; besides,
            ``message`` with output or fault of the action where there is one.

        Raises:
            EpisodeOver: There is no running episode.
            InfrastructureError: The desktop failed.
        """
        if self._score is not None:
            raise EpisodeOver("DesktopEnv: the episode was scored: call reset() first")
        self.action_history.append(action)
        kind = action.get("action_type") if isinstance(action, Mapping) else action
        if kind in ("DONE", "FAIL"):
            self._last = kind
            try:
                seen = self._get_obs()
            except InfrastructureError:  # raised again, unless the agent has broken its desktop
                seen = self._told(self._scored()[0])
            return seen, 0.0, True, {str(kind).lower(): True}
        if self.action_space == "pyautogui" and isinstance(action, Mapping):
            action = str(action.get("command", ""))
        self._last = None
        seen, reward, terminated, truncated, info = self._taken(action)
        if terminated or truncated:  # the agent broke its desktop
            self._score = float(reward)
        self.controller._record(seen["screenshot"], action)
        return self._told(seen), 0.0, terminated or truncated, {"message": info["message"]} if info["message"] else {}

    def evaluate(self) -> float:
        """Score of the desktop as it is now, in [0, 1]; asking again gives the same.

        Raises:
            EpisodeOver: There was no episode.
            InfrastructureError: Desktop or evaluator failed: there is no score.
        """
        return self._scored()[1] if self._score is None else self._score

    def _scored(self) -> tuple[Any, float]:
        """What is seen after the last word, and the score."""
        word = self._last or "DONE"
        seen, reward, *_ = self._taken(
            {"action_type": word, "parameters": {}} if self.action_space == "computer_13" else word
        )
        self._score = float(reward)
        return seen, self._score

    def render(self, mode: str = "rgb_array") -> bytes:
        """The screen as PNG."""
        if mode != "rgb_array":
            raise ValueError(f"Unsupported render mode: {mode}")
        return self.controller.get_screenshot()

    def close(self) -> None:
        """End the desktop."""
        self._env.close()

    @property
    def client(self) -> Client:
        """The way to the running desktop under this package's own names."""
        return self._env.client

    @property
    def vm_platform(self) -> str:
        """The guest's operating system."""
        return self.client.platform()

    @property
    def vm_screen_size(self) -> dict[str, int]:
        """Width and height of the screen."""
        return self.controller.get_vm_screen_size()

    def _get_obs(self) -> Observation:
        """What is seen now, without an action."""
        return self._told(self._env.look())

    def _taken(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        result = self._env.step(action)
        if result[4]["outcome"] == "error":
            raise InfrastructureError(f"task {self.task_id}: {result[4]['error']}")
        return result

    def _told(self, seen: Mapping[str, Any]) -> Observation:
        return {
            "screenshot": _png(seen["screenshot"]),
            "accessibility_tree": seen.get("accessibility_tree"),
            "terminal": seen.get("terminal"),
            "instruction": self.instruction,
        }


class Controller:
    """The way to the desktop under the names of OSWorld's ``PythonController``.

    What a program does wrong is in what is returned; `InfrastructureError` means that the desktop failed.
    """

    def __init__(self, env: DesktopEnv) -> None:
        self._env = env
        self._frames: list[Pixels] | None = None
        self._captions: list[str] = []
        self._latest: Pixels | None = None

    def get_screenshot(self) -> bytes:
        """The screen as PNG."""
        return self._env.client.screenshot()

    def get_accessibility_tree(self) -> str:
        """The accessibility tree as XML."""
        return self._env.client.accessibility_tree()

    def get_terminal_output(self) -> str | None:
        """The text of the terminal in the active window."""
        return self._env.client.terminal_output()

    def get_file(self, file_path: str) -> bytes | None:
        """The bytes of a file; None where there is none."""
        return self._env.client.read_file(file_path)

    def execute_python_command(self, command: str) -> dict[str, Any]:
        """Run PyAutoGUI code."""
        done = self._env.client.act(command)
        return {"status": "success", "output": done.output, "error": done.error, "returncode": done.returncode}

    def execute_action(self, action: Any) -> None:
        """Run an action of ``computer_13``; ``WAIT``, ``DONE`` and ``FAIL`` do nothing."""
        from rlanything_envs.osworld.computer_13 import action_of

        if action in ("WAIT", "DONE", "FAIL"):
            return
        made = action_of(action, (self._env.screen_width, self._env.screen_height), 0.0)
        if made.code:
            self._env.client.act(made.code)

    def run_python_script(self, script: str) -> dict[str, Any]:
        """Run a Python program."""
        done = self._env.client.run_python(script)
        status = "success" if done.returncode == 0 else "error"
        return {"status": status, "output": done.output, "error": done.error, "return_code": done.returncode}

    def run_bash_script(self, script: str, timeout: int = 30, working_dir: str | None = None) -> dict[str, Any]:
        """Run a Bash script."""
        done = self._env.client.run_bash_script(script, timeout, working_dir)
        status = "success" if done.returncode == 0 else "error"
        return {"status": status, "output": done.output, "error": done.error, "returncode": done.returncode}

    def get_vm_platform(self) -> str:
        """The guest's operating system."""
        return self._env.client.platform()

    def get_vm_screen_size(self) -> dict[str, int]:
        """Width and height of the screen."""
        width, height = self._env.client.screen_size()
        return {"width": width, "height": height}

    def get_vm_window_size(self, app_class_name: str) -> dict[str, int] | None:
        """Width and height of a window; None where there is none."""
        size = self._env.client.window_size(app_class_name)
        return None if size is None else {"width": size[0], "height": size[1]}

    def get_vm_wallpaper(self) -> bytes | None:
        """The picture behind the windows."""
        return self._env.client.wallpaper()

    def get_vm_desktop_path(self) -> str:
        """The user's desktop folder."""
        return self._env.client.desktop_path()

    def get_vm_directory_tree(self, path: str) -> dict[str, Any] | None:
        """A directory and everything below it; None where there is none."""
        return self._env.client.list_directory(path)

    def start_recording(self) -> None:
        """Keep the screen after each action from now on."""
        self._frames, self._captions = ([], []) if self._latest is None else ([self._latest], [self._env.instruction])

    def end_recording(self, dest: str | os.PathLike[str]) -> None:
        """Write what was kept as a film, a frame for each action with marks where it clicked.

        Raises:
            MissingExtra: ffmpeg is missing; the message names the extra to install.
        """
        frames, self._frames = self._frames, None
        if frames:
            save_mp4(frames, Path(dest), captions=self._captions)

    def _reset(self, screen: Pixels) -> None:
        self._frames, self._latest = None, screen

    def _record(self, screen: Pixels, action: Any) -> None:
        self._latest = screen
        if self._frames is not None:
            self._frames.append(
                mark_clicks(screen, clicks_of(action, (self._env.screen_width, self._env.screen_height)))
            )
            self._captions.append(" ".join(str(action).split()))


def _png(pixels: Pixels) -> bytes:
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "PNG", compress_level=1)
    return data.getvalue()
