"""Demonstrations of the full view of coding: generated problems, with programs and tests that are known to be right.

They teach a pretrained model the format: a sentence, then a submission; and the blocks of a unit test.
"""

from __future__ import annotations

from rlanything_agents.config.seeds import rng_of
from rlanything_agents.domains.lessons import School
from rlanything_agents.reward_models.unit_tests import ChatTests
from rlanything_agents.training.imitation import Row, row_of
from rlanything_envs.coding.short import submission
from rlanything_task_pools.coding import read_payload

__all__ = ["FullLessons"]

THOUGHT = "The program reads the input, follows the statement, and prints the result."
TESTS, LONGEST = 4, 400
"""Maximum tests of each problem, and maximum characters of each: of what a model can write itself."""


class FullLessons:
    """Submissions and unit tests, all right but for the shares ``warm_start.mistakes`` and ``label_noise``."""

    def policy(self, school: School) -> list[Row]:
        """One row per problem: the environment's first message, and the submission of a program."""
        settings, rng = school.config.warm_start, rng_of(school.config.seed, "demonstrations", "mistakes")
        renderer, env, rows = school.actor.renderer, school.envs[0], []
        tasks = school.train_tasks("demonstrations", settings.demonstrations)
        with school.reporter.stage("Demonstrations", len(tasks)) as stage:
            for task in tasks:
                stage.add(1)
                payload = read_payload(task.payload)
                program = task.proof[0]
                if payload.wrong and rng.random() < (settings.mistakes or 0.0):
                    program = payload.wrong[int(rng.integers(len(payload.wrong)))]
                observation, _ = env.reset(options={"task": task})
                answer = f"{THOUGHT}\n\n{submission(program)}"  # the environment reads prose before an action
                rows.append(row_of(renderer.opening(observation), renderer.answer("", answer)))
        return rows

    def judge(self, school: School) -> list[Row]:
        """At most `TESTS` rows per problem: its statement, and a test; a share have the output of another input."""
        settings, rng = school.config.warm_start, rng_of(school.config.seed, "judge", "labels")
        style, template, rows = ChatTests(), school.judge_model.template, list[Row]()
        tasks = school.train_tasks("judge", -(-settings.judge_steps // TESTS))
        with school.reporter.stage("Tests to imitate", len(tasks)) as stage:
            for task in tasks:
                stage.add(1)
                payload = read_payload(task.payload)
                prompt = template.prompt(style.test_prompt(payload))
                short = [] if payload.interactive else [t for t in payload.hidden if len(t.stdin + t.stdout) <= LONGEST]
                for number in rng.permutation(len(short))[:TESTS]:
                    stdin, stdout = short[number].stdin, short[number].stdout
                    if rng.random() < settings.label_noise:
                        stdout = short[int(rng.integers(len(short)))].stdout
                    rows.append(row_of(prompt, template.answer(style.written(stdin, stdout))))
        return rows[: settings.judge_steps]
