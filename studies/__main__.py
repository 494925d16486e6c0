"""``python -m studies``: many runs on paired seeds, and what they show together."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rlanything_agents.tools.cli.errors import plain_errors
from rlanything_agents.tools.cli.options import Changes
from rlanything_agents.tools.cli.output import AsJson, print_json

if TYPE_CHECKING:
    from rlanything_agents.config import LLMConfig

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Run studies: arms, regimes and seeds side by side, with intervals.")

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a study.")]
Workers = Annotated[int, typer.Option(min=1, help="Runs side by side, one thread each.")]
Seeds = Annotated[int | None, typer.Option(min=1, help="Seeds 0, 1, ...; else as the file says.")]
Where = Annotated[Path, typer.Option(help="Where everything goes.")]
File = Annotated[Path, typer.Option(help="The study file.")]
Warm = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Folder of another study of the regime: its warm starts are used, and its trained judges if it has any.",
    ),
]
TrainedIn = Annotated[
    str | None,
    typer.Option("--judge", metavar="ARM", help="Arm of --warm whose reward model is the trained judge."),
]
_NAMES = "Names, repeated or with commas; else what the file says."
Arms = Annotated[list[str] | None, typer.Option(help=_NAMES)]
LLMUrl = Annotated[str | None, typer.Option(help="An OpenAI-compatible service that rewrites tasks.")]
LLMModel = Annotated[
    str | None, typer.Option(help="The model to ask there; for `guided` without a service, a checkpoint.")
]
LLMKey = Annotated[str | None, typer.Option(help="Environment variable that holds the key.")]
Regimes = Annotated[list[str] | None, typer.Option(help=_NAMES)]


@app.callback()
def study() -> None:
    """Run studies: arms, regimes and seeds side by side, with intervals."""


@app.command()
def table1(
    regime: Regimes = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds 0, 1, ...; else as the file says.")] = None,
    arms: Arms = None,
    quick: Annotated[bool, typer.Option(help="The small version: fewer seeds, arms, iterations and games.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Where everything goes; runs/study, with --quick runs/study-quick.")
    ] = None,
    workers: Workers = 2,
    override: Changes = None,
    file: Annotated[Path, typer.Option(help="The study file: regimes, arms and their settings.")] = Path(
        "configs/study/table1.yaml"
    ),
) -> None:
    """The ablation of the paper's Table 1: what does each part of the loop add, on paired tasks and seeds?

    The same command continues an interrupted study. With more seeds or arms it adds to what is there.
    """
    where = out or Path("runs/study-quick" if quick else "runs/study")
    _arms(file, where, regime, arms, seeds, quick, override, workers)


@app.command()
def verifier(
    seeds: Seeds = None,
    arms: Arms = None,
    quick: Annotated[bool, typer.Option(help="The small version: one seed, fewer arms, steps and games.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Where everything goes; runs/verifier, with --quick runs/verifier-quick.")
    ] = None,
    workers: Workers = 2,
    override: Changes = None,
    file: File = Path("configs/study/verifier.yaml"),
) -> None:
    """Does a reward model replace verifiers? 16 tasks have one; votes stand in for the outcomes of 240 others.

    The same command continues an interrupted study. With more seeds or arms it adds to what is there.
    """
    where = out or Path("runs/verifier-quick" if quick else "runs/verifier")
    _arms(file, where, None, arms, seeds, quick, override, workers)


@app.command()
def report(folder: Folder, as_json: AsJson = False) -> None:
    """Write the tables, figures and page of a study again, also while it goes on."""
    with plain_errors("studies"):
        from studies.alignment import write_alignment
        from studies.drift import write_drift
        from studies.guided import write_guided
        from studies.report import write_study_report
        from studies.robustness import write_robustness
        from studies.search import write_search
        from studies.transfer import write_transfer
        from studies.two_domains import write_two_domains

        writers = {
            "robustness.json": write_robustness,
            "transfer.json": write_transfer,
            "drift.json": write_drift,
            "align.json": write_alignment,
            "search.json": write_search,
            "guided.json": write_guided,
            "two-domains.md": write_two_domains,
        }
        more = [write for name, write in writers.items() if (folder / name).exists()]
        pages = [
            write(folder)
            for write in (more if {write_drift, write_guided} & set(more) else [write_study_report, *more])
        ]
    if as_json:
        print_json(_reported(folder, pages))
        return
    for page in pages:
        typer.echo(f"Report: {page}")


@app.command()
def evaluate(
    folder: Folder,
    panel: Annotated[
        list[str],
        typer.Option(help="valid_seen, valid_unseen, train, official_seen, official_unseen, train_official."),
    ],
    arms: Arms = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Only so many seeds, from 0.")] = None,
    episodes: Annotated[int | None, typer.Option(min=1, help="Games per panel; all official ones.")] = None,
    max_steps: Annotated[int | None, typer.Option(min=1, help="Of an episode; else as in the study.")] = None,
    panel_seed: Annotated[
        int | None, typer.Option(min=0, help="First seed of generated games; else those of the study.")
    ] = None,
    workers: Workers = 2,
) -> None:
    """Play the final policies of a study on other panels, such as the official games ($ALFWORLD_DATA).

    The same command continues an interrupted evaluation; nothing is played twice.
    """
    with plain_errors("studies"):
        from studies.study import evaluate_study

        try:
            failed = evaluate_study(
                folder,
                _names(panel),
                arms=_names(arms),
                seeds=seeds,
                episodes=episodes,
                max_steps=max_steps,
                panel_seed=panel_seed,
                workers=workers,
            )
        except KeyboardInterrupt:
            typer.echo(f"\ninterrupted ({folder}): the same command goes on", err=True)
            raise typer.Exit(130) from None
    raise typer.Exit(1 if failed else 0)


@app.command()
def robustness(
    seeds: Seeds = None,
    out: Where = Path("runs/robustness"),
    workers: Workers = 2,
    override: Changes = None,
    file: File = Path("configs/study/robustness.yaml"),
) -> None:
    """What do judges notice of corrupted trajectories, and what does corrupted feedback cost a learner?

    Judges: warm-started, trained, the rule of thumb, the planner. Learners: outcomes alone and integrated feedback,
    with shares of outcomes or votes flipped. The same command continues an interrupted study.
    """
    with plain_errors("studies"):
        from studies.robustness import load_robustness, run_robustness

        content = load_robustness(file)
        failed = _interruptible(
            out,
            lambda: run_robustness(
                content, out, seeds=seeds, workers=workers, command=_command(), overrides=override or ()
            ),
        )
    raise typer.Exit(1 if failed else 0)


@app.command()
def drift(
    arms: Arms = None,
    seeds: Seeds = None,
    out: Where = Path("runs/drift"),
    run: Annotated[
        Path | None, typer.Option(help="A run folder whose policy plays roots and active tasks too.")
    ] = None,
    llm_url: LLMUrl = None,
    llm_model: LLMModel = None,
    llm_key_env: LLMKey = None,
    workers: Workers = 2,
    file: File = Path("configs/study/drift.yaml"),
) -> None:
    """Where do tasks go over many cycles of adaptation, for a player that stays the same?

    The same command continues an interrupted study.
    """
    with plain_errors("studies"):
        from studies.drift import load_drift, run_drift, with_service

        content = load_drift(file)
        if (service := _service(llm_url, llm_model, llm_key_env)) is not None:
            content = with_service(content, service)
        failed = _interruptible(
            out,
            lambda: run_drift(
                content, out, arms=_names(arms), seeds=seeds, workers=workers, command=_command(), policy=run
            ),
        )
    raise typer.Exit(1 if failed else 0)


@app.command()
def alignment(
    seeds: Seeds = None,
    out: Where = Path("runs/alignment"),
    warm: Warm = None,
    judge: TrainedIn = None,
    workers: Workers = 2,
    override: Changes = None,
    file: File = Path("configs/study/judge.yaml"),
) -> None:
    """Do a judge's step rewards bring an update closer to the gradient of success than outcomes alone?

    The same command continues an interrupted study. With more seeds it adds to what is there.
    """
    _on_judges("align", file, out, seeds=seeds, warm=warm, judge=judge, workers=workers, overrides=override or ())


@app.command()
def search(
    seeds: Seeds = None,
    out: Where = Path("runs/search"),
    warm: Warm = None,
    judge: TrainedIn = None,
    workers: Workers = 2,
    override: Changes = None,
    file: File = Path("configs/study/judge.yaml"),
) -> None:
    """What is a judge's score worth at test time: best of n and step-level search, per environment step?

    The same command continues an interrupted study. With more seeds it adds to what is there.
    """
    _on_judges("search", file, out, seeds=seeds, warm=warm, judge=judge, workers=workers, overrides=override or ())


@app.command()
def guided(
    players: Annotated[list[str] | None, typer.Option(help=_NAMES)] = None,
    arms: Arms = None,
    seeds: Seeds = None,
    out: Where = Path("runs/guided"),
    run: Annotated[
        list[Path] | None, typer.Option(help="A run folder whose policy plays and whose reward model judges; repeated.")
    ] = None,
    llm_url: LLMUrl = None,
    llm_model: LLMModel = None,
    llm_key_env: LLMKey = None,
    workers: Workers = 2,
    file: File = Path("configs/study/guided.yaml"),
) -> None:
    """Does a critique make rewrites better, for a player that stays the same?

    The same command continues an interrupted study. With more seeds it adds to what is there.
    """
    with plain_errors("studies"):
        from studies.guided import load_guided, run_guided, with_checkpoint, with_service

        content = load_guided(file)
        if llm_url is None and llm_model is not None:
            content = with_checkpoint(content, llm_model)
        elif (service := _service(llm_url, llm_model, llm_key_env)) is not None:
            content = with_service(content, service)
        failed = _interruptible(
            out,
            lambda: run_guided(
                content,
                out,
                players=_names(players),
                arms=_names(arms),
                seeds=seeds,
                runs=run or (),
                workers=workers,
                command=_command(),
            ),
        )
    raise typer.Exit(1 if failed else 0)


@app.command()
def transfer(
    arms: Arms = None,
    seeds: Seeds = None,
    out: Where = Path("runs/transfer"),
    workers: Workers = 2,
    override: Changes = None,
    file: File = Path("configs/study/transfer.yaml"),
) -> None:
    """What does learning on one kind of tasks do to the others?

    The same command continues an interrupted study. With more seeds or arms it adds to what is there.
    """
    with plain_errors("studies"):
        from studies.transfer import load_transfer, run_transfer

        content = load_transfer(file)
        failed = _interruptible(
            out,
            lambda: run_transfer(
                content,
                out,
                arms=_names(arms),
                seeds=seeds,
                workers=workers,
                command=_command(),
                overrides=override or (),
            ),
        )
    raise typer.Exit(1 if failed else 0)


@app.command()
def two_domains(
    arms: Arms = None,
    seeds: Seeds = None,
    quick: Annotated[bool, typer.Option(help="The small version: one seed, two iterations, for a processor.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Where everything goes; runs/two-domains, with --quick runs/two-domains-quick.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Runs side by side, one thread each.")] = 1,
    override: Changes = None,
    file: File = Path("configs/study/two-domains.yaml"),
) -> None:
    """One pretrained policy that learns in two domains in turn: what transfers?

    The same command continues an interrupted study. With more seeds or arms it adds to what is there.
    """
    from studies.plan import load_study, make_plan

    with plain_errors("studies"):
        study = load_study(file)
        plan = make_plan(
            study,
            regimes=list(study.regimes),
            arms=_names(arms),
            seeds=seeds,
            quick=quick,
            overrides=override or (),
        )
        from studies.two_domains import run_two_domains

        where = out or Path("runs/two-domains-quick" if quick else "runs/two-domains")
        failed = _interruptible(where, lambda: run_two_domains(plan, where, workers=workers, command=_command()))
    raise typer.Exit(1 if failed else 0)


@app.command()
def labels(
    domain: Annotated[str, typer.Option(help="alfworld or osworld.")] = "alfworld",
    tasks: Annotated[int, typer.Option(min=1, help="Generated tasks, one episode each.")] = 200,
    mistakes: Annotated[float, typer.Option(min=0, max=1, help="Share of steps the expert takes by chance.")] = 0.0,
) -> None:
    """Are true step labels right? Those of an expert's steps, by kind of action.

    An expert without mistakes should hardly take a step of label -1.
    """
    with plain_errors("studies"):
        from studies.labels import label_table, labelled_steps

        found, solved = labelled_steps(domain, tasks, mistakes)
    typer.echo(f"{solved} of {tasks} tasks solved\n\n{label_table(found)}")


def _arms(
    file: Path,
    folder: Path,
    regimes: list[str] | None,
    arms: list[str] | None,
    seeds: int | None,
    quick: bool,
    overrides: list[str] | None,
    workers: int,
) -> None:
    """Run the arms of a study file; does not return."""
    from studies.plan import load_study, make_plan

    with plain_errors("studies"):
        plan = make_plan(
            load_study(file),
            regimes=_names(regimes),
            arms=_names(arms),
            seeds=seeds,
            quick=quick,
            overrides=overrides or (),
        )
        from studies.study import run_study  # pandas and matplotlib: not before the plan holds

        failed = _interruptible(folder, lambda: run_study(plan, folder, workers=workers, command=_command()))
    raise typer.Exit(1 if failed else 0)


def _on_judges(kind: Literal["align", "search"], file: Path, folder: Path, **options: Any) -> None:
    with plain_errors("studies"):
        from studies.alignment import write_alignment
        from studies.judge_study import load_judge_file, run_on_judges
        from studies.search import write_search

        content, write = load_judge_file(file), write_alignment if kind == "align" else write_search
        failed = _interruptible(
            folder, lambda: run_on_judges(content, kind, folder, write, command=_command(), **options)
        )
    raise typer.Exit(1 if failed else 0)


def _service(url: str | None, model: str | None, key_env: str | None) -> LLMConfig | None:
    """The service of a language model that options name; None without one."""
    from rlanything_agents.config import LLMConfig
    from studies.plan import StudyError

    if (url is None) != (model is None):
        raise StudyError("--llm-url and --llm-model go together: the service, and the model to ask there")
    return None if url is None or model is None else LLMConfig(base_url=url, model=model, api_key_env=key_env)


def _interruptible(folder: Path, study: Callable[[], int]) -> int:
    try:
        return study()
    except KeyboardInterrupt:
        typer.echo(f"\ninterrupted ({folder}): the same command goes on", err=True)
        raise typer.Exit(130) from None


def _reported(folder: Path, pages: list[Path]) -> dict[str, Any]:
    """The pages, and the results of the runs that ended, a row for each measure of each."""
    import pandas as pd  # type: ignore[import-untyped]

    results = folder / "results.parquet"
    rows = pd.read_parquet(results).to_dict("records") if results.exists() else []
    return {"pages": [str(page) for page in pages], "results": rows}


def _names(given: list[str] | None) -> list[str]:
    return [name for words in given or () for name in words.split(",") if name]


def _command() -> str:
    return shlex.join(["python", "-m", "studies", *sys.argv[1:]])


if __name__ == "__main__":
    app()
