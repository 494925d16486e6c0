"""True step labels of episodes whose steps are known to be sensible: an expert without mistakes, and for contrast one
that plays by chance.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import gymnasium as gym

from rlanything_agents.domains.alfworld.expert import ExploringExpert
from rlanything_agents.domains.lessons import Expert
from rlanything_agents.domains.osworld.expert import DesktopExpert
from rlanything_agents.domains.supervision import get_step_supervision
from rlanything_agents.reward_models.step_reviewer import stored_trajectory
from rlanything_agents.rollout.trajectory import Step, Trajectory, outcome_of
from rlanything_envs.views import make_env
from rlanything_task_pools import Task, get_domain
from studies.plan import StudyError

__all__ = ["EXPERTS", "Labels", "label_table", "labelled_steps", "played"]

EXPERTS: Mapping[str, Callable[[int, float], Expert]] = {"alfworld": ExploringExpert, "osworld": DesktopExpert}
"""Domain -> its expert, from a seed and a share of mistakes."""
KNOBS: Mapping[str, Mapping[str, Any]] = {
    "osworld": {"kinds": ["rename_files", "write_files", "count_lines", "edit_config"]}
}
"""Domain -> knobs of its tasks: for desktops those that the simulator can play."""
TASKS = 30_000_000
"""First generator seed of the tasks: of no panel and of no run's pool."""

Labels = dict[str, Counter[tuple[int, int]]]
"""First word of the action -> number of steps with each pair of true and heuristic label."""


def played(expert: Expert, env: gym.Env[Any, Any], task: Task, max_steps: int) -> Trajectory:
    """Episode of an expert in the short view, without tokens."""
    opening, info = env.reset(options={"task": task})
    observation, first, steps = opening, info, list[Step]()
    for _ in range(max_steps):
        move = expert.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(move.action)
        steps.append(Step(move.thought, move.action, observation, message=str(info.get("message", ""))))
        if terminated or truncated:
            break
    outcome, error = outcome_of(info)
    return stored_trajectory(
        {
            "task_id": task.id,
            "tag": "",
            "opening": opening,
            "message": str(first.get("message", "")),
            "steps": [asdict(step) for step in steps],
            "outcome": outcome or -1,
            "error": error,
            "score": float(reward),
        }
    )


def labelled_steps(domain: str, tasks: int, mistakes: float, max_steps: int = 40) -> tuple[Labels, int]:
    """True and heuristic labels of an expert's steps on generated tasks, and the number of tasks that it solved.

    Raises:
        StudyError: The domain has no expert whose mistakes can be turned off.
    """
    if domain not in EXPERTS:
        raise StudyError(f"no true step labels to check in the domain {domain!r}: choose {' or '.join(EXPERTS)}")
    source, supervision = get_domain(domain), get_step_supervision(domain)
    env, found, solved = make_env(source.env_id, "short"), defaultdict[str, Counter[tuple[int, int]]](Counter), 0
    for number in range(tasks):
        task = source.generate(TASKS + number, **KNOBS.get(domain, {}))
        episode = played(EXPERTS[domain](number, mistakes), env, task, max_steps)
        solved += episode.outcome == 1
        truth = supervision.true_labels(task.payload, episode) or []
        guesses = supervision.heuristic_labels(episode)
        for step, true, guess in zip(episode.steps, truth, guesses, strict=True):
            found[step.action.split()[0]][true, guess.score] += 1
    env.close()
    return dict(found), solved


def label_table(labels: Labels) -> str:
    """Markdown table: shares of the true labels by kind of action in percent, and where the heuristic label agrees."""
    lines = ["| action | steps | 1 | 0 | -1 | heuristic label agrees |", "|---|---:|---:|---:|---:|---:|"]
    total = Counter[tuple[int, int]]()
    for counts in labels.values():
        total += counts
    for name, counts in [*sorted(labels.items(), key=lambda item: -item[1].total()), ("all", total)]:
        steps = counts.total()
        shares = [100 * sum(n for (true, _), n in counts.items() if true == label) / steps for label in (1, 0, -1)]
        called = {pair: n for pair, n in counts.items() if pair[0]}
        agreed = sum(n for (true, guess), n in called.items() if true == guess)
        agrees = f"{100 * agreed / sum(called.values()):.1f}" if called else ""
        lines.append(f"| {name} | {steps} | {shares[0]:.1f} | {shares[1]:.1f} | {shares[2]:.1f} | {agrees} |")
    return "\n".join(lines)
