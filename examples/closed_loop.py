"""The closed loop of RLAnything in one file, on a laptop: policy, reward model and tasks learn from each other.

    python examples/closed_loop.py                                  # models of 0.8 M parameters, made on the spot
    python examples/closed_loop.py --iterations 40 --demonstrations 1000
    python examples/closed_loop.py --checkpoint PATH                # any causal language model with a chat template

An iteration is `one_iteration`, and nothing in it is simplified: assign, rollout, judge, feedback, update, report.
`rlanything train` does the same with checkpoints, evaluations, workers, monitors and a report around it
(`rlanything_agents/runs/loop.py`).
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rlanything_agents.config import CheckpointConfig, SmallConfig
from rlanything_agents.config.feedback import FeedbackConfig
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.domains.lessons import demonstrate, judge_rows
from rlanything_agents.domains.supervision import get_supervision
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.feedback import batch_feedback, judged_steps
from rlanything_agents.models.pretrained import load_model, load_template
from rlanything_agents.models.small import as_checkpoint
from rlanything_agents.reward_models.judge_model import JudgeModel
from rlanything_agents.reward_models.judged_group import JudgedGroup
from rlanything_agents.reward_models.step_judge import StepJudge
from rlanything_agents.reward_models.step_prompts import ShortStepPrompts
from rlanything_agents.rollout.renderer import Renderer
from rlanything_agents.rollout.rollout import Policy, rollout
from rlanything_agents.training.imitation import Row, fit
from rlanything_agents.training.samples import policy_samples
from rlanything_agents.training.trainer import make_trainer
from rlanything_envs.curriculum import Curriculum, ScriptedRewriter, task_critique
from rlanything_envs.views import get_view, make_env
from rlanything_task_pools import TaskPool, get_domain

DOMAIN = get_domain("alfworld")
VIEW = get_view(DOMAIN.env_id, "short")  # brief texts; "full" is the environment's own, for large models
KNOWN = get_supervision("alfworld")  # demonstrations, and labels that a judge is warmed up with
TASKS, ROLLOUTS, STEPS, VOTES = 8, 8, 30, 3  # groups an iteration, episodes a group, turns an episode, votes a turn
POOL = 32  # tasks that adapt


class Model:
    """A language model that writes and learns."""

    def __init__(self, checkpoint: CheckpointConfig, trainer: TrainerConfig) -> None:
        self.checkpoint, self.template = checkpoint, load_template(checkpoint)
        self.weights = load_model(checkpoint, self.template.tokenizer, seed=0)
        self.engine = TransformersGenerator(self.weights, self.template.tokenizer)
        self.generator = ChatGenerator(self.engine, self.template)
        self.trainer, self.version = make_trainer(self.weights, self.template.tokenizer, trainer), 0

    def learn(self, samples: list) -> None:
        """One update of GRPO on samples with advantages."""
        self.trainer.update(samples)
        self._written()

    def imitate(self, rows: list[Row]) -> None:
        """Supervised learning, before anything else."""
        losses = fit(self.weights, rows, epochs=3, batch_size=16, learning_rate=2e-3, seed=0)
        print(f"  {len(rows)} rows to imitate, loss {losses[0]:.2f} -> {losses[-1]:.2f} nats a token")
        self._written()

    def _written(self) -> None:
        """From here on the engine writes with the new weights."""
        self.version += 1
        self.engine.update_weights(self.weights, self.version)


@dataclass
class Loop:
    """What an iteration works with."""

    policy: Model
    judge: Model
    envs: list
    curriculum: Curriculum
    feedback: FeedbackConfig

    def __post_init__(self) -> None:
        policy, judge = self.policy, self.judge
        self.actor = Policy(policy.generator, Renderer(policy.template, VIEW, policy.checkpoint))
        self.prompts = ShortStepPrompts(judge.template, KNOWN.judge_texts, KNOWN.form)
        self.step_judge = StepJudge(judge.generator, self.prompts, judge.checkpoint.max_tokens)

    def warm_up(self, tasks: list, rng: np.random.Generator) -> None:
        """The policy imitates an expert that searches, the judge heuristic labels of the policy's own steps."""
        print("policy")
        self.policy.imitate(demonstrate(KNOWN.expert, self.actor.renderer, self.envs[0], tasks, max_steps=40, seed=1))
        print("judge")
        played = rollout(self.actor, self.envs, tasks[: len(self.envs)], max_steps=STEPS, seed=int(rng.integers(2**31)))
        model = JudgeModel(self.judge.generator, self.judge.template, self.judge.checkpoint)
        self.judge.imitate(
            judge_rows(KNOWN.heuristic_labels, self.prompts, model, played, steps=800, label_noise=0.2, seed=1)
        )

    def one_iteration(self, number: int, rng: np.random.Generator) -> str:
        """Assign, rollout, judge, feedback, update, report."""
        # Tasks on which something can be learnt, and candidates that would replace a task that is too easy or too hard.
        assignments = self.curriculum.assign(TASKS, rng)

        # Episodes: a group of them for each task. Each keeps the token ids and log-probabilities it was sampled with.
        tasks = [assignment.task for assignment in assignments for _ in range(ROLLOUTS)]
        episodes = rollout(self.actor, self.envs, tasks, max_steps=STEPS, seed=int(rng.integers(2**31)))

        # The generative reward model reads each step and writes a reason and a score, several times.
        votes = self.step_judge.judge(episodes, votes=VOTES, seed=int(rng.integers(2**31)))
        groups = [
            JudgedGroup(assignment, episodes[at : at + ROLLOUTS], votes[at : at + ROLLOUTS])
            for assignment, at in zip(assignments, range(0, len(tasks), ROLLOUTS), strict=True)
        ]

        # Integrated rewards R = O + lambda * mean vote, standardised over the group for the policy; R * vote,
        # standardised over the votes on a step, for the reward model (paper, equations 1 to 4).
        feedback = batch_feedback(
            [(group.outcomes, group.scores()) for group in groups],
            self.feedback,
            kinds=[group.step_kinds() for group in groups],
        )

        # Both learn from what they wrote themselves.
        self.policy.learn(policy_samples(groups, [found.policy for found in feedback]))
        chosen = judged_steps(feedback, rng, balance=self.feedback.balance, limit=256)
        self.judge.learn(
            [
                sample
                for at in chosen
                for sample in groups[at.group]
                .votes[at.trajectory][at.step]
                .samples(feedback[at.group].judge[at.trajectory][at.step].tolist())
            ]
        )

        # The tasks adapt: outside of a band of success a task is rewritten, told by the judge's critique what is hard.
        events = [
            event
            for group in groups
            for event in self.curriculum.report(
                group.assignment,
                group.pool_outcomes(f"policy@{number}"),
                critique=lambda group=group: task_critique(group.judged_episodes()),
            )
        ]
        outcomes = [outcome for group in groups for outcome in group.outcomes]
        changes = ", ".join(sorted({event.kind for event in events})) or "none"
        return (
            f"solved {outcomes.count(1):3d} of {len(outcomes)}; {len(chosen)} steps teach the judge; tasks: {changes}"
        )


def main(arguments: list[str] | None = None) -> None:
    """Make the models and the tasks, and run the loop."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--demonstrations", type=int, default=200)
    parser.add_argument("--checkpoint", help="of policy and reward model; small ones are made if it is left out")
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        sizes = [SmallConfig(), SmallConfig(layers=2)]
        if options.checkpoint:
            sizes = [CheckpointConfig(checkpoint=options.checkpoint, dtype="float32", max_tokens=64)] * 2
        policy, judge = (
            Model(as_checkpoint(size, place / str(n), VIEW.words, seed=n), TrainerConfig(learning_rate=rate))
            for n, (size, rate) in enumerate(zip(sizes, (3e-4, 2e-4), strict=True))
        )
        envs = [make_env(DOMAIN.env_id, "short", disable_env_checker=True) for _ in range(TASKS * ROLLOUTS)]
        tasks = [DOMAIN.generate(seed, split="train") for seed in range(POOL + options.demonstrations)]
        with TaskPool.create(place / "pool.sqlite", tasks[:POOL]) as pool:
            curriculum = Curriculum(pool, ScriptedRewriter(), "paper", rollouts=ROLLOUTS)
            loop = Loop(policy, judge, envs, curriculum, FeedbackConfig())
            loop.warm_up(tasks[POOL:], rng)
            for number in range(1, options.iterations + 1):
                print(f"iteration {number}: {loop.one_iteration(number, rng)}", flush=True)
            print(f"tasks: {dict(pool.counts())}")


if __name__ == "__main__":
    main()
