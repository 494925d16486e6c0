"""Inspect AI: the pinned panels as a task of `inspect eval`, played by a model or by any agent of Inspect.

```bash
inspect eval examples/inspect_panel.py -T panel=alfworld-easy --limit 8 --model openai/gpt-5
```

An episode is a chat: the environment's messages are the user's, and the answers are the model's. With ``agent=`` an
agent of Inspect answers in the model's place, such as ``react()``, or one behind Inspect's ``agent_bridge()``. An
episode whose machinery fails is an error of its sample, and no score.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.errors import MissingExtra
from rlanything_task_pools import Task, get_domain
from rlanything_task_pools.panel import Panel, load_panel, pool_panel

try:
    import anyio
    import inspect_ai
    from inspect_ai.agent import Agent, run
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
    from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver
except ImportError as error:
    raise MissingExtra("rlanything_envs.adapters.inspect_ai needs Inspect AI: pip install inspect-ai") from error

__all__ = ["episode", "outcome", "panel_task", "samples"]

_RESULT = "rlanything"
"""Key of an episode's result in the store of a sample."""


def panel_task(
    panel: str | Panel = "alfworld-easy",
    *,
    pool: str | None = None,
    limit: int | None = None,
    agent: Agent | None = None,
    seed: int = 0,
    environment: Mapping[str, Any] | None = None,
) -> inspect_ai.Task:
    """A panel as a task of Inspect: a sample for each task, scored by the environment's outcome.

    Args:
        panel: Name of a shipped panel, the JSON file of one, or a panel.
        pool: In place of a panel: path of a pool, whose roots and adapted tasks are played.
        limit: Maximum tasks, from the beginning.
        agent: Agent of Inspect that answers; None for the model alone.
        seed: Seed of all episodes.
        environment: Arguments of `gymnasium.make` besides the panel's.

    Raises:
        PoolError: There is no such panel or pool.
    """
    if not isinstance(panel, Panel):
        panel = load_panel(panel, limit) if pool is None else pool_panel(pool, limit)
    return inspect_ai.Task(
        dataset=MemoryDataset(samples(panel), name=panel.name),
        solver=episode(
            get_domain(panel.domain).env_id, {**panel.environment, **(environment or {})}, agent=agent, seed=seed
        ),
        scorer=outcome(),
        name=panel.name.replace(" ", "-"),
        metadata={"panel_hash": panel.hash, "domain": panel.domain},
    )


def samples(panel: Panel) -> list[Sample]:
    """A sample for each task of a panel: its goal as input, the whole task as metadata."""
    return [
        Sample(
            id=f"{entry.group}-{entry.task.id}".strip("-"),
            input=entry.task.goal,
            metadata={"task": entry.task.to_json(), "kind": entry.task.traits.get("kind"), "group": entry.group},
        )
        for entry in panel.entries
    ]


@solver  # type: ignore[untyped-decorator]
def episode(env_id: str, arguments: Mapping[str, Any], agent: Agent | None = None, seed: int = 0) -> Solver:
    """A solver that plays the sample's task to its end.

    Args:
        env_id: Id of the environment, as `gymnasium.make` takes it.
        arguments: Arguments of `gymnasium.make`.
        agent: See `panel_task`.
        seed: Seed of the episode.

    Raises:
        InfrastructureError: The machinery failed; Inspect records an error of the sample.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        # Environments block, and Inspect plays many samples in one thread.
        conversation = await anyio.to_thread.run_sync(lambda: Conversation(env_id, **arguments))
        steps, turn = 0, None
        try:
            task = Task.from_json(state.metadata["task"])
            turn = await anyio.to_thread.run_sync(lambda: conversation.start(task, seed=seed))
            state.messages = [_message(turn)]
            while not turn.done:
                if agent is None:
                    state = await generate(state)
                    answer = state.output.completion
                else:
                    answered = await run(agent, state.messages)
                    state.messages, state.output = answered.messages, answered.output
                    answer = answered.output.completion
                turn, steps = await anyio.to_thread.run_sync(conversation.answer, answer), steps + 1
                state.messages.append(_message(turn))
                state.store.set(_RESULT, _result(turn, steps))
        finally:
            with anyio.CancelScope(shield=True):  # also when a limit of Inspect cancels the sample
                await anyio.to_thread.run_sync(conversation.close)
        state.completed = True
        return state

    return solve


def _message(turn: Turn) -> ChatMessageUser:
    if turn.screen is None:
        return ChatMessageUser(content=turn.text)
    text = [ContentText(text=turn.text)] if turn.text else []
    return ChatMessageUser(content=[ContentImage(image=turn.screen.data_url), *text])


def _result(turn: Turn, steps: int) -> dict[str, Any]:
    return {"solved": turn.won, "ended": turn.done, "score": turn.reward, "steps": steps}


@scorer(metrics=[accuracy(), stderr()])  # type: ignore[untyped-decorator]
def outcome() -> Scorer:
    """Correct where the environment's verifier counts the task as solved; an episode that a limit cut off is not."""

    async def score(state: TaskState, target: Target) -> Score:
        result = state.store.get(_RESULT, {"solved": False, "ended": False, "score": 0.0, "steps": 0})
        return Score(
            value=CORRECT if result["solved"] else INCORRECT,
            answer=state.output.completion,
            explanation=f"score {result['score']:g} after {result['steps']} answers"
            + ("" if result["ended"] else ", not ended"),
            metadata=result,
        )

    return score
