"""The closed loop of RLAnything from its parts, on a laptop: policy, reward model and tasks learn from each other.

    python examples/closed_loop.py                                  # models of 0.8 M parameters, made on the spot
    python examples/closed_loop.py --iterations 40 --demonstrations 1000
    python examples/closed_loop.py --checkpoint PATH                # any causal language model with a chat template

The algorithm is `Loop.iterate` (`rlanything_agents/runs/loop.py`): assign, rollout, judge, feedback, update, adapt.
`rlanything train` calls the same loop, with checkpoints, evaluations, workers, monitors and a report around it.
"""

import argparse
import tempfile
from pathlib import Path

from rlanything_agents.config import RunConfig
from rlanything_agents.rollout.workers import LocalWorkers
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.hooks import Hook, Iteration
from rlanything_agents.runs.loop import Loop
from rlanything_agents.runs.parts import RunParts
from rlanything_agents.runs.player import Player
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.warm_start import warm_start
from rlanything_envs.curriculum import Curriculum, ScriptedRewriter
from rlanything_task_pools import TaskPool


class Printed(Hook):
    """Prints a line for each iteration. A hook may also change votes (`judged`) and rewards (`reviewed`)."""

    def iterated(self, iteration: Iteration) -> None:
        """Called at the end of an iteration."""
        row, episodes = iteration.row, iteration.episodes
        solved = sum(episode["outcome"] == 1 for episode in episodes)
        print(
            f"iteration {row['iteration']}: solved {solved} of {len(episodes)}; "
            f"{row['judge'].get('rows', 0)} votes teach the judge; tasks: {row['tasks']}",
            flush=True,
        )


def main(arguments: list[str] | None = None, **sizes: object) -> None:
    """Make the models and the tasks, and run the loop; ``sizes`` are further keys of the rollouts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--demonstrations", type=int, default=200)
    parser.add_argument("--feedback", default="paper", help="paper, outcome, pooled (no reward model) or critic")
    parser.add_argument("--checkpoint", help="of policy and reward model; small ones are made if it is left out")
    options = parser.parse_args(arguments)
    settings = {
        "name": "closed-loop",
        "domain": "alfworld",
        "iterations": options.iterations,
        "environment": {"view": "short"},  # brief texts; "full" is the environment's own, for large models
        "rollout": {"tasks": 8, "rollouts": 8, "max_steps": 30, **sizes},
        "judge": {"votes": 3},
        "feedback": options.feedback,  # paper: equations 1 to 4; critic: votes as values of states
        "warm_start": {"demonstrations": options.demonstrations, "epochs": 3, "judge_steps": 800},
        "curriculum": {"pool_size": 32},
    }
    if options.checkpoint:
        settings["policy"] = {"checkpoint": options.checkpoint, "dtype": "float32", "max_tokens": 64, "lessons": True}
        settings["reward_model"] = settings["policy"]
    config = RunConfig.model_validate(settings)
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder(Path(name))
        parts = RunParts.assemble(config, folder, Reporter.silent())
        warm_start(parts)  # the policy imitates an expert that searches, the judge noisy labels of steps
        with TaskPool.create(folder.pool, parts.train_tasks("pool", config.curriculum.pool_size)) as pool:
            # Outside of a band of success a task is rewritten; the rewriter reads what the judge found hard.
            curriculum = Curriculum(pool, ScriptedRewriter(), "paper", rollouts=config.rollout.rollouts)
            workers = LocalWorkers(config, parts.learners, parts.envs)
            player = Player(config.rollout, workers, parts.reviewer, curriculum)
            loop = Loop(parts.learners, parts.reviewer, curriculum, player, used=config.used, hooks=[Printed()])
            rows: list[dict] = []
            while config.used(rows) < 1:
                rows.append(loop.iterate(rows).row)
        parts.close()


if __name__ == "__main__":
    main()
