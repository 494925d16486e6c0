"""``rlanything benchmark``: an agent on a panel of tasks."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlanything_agents.tools.cli import options
from rlanything_agents.tools.cli.output import AsJson, console, error_console, plain_text, print_json, resumable
from rlanything_agents.tools.cli.train import spin_little
from rlanything_verifiers.plain_text import printable

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.settings import ChatSettings

__all__ = ["benchmark", "chat_settings", "must_be_complete", "slug"]


def benchmark(
    agent: options.Agent,
    panel: Annotated[
        str | None, typer.Option(help="Name of a panel, or its JSON file.", autocompletion=options.panels)
    ] = None,
    pool: Annotated[
        Path | None,
        typer.Option(help="Play a pool instead: its file, or a run folder. Root and adapted tasks get separate rows."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Play only the first N tasks.")] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes per task.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all randomness.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Results folder. Default: runs/benchmarks/PANEL/AGENT.")] = None,
    workers: options.Parallel = None,
    env: options.EnvironmentArguments = None,
    base_url: options.BaseUrl = None,
    key_env: options.KeyEnv = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    max_history: Annotated[
        int | None, typer.Option(min=0, help="Past exchanges in the prompt, besides the first message. Default: all.")
    ] = None,
    images: Annotated[int, typer.Option(min=1, help="Number of latest screens in the prompt.")] = 3,
    price_in: Annotated[float | None, typer.Option(min=0, help="Dollars per million input tokens.")] = None,
    price_out: Annotated[float | None, typer.Option(min=0, help="Dollars per million output tokens.")] = None,
    max_dollars: Annotated[float | None, typer.Option(min=0, help="Stop before the cost exceeds this.")] = None,
    fail_under: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="RATE", help="Exit with 1 if the success rate is below RATE.")
    ] = None,
    restart: Annotated[bool, typer.Option(help="Delete the results in the folder and start over.")] = False,
    keep_results: Annotated[
        bool, typer.Option(help="Keep what evaluators of desktops read, for `rlanything reverify`.")
    ] = False,
    as_json: AsJson = False,
    row: Annotated[bool, typer.Option("--row", help="Print the row of docs/results.md and nothing else.")] = False,
) -> None:
    """Benchmark an agent on a pinned panel of tasks: success with intervals, steps, tokens, cost, seconds.

    The same command resumes after an interruption, and repeats episodes with an infrastructure failure; while there
    are some, the exit code is 75.
    """
    spin_little()
    from rlanything_agents.runs.progress import Reporter
    from rlanything_agents.tools.benchmark.report import markdown_row
    from rlanything_agents.tools.benchmark.runner import run_benchmark

    chat = chat_settings(
        (price_in, price_out),
        max_tokens=max_tokens,
        temperature=temperature,
        max_history=max_history,
        images=images,
        base_url=base_url,
        key_env=key_env,
        max_dollars=max_dollars,
    )
    chosen = options.open_panel(panel, pool, limit)
    for game in chosen.unreadable:
        typer.echo(f"a game cannot be read and counts as an error: {printable(game.error, 400)}", err=True)
    folder = out or Path("runs/benchmarks") / slug(chosen.name) / slug(agent)
    with resumable(folder):
        summary = run_benchmark(
            chosen,
            agent,
            folder,
            episodes=episodes,
            seed=seed,
            environment=options.key_values(env, "--env"),
            chat=chat,
            workers=workers,
            restart=restart,
            keep_results=keep_results,
            reporter=Reporter(error_console()),
            command=shlex.join(["rlanything", *sys.argv[1:]]),
        )
    if as_json:
        print_json(summary)
    elif row:
        typer.echo(markdown_row(summary))
    else:
        _show(summary, folder)
    must_be_complete(summary, {game.task for game in chosen.unreadable})
    rate = summary["total"]["rate"]
    if fail_under is not None and rate < fail_under:
        from rlanything_agents.feedback.percent import percent

        typer.echo(f"success {percent(rate)} is below {percent(fail_under)}", err=True)
        raise typer.Exit(1)


def must_be_complete(summary: Mapping[str, Any], unreadable: Collection[str] = ()) -> None:
    """Raise an error unless each episode has an outcome, but for those of unreadable tasks.

    Raises:
        RunMustStop: Some have none; the same command resumes.
        BenchmarkError: None has one.
    """
    from rlanything_agents.tools.benchmark.errors import BenchmarkError
    from rlanything_envs.llm.errors import RunMustStop

    rate = summary["total"]["rate"]
    if left := summary["left"] - len(unreadable) * summary["settings"]["episodes"]:
        told = next((error["error"] for error in summary["errors"] if error["task"] not in unreadable), "not played")
        if rate is None and "RequestRejected" in told:
            raise BenchmarkError(f"no episode ended with an outcome: {told}")
        raise RunMustStop(
            f"{left} of {summary['episodes']} episodes have no outcome ({told}): the same command resumes"
        )
    if rate is None:
        raise BenchmarkError(f"no episode ended with an outcome: {summary['errors'][0]['error']}")


def chat_settings(prices: tuple[float | None, float | None] = (None, None), **settings: Any) -> ChatSettings:
    """Settings of chat agents, with the usual service where none is named.

    Raises:
        BenchmarkError: One of the two prices is missing.
    """
    from rlanything_agents.tools.benchmark.errors import BenchmarkError
    from rlanything_agents.tools.benchmark.settings import ChatSettings, usual_service
    from rlanything_envs.llm.budget import Price

    price_in, price_out = prices
    if (price_in is None) != (price_out is None):
        raise BenchmarkError("--price-in and --price-out go together: dollars per million tokens read, and written")
    price = Price(price_in, price_out) if price_in is not None and price_out is not None else None
    if settings["base_url"] is None:
        settings |= usual_service(settings["key_env"])
    return ChatSettings(price=price, **settings)


def slug(name: str) -> str:
    """A name as a valid name of one folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[-80:] or "agent"


def _show(summary: Mapping[str, Any], folder: Path) -> None:
    from rich.table import Table

    from rlanything_agents.tools.benchmark.report import table_of

    panel = summary["panel"]
    table = Table(title=plain_text(f"{summary['agent']} on {panel['name']}, {panel['tasks']} tasks, {panel['hash']}"))
    header, rows = table_of(summary)
    for column in header:
        table.add_column(column, no_wrap=column in ("", "success"))
    for row in rows:
        table.add_row(*map(plain_text, row))
    screen = console()
    screen.print(table)
    for error in summary["errors"][:5]:
        screen.print(f"without outcome: {printable(error['task'], 200)}: {printable(error['error'], 200)}")
    if broken := panel["unreadable"] * summary["settings"]["episodes"]:
        screen.print(
            f"{broken} of {summary['episodes']} episodes have no outcome: mend the files that cannot be read, and "
            "begin again with --restart"
        )
    screen.print(f"Report: {folder / 'report.html'}")
