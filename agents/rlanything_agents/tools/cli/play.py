"""``rlanything play``: a task on the terminal, played by a person or by the lines of a script."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlanything_agents.tools.cli import options
from rlanything_agents.tools.cli.output import console

if TYPE_CHECKING:
    from rlanything_agents.tools.play.game import Tasks
    from rlanything_task_pools import Domain

__all__ = ["play"]


def play(
    domain: Annotated[
        str,
        typer.Argument(help="Domain: alfworld, coding, osworld, or any installed one.", autocompletion=options.domains),
    ] = "alfworld",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first task; it rises by 1 with each task.")] = 0,
    split: Annotated[
        str | None, typer.Option(help="Split of the task generator.", autocompletion=options.splits)
    ] = None,
    knob: Annotated[
        list[str] | None, typer.Option("--knob", metavar="KEY=VALUE", help="Setting of the task generator. Repeatable.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="FILE|ID", help="Task to play: a file, or with --pool a task id.")
    ] = None,
    pool: Annotated[Path | None, typer.Option(help="Play the tasks of a pool: its file, or a run folder.")] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="KEY=VALUE", help="Environment argument, such as max_turns=30. Repeatable."),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Append every episode to this file as JSON Lines.")] = None,
) -> None:
    """Play tasks yourself, as an agent would see them; Tab completes, :hint helps.

    Without a terminal it reads answers from standard input, line by line.
    """
    from rlanything_agents.config.load import ConfigError
    from rlanything_agents.tools.play.game import Game
    from rlanything_agents.tools.play.input import standard_answers
    from rlanything_agents.tools.play.session import Session
    from rlanything_envs import Conversation
    from rlanything_task_pools import get_domain

    chosen = get_domain(domain)
    knobs, arguments = options.key_values(knob, "--knob"), options.key_values(env, "--env")
    if (task or pool) and (split or knobs):
        raise ConfigError("--split and --knob are of generated tasks: leave them out with --task or --pool")
    tasks = _tasks(chosen, seed, task, pool)
    arguments = {**_of_the_generator(chosen, split, knobs), **arguments}
    game = Game(_made(chosen, arguments, Conversation), tasks, save)
    try:
        session = Session(game, console())
        session.play(standard_answers(session.complete))
    finally:
        game.close()


def _tasks(domain: Domain, seed: int, task: str | None, pool: Path | None) -> Tasks:
    from rlanything_agents.tools.play.game import pool_tasks, task_of

    if task is not None:
        return iter([task_of(task, domain, pool)])
    return count(seed) if pool is None else pool_tasks(pool, seed)


def _made(domain: Domain, arguments: Mapping[str, Any], conversation: Any) -> Any:
    """Make the environment; arguments that it rejects raise a `ConfigError`."""
    from rlanything_agents.config.load import ConfigError

    try:
        return conversation(domain.env_id, **arguments)
    except (TypeError, ValueError) as error:
        if type(error).__module__.startswith("rlanything_"):
            raise
        raise ConfigError(f"{domain.env_id} cannot be made with {dict(arguments)}: {error}") from None


def _of_the_generator(domain: Domain, split: str | None, knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Split and knobs as arguments of the environment.

    An environment whose own ``split`` has another meaning takes the generator's as ``generated_split``.
    """
    import gymnasium as gym

    import rlanything_envs  # noqa: F401  (registers the environments)

    found: dict[str, Any] = {"knobs": dict(knobs)} if knobs else {}
    if split is not None:
        entry = gym.spec(domain.env_id).entry_point
        made = gym.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
        names = inspect.signature(made).parameters if made is not None else {}
        found["generated_split" if "generated_split" in names else "split"] = split
    return found
