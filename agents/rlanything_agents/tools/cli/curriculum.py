"""``rlanything curriculum``: studies of the acceptance rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlanything_agents.tools.cli.errors import plain_errors
from rlanything_agents.tools.cli.output import AsJson, print_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from rlanything_envs.curriculum.power import Cell, Figures

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Study the rules by which tasks adapt.")


@app.callback()
def curriculum() -> None:
    """Study the rules by which tasks adapt."""


@app.command()
def power(
    trials: Annotated[int, typer.Option(min=1, help="Simulated trials of each pair of rates.")] = 2000,
    rollouts: Annotated[int, typer.Option(min=1, help="Episodes in a group.")] = 8,
    low: Annotated[float, typer.Option(help="Lower edge of the band of success rates.")] = 0.2,
    high: Annotated[float, typer.Option(help="Upper edge of the band.")] = 0.8,
    confidence: Annotated[float, typer.Option(help="Rule `recommended`: probability that accepts.")] = 0.91,
    futility: Annotated[float, typer.Option(help="Rule `recommended`: probability that rejects.")] = 0.3,
    budget: Annotated[int, typer.Option(help="Rule `recommended`: most episodes of a trial.")] = 32,
    seed: Annotated[int, typer.Option(min=0, help="Seeds the simulation.")] = 0,
    as_json: AsJson = False,
) -> None:
    """How often each acceptance rule takes a candidate, by the true success rates of parent and candidate.

    Every trial begins with a group of the parent that calls for a rewrite, and is decided by the rule itself.
    """
    from rlanything_envs.curriculum import RecommendedAcceptance, get_acceptance
    from rlanything_envs.curriculum.power import Figures, grid

    with plain_errors():
        rules = [
            get_acceptance("paper"),
            get_acceptance("reference"),
            RecommendedAcceptance(confidence, futility, budget),
        ]
        cells = {
            rule.name: grid([rule], trials=trials, rollouts=rollouts, band=(low, high), seed=seed) for rule in rules
        }
        figures = [Figures.of(cells[rule.name]) for rule in rules]
    if as_json:
        _print_json(
            {
                "trials": trials,
                "rollouts": rollouts,
                "band": [low, high],
                "recommended": {"confidence": confidence, "futility": futility, "budget": budget},
                "seed": seed,
            },
            cells,
            figures,
        )
        return
    from rich.console import Console

    console = Console()
    for name, rows in cells.items():
        _print_grid(console, name, rows)
    _print_figures(console, figures)


def _print_json(settings: dict[str, Any], cells: dict[str, list[Cell]], figures: Sequence[Figures]) -> None:
    import dataclasses

    document = {
        **settings,
        "figures": [dataclasses.asdict(row) for row in figures],
        "grid": [dataclasses.asdict(cell) for rows in cells.values() for cell in rows],
    }
    print_json(document)


def _print_grid(console: Console, name: str, cells: Sequence[Cell]) -> None:
    from rich.table import Table

    table = Table(title=f"{name}: % accepted / episodes of a trial", caption="columns: candidate; *: a true accept")
    table.add_column("parent", justify="right")
    candidates = sorted({cell.candidate for cell in cells})
    for candidate in candidates:
        table.add_column(f"{candidate:g}", justify="right", no_wrap=True)
    by_rates = {(cell.parent, cell.candidate): cell for cell in cells}
    for parent in sorted({cell.parent for cell in cells}):
        row = [by_rates[parent, candidate] for candidate in candidates]
        table.add_row(f"{parent:g}", *map(_entry, row))
    console.print(table)


def _entry(cell: Cell) -> Text:
    from rich.text import Text

    wrong = 2 * cell.wrong >= cell.accepted  # whether a candidate is right may depend on the direction of the rewrite
    text = f"{100 * cell.accepted:.0f}{'' if wrong else '*'}/{cell.rollouts:.0f}"
    return Text(text, style="red" if wrong else "green")


def _print_figures(console: Console, figures: Sequence[Figures]) -> None:
    from rich.table import Table

    table = Table(title="In short: % accepted")
    for title in ("rule", "unchanged", ".9 to .5", ".1 to .5", ".9 to .05", "episodes"):
        table.add_column(title, justify="left" if title == "rule" else "right")
    for row in figures:
        shares = (row.unchanged, row.down_to_middle, row.up_to_middle, row.out_of_band)
        table.add_row(row.rule, *(f"{100 * share:.1f}" for share in shares), f"{row.rollouts:.1f}")
    console.print(table)
