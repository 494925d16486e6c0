"""Scaling with workers: the same work by 1, 2 and 4 of them, alternating in one run.

``python -m benchmarks.scaling`` prints work a second of

* AlfWorld: steps of the environment, random commands, a process a worker;
* code: tests judged in the sandbox, a warm worker each;
* desktops: steps of the environment with its screen settled, on simulated desktops and, where bubblewrap and the Debian
  packages are there, on real ones, a desktop and a thread a worker;
* reward model: votes of a small one, a process a worker.

Every round measures each number of workers once, in an order that changes, so that all of them meet the same machine;
ratios are medians of each round's ratio to one worker of the same round. Times are by the clock: on a busy machine all
figures fall, and with as many workers as cores or more the ratios, too. The load is printed before and after.
"""

import argparse
import os
import platform
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from multiprocessing import get_context
from statistics import median
from time import perf_counter
from typing import Any

import gymnasium as gym

import rlanything_envs  # noqa: F401 (registers the environments)
from benchmarks.coding import PROGRAM, make_tests
from benchmarks.coding import ours as judged_by
from rlanything_task_pools import get_domain
from rlanything_verifiers.coding.sandbox import Sandbox

WORKERS = (1, 2, 4)
Work = Callable[[int], int]
"""Does the work of a turn with so many workers and says how much that was."""


# -- what processes of their own do: they are spawned, and keep what they need between turns -------------------------


@cache
def _game() -> tuple[gym.Env[Any, Any], random.Random]:
    return gym.make("RLAnything/AlfWorld-v0", disable_env_checker=True), random.Random(0)


def play_games(steps: int) -> int:
    """Random play; steps taken."""
    env, rng = _game()
    _, info = env.reset(options={"task": get_domain("alfworld").generate(rng.randrange(20))})
    for _ in range(steps):
        _, _, terminated, truncated, info = env.step(rng.choice(info["admissible_commands"]))
        if terminated or truncated:
            _, info = env.reset()
    return steps


@cache
def _reward_model() -> tuple[Any, list[Any]]:
    """A small one from random weights, and an episode for it to judge."""
    import torch

    from rlanything_agents.config import RunConfig
    from rlanything_agents.domains.supervision import get_step_supervision
    from rlanything_agents.rollout.environments import make_envs
    from rlanything_agents.rollout.rollout import rollout
    from rlanything_agents.runs.learners import Learners

    torch.set_num_threads(1)
    config = RunConfig(name="scaling")
    learners = Learners(config)
    task = get_domain("alfworld").generate(1)
    played = rollout(learners.actor, make_envs(config, 1), [task], max_steps=20, seed=0)
    return get_step_supervision(config.domain).reviewer(config, learners.judge_model).judge, played


def vote(episodes: int) -> int:
    """Three votes on each step of so many episodes at once; votes given."""
    judge, played = _reward_model()
    judged = judge.judge(played * episodes, votes=3, seed=0)
    return len([vote for steps in judged for step in steps for vote in step.votes])


# -- kinds of work ---------------------------------------------------------------------------------------------


@contextmanager
def in_processes(task: Callable[[int], int], amount: int) -> Iterator[Work]:
    """The task, once in each worker's process."""
    with ExitStack() as stack:
        pools = {n: stack.enter_context(ProcessPoolExecutor(n, mp_context=get_context("spawn"))) for n in WORKERS}
        yield lambda workers: sum(pools[workers].map(task, [amount] * workers))


@contextmanager
def in_the_sandbox(programs: int) -> Iterator[Work]:
    """Programs with ten tests each, judged on one pool of workers."""
    tests = make_tests(10)
    with ExitStack() as stack:
        pools = {n: stack.enter_context(Sandbox(n)) for n in WORKERS}
        turn = iter(range(1 << 30))

        def work(workers: int) -> int:
            batch = [PROGRAM.format(next(turn)) for _ in range(programs)]
            return len(tests) * judged_by(pools[workers])(batch, tests)

        yield work


@contextmanager
def on_desktops(backend: str, steps: int) -> Iterator[Work]:
    """Key presses in as many environments as there are workers, each with a desktop of its own."""
    task = get_domain("osworld").generate(0, kinds=["write_files"])
    with ExitStack() as stack:
        make = partial(gym.make, "RLAnything/OSWorld-v0", backend=backend, observation="text", max_turns=1 << 20)
        envs = [stack.enter_context(_closing(make())) for _ in range(max(WORKERS))]
        for env in envs:
            env.reset(options={"task": task})
        threads = stack.enter_context(ThreadPoolExecutor(max(WORKERS)))

        def press(env: gym.Env[Any, Any]) -> int:
            for _ in range(steps):
                env.step("pyautogui.press('down')")
            return steps

        yield lambda workers: sum(threads.map(press, envs[:workers]))


@contextmanager
def _closing(env: gym.Env[Any, Any]) -> Iterator[gym.Env[Any, Any]]:
    try:
        yield env
    finally:
        env.close()


def measure(work: Work, rounds: int) -> dict[int, list[float]]:
    """Work a second for each number of workers, in each round."""
    rates: dict[int, list[float]] = {workers: [] for workers in WORKERS}
    for turn in range(rounds + 1):
        shift = turn % len(WORKERS)
        for workers in WORKERS[shift:] + WORKERS[:shift]:
            begin = perf_counter()
            done = work(workers)
            if turn:  # the first turn starts processes
                rates[workers].append(done / (perf_counter() - begin))
    return rates


def report(name: str, rates: dict[int, list[float]]) -> None:
    row = "".join(f"{median(values):>12,.0f}" for values in rates.values())
    ratios = {n: [a / b for a, b in zip(rates[n], rates[1], strict=True)] for n in WORKERS[1:]}
    said = "".join(f"   {median(r):.2f}x [{min(r):.2f}, {max(r):.2f}]" for r in ratios.values())
    print(f"{name:36}{row}{said}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=float, default=1.0, help="work of a turn, relative to some seconds of it")
    parser.add_argument("--skip", nargs="*", default=[], help="kinds to leave out: alfworld code simulator bwrap votes")
    args = parser.parse_args()

    def amount(usual: int) -> int:
        return max(1, round(usual * args.size))

    from rlanything_envs.osworld.desktop.packages import NEEDED, missing

    kinds = {
        "alfworld": ("AlfWorld steps/s", lambda: in_processes(play_games, amount(100_000))),
        "code": ("code tests/s", lambda: in_the_sandbox(amount(60))),
        "simulator": ("desktop steps/s, simulator", lambda: on_desktops("simulator", amount(200))),
        "bwrap": ("desktop steps/s, bwrap", lambda: on_desktops("bwrap", amount(12))),
        "votes": ("votes/s of a small reward model", lambda: in_processes(vote, amount(16))),
    }
    print(
        f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f} before; {args.rounds} rounds\n"
    )
    print(
        f"{'':36}" + "".join(f"{f'{n} workers':>12}" for n in WORKERS) + "   ratios to one worker, lowest and highest"
    )
    for kind, (name, make) in kinds.items():
        if kind in args.skip:
            continue
        if kind == "bwrap" and (absent := missing(NEEDED)):
            print(f"{name:36}not measured: {len(absent)} Debian packages are missing (rlanything desktop install)")
            continue
        with make() as work:
            report(name, measure(work, args.rounds))
    print(f"\nload {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
