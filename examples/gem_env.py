"""GEM plays three environments at once in one of its vectors, by the commands that are known to solve their tasks.

pip install gem-llm
python examples/gem_env.py
"""

from __future__ import annotations

import gem

from rlanything_envs.adapters import gem as adapter
from rlanything_task_pools import get_domain

GAMES = 3


def main() -> None:
    """Register a game a task, make a vector of them, play each to its end."""
    tasks = [get_domain("alfworld").generate(seed) for seed in range(GAMES)]
    for number, task in enumerate(tasks):
        adapter.register(f"alfworld:{number}", "RLAnything/AlfWorld-v0", tasks=[task])
    vector = gem.make_vec([f"alfworld:{number}" for number in range(GAMES)], seed=0)
    observations, _ = vector.reset(seed=0)
    print(observations[0])

    playing = {number: list(task.proof) for number, task in enumerate(tasks)}
    while playing:
        actions = {number: f"Action: {commands.pop(0)}" for number, commands in playing.items()}
        _, rewards, terminated, truncated, _ = vector.step(actions)
        for number, reward, over in zip(actions, rewards, terminated | truncated, strict=True):
            if over:
                print(f"{tasks[number].goal} reward {reward:.0f} after {len(tasks[number].proof)} commands")
                del playing[number]


if __name__ == "__main__":
    main()
