"""An agent that searches: it knows the rules but not where things are, and now and then does something random.

Its number of steps is a measure of difficulty that owes nothing to the formula that rewrites are ranked by.
"""

import random

from rlanything_task_pools import Task
from rlanything_verifiers.alfworld import Game, Goal, Scene, World, plan

LIMIT = 300


def steps_to_win(task: Task, seed: int, slip: float = 0.15, attention: int = 1000) -> int:
    """Steps of one episode, `LIMIT` if it is not won by then.

    Args:
        task: The task.
        seed: Of its luck.
        slip: Share of its commands that are random.
        attention: Of a place with `n` things it overlooks everything with a chance of ``1 - attention / n``; it looks
            again when nothing is left to look at.
    """
    rng = random.Random(seed)
    scene = Scene.from_dict(task.payload["scene"])
    world = World(Game(scene, Goal.from_dict(task.payload["goal"]), sentence=task.goal))
    tables = world._tables
    order = list(range(len(tables.receptacle_names)))
    rng.shuffle(order)
    wanted = tables.goal_targets | tables.goal_lamps
    likely = [r for r in order if tables.fits[r] & wanted or tables.goal_lamps & world._contents[r]]
    seen = missed = 0
    for step in range(LIMIT):
        if world.won:
            return step
        for r in tables.here[world._at]:
            if (world._opened | ~tables.openable) >> r & 1 and not seen >> r & 1:
                seen |= 1 << r
                if rng.random() > attention / max(world._contents[r].bit_count(), 1):
                    missed |= 1 << r
        if rng.random() < slip:
            world.step(rng.choice(world.admissible_commands))
            continue
        known = world.copy()
        known._contents = [mask if (seen & ~missed) >> r & 1 else 0 for r, mask in enumerate(world._contents)]
        known._rate = None
        steps = plan(known)
        if steps:
            world.step(steps[0])
            continue
        target = next((r for r in likely if not seen >> r & 1), None)
        if target is None:  # all was looked at: look again
            seen, missed = seen & ~missed, 0
            world.step(rng.choice(world.admissible_commands))
        elif tables.location_of[target] == world._at:
            world.step(f"open {tables.receptacle_names[target]}")
        else:
            world.step(f"go to {tables.receptacle_names[target]}")
    return LIMIT


def mean_steps(task: Task, episodes: int, attention: int = 1000) -> float:
    return sum(steps_to_win(task, seed, attention=attention) for seed in range(episodes)) / episodes
