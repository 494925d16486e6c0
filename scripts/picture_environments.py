"""Pictures of the three environments for the documentation: ``python scripts/picture_environments.py``.

Needs an installed desktop (``rlanything desktop install``).
"""

import textwrap
from collections.abc import Iterable
from html import escape
from pathlib import Path

import gymnasium as gym
from PIL import Image

import rlanything_envs  # noqa: F401 (registers the environments)
from rlanything_task_pools import get_domain

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
COLUMNS, LINES, LEADING, MARGIN = 100, 34, 18, 20
"""Characters of a line, lines of a text picture, and their distance and margin in pixels."""
SCREEN = (1280, 720)
INK, ACTION = "#212529", "#1f62ab"


def main() -> None:
    """An episode of each domain, played by the proof of its task; of the desktop the screen after a command."""
    for name, seed, knobs in (("alfworld", 3, {"kinds": ["simple"]}), ("coding", 0, {"families": ["list_steps"]})):
        task = get_domain(name).generate(seed, **knobs)
        env = gym.make(get_domain(name).env_id)
        observation, _ = env.reset(options={"task": task})
        told = [(INK, observation)]
        for step in task.proof:
            action = step if name == "alfworld" else f"SUBMIT\n```python\n{step.strip()}\n```"
            told += [(ACTION, f"> {action}"), (INK, env.step(action)[0])]
        (FIGURES / f"env-{name}.svg").write_text(_svg(told))
    env = gym.make("RLAnything/OSWorld-v0", render_mode="rgb_array", screen=SCREEN, looks=7)
    env.reset(options={"task": get_domain("osworld").generate(1, kinds=["sheet_sort"])})
    env.step("pyautogui.press('down')")
    Image.fromarray(env.render()).quantize(128).save(FIGURES / "env-osworld.png", optimize=True)
    env.close()


def _svg(told: Iterable[tuple[str, str]]) -> str:
    """Coloured texts below each other; what does not fit is cut from the longest text."""
    rows = [[(colour, row) for line in text.split("\n") for row in _wrapped(line)] for colour, text in told]
    longest = max(rows, key=len)
    if (excess := sum(map(len, rows)) - LINES) > 0:
        longest[-excess - 1 :] = [(INK, "...")]
    lines = [line for text in rows for line in text]
    height = len(lines) * LEADING + 2 * MARGIN
    drawn = "\n".join(
        f'<text x="{MARGIN}" y="{MARGIN + LEADING * (place + 0.7):.1f}" fill="{colour}">{escape(row)}</text>'
        for place, (colour, row) in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {height}" font-family="monospace" font-size="14" '
        f'xml:space="preserve">\n<rect width="900" height="{height}" fill="#faf9f5"/>\n{drawn}\n</svg>\n'
    )


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, COLUMNS, drop_whitespace=False) or [""]


if __name__ == "__main__":
    main()
