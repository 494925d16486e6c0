"""``rlanything plan``: how long an iteration will take on a cluster, what the cards wait for, and what would help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlanything_agents.cli.errors import plain_errors
from rlanything_agents.cli.options import Changes
from rlanything_agents.cli.output import AsJson, print_json

if TYPE_CHECKING:
    from rlanything_agents.config.cluster import ClusterConfig

__all__ = ["plan"]


def plan(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="YAML file of the run.")],
    override: Changes = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Nodes, instead of cluster.nodes.")] = None,
    gpus: Annotated[int | None, typer.Option(min=1, max=64, help="GPUs of a node, instead of cluster.gpus.")] = None,
    schedule: Annotated[
        list[str] | None,
        typer.Option(help="synchronous, overlapped or off_policy; may be repeated. All of them if left out."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Simulated iterations of each schedule.")] = 8,
    sweep: Annotated[
        str | None, typer.Option(metavar="KEY=A,B,...", help="Also for several values of a key: workers=4,16,64.")
    ] = None,
    measure: Annotated[
        int, typer.Option(min=0, metavar="STEPS", help="Time the environment here with so many steps first.")
    ] = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw what the GPUs do into this file (.svg, .png, .pdf).")] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate iterations of a run on the machines of its section ``cluster``.

    Every seed draws the assumptions anew from their ranges; the intervals are what came of all seeds (5 to 95 %).
    """
    with plain_errors():
        from rlanything_agents.config import load_config
        from rlanything_agents.config.cluster import ClusterConfig
        from rlanything_agents.planning import SCHEDULES, PlanError, demand_of, forecast, forecast_sweep
        from rlanything_agents.planning.measured import measure_environment

        settings = load_config(config, override or ())
        cluster = settings.cluster or ClusterConfig()
        cluster = cluster.model_copy(
            update={key: value for key, value in (("nodes", nodes), ("gpus", gpus)) if value is not None}
        )
        chosen = [name for name in SCHEDULES if name in (schedule or SCHEDULES)]
        if unknown := set(schedule or ()) - set(SCHEDULES):
            raise PlanError(f"--schedule {min(unknown)!r:.60}: choose one of {', '.join(SCHEDULES)}")
        measured = measure_environment(settings, measure) if measure else None
        if measured is not None:
            cluster = cluster.model_copy(update={"assumptions": measured.applied(cluster.assumptions)})
        demand = demand_of(settings)
        forecasts = forecast(demand, cluster, seeds=seeds, schedules=chosen)
        swept = None
        if sweep is not None:
            key, values = _sweep(sweep)
            swept = key, forecast_sweep(demand, cluster, key, values, forecasts[0].schedule, seeds=max(2, seeds // 2))
        if plot is not None:
            from rlanything_agents.planning.gantt import plot_schedules

            plot_schedules(forecasts, plot)
        if as_json:
            print_json(_tree(cluster, forecasts, swept, measured))
        else:
            _show(cluster, forecasts, swept, measured)


def _sweep(text: str) -> tuple[str, list[int]]:
    from rlanything_agents.planning import PlanError

    key, _, values = text.partition("=")
    try:
        return key, [int(value) for value in values.split(",")]
    except ValueError:
        raise PlanError(f"--sweep {text!r:.60}: expected KEY=A,B,..., such as workers=4,16,64") from None


def _tree(cluster: ClusterConfig, forecasts: Any, swept: Any, measured: Any) -> dict[str, Any]:
    from dataclasses import asdict

    tree: dict[str, Any] = {
        "cluster": cluster.model_dump(mode="json"),
        "schedules": [each.to_dict() for each in forecasts],
    }
    if swept is not None:
        key, rows = swept
        tree["sweep"] = [
            {key: value, "seconds": asdict(seconds), "idle": asdict(idle)} for value, seconds, idle in rows
        ]
    if measured is not None:
        tree["measured"] = asdict(measured)
    return tree


def _show(cluster: ClusterConfig, forecasts: Any, swept: Any, measured: Any) -> None:
    from rlanything_agents.cli.screen import console
    from rlanything_agents.planning.show import duration, forecast_tables, sweep_table

    out = console()
    out.print(f"{cluster.nodes} nodes x {cluster.gpus} {cluster.card}, {cluster.workers} workers a node (simulated)")
    if measured is not None:
        out.print(
            f"measured here: a step {duration(measured.step_seconds)}, a reset {duration(measured.reset_seconds)}, "
            f"medians of {measured.steps} steps and {measured.resets} resets"
        )
    tables = forecast_tables(forecasts)
    if swept is not None:
        tables.append(sweep_table(swept[0], swept[1], forecasts[0].schedule))
    for table in tables:
        out.print(table)
    out.print(
        "Median [5 %, 95 %] over seeds. How wide these are, the ranges of cluster.assumptions decide: most of them are "
        "assumed, not measured."
    )
