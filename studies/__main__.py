"""``python -m studies``: many runs on paired seeds, and what they show together."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from rlanything_agents.tools.cli.options import Changes
from rlanything_agents.tools.cli.output import plain_errors

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Run studies: arms, regimes and seeds in parallel, with intervals.")

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a study.")]
Workers = Annotated[int, typer.Option(min=1, help="Runs in parallel, one thread each.")]
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
    str | None, typer.Option("--judge", metavar="ARM", help="Arm of --warm whose reward model is the trained judge.")
]
_NAMES = "Names, repeated or with commas; else what the file says."
Arms = Annotated[list[str] | None, typer.Option(help=_NAMES)]
LLMModel = Annotated[str | None, typer.Option(help="A checkpoint that rewrites tasks, summarises and judges.")]
Regimes = Annotated[list[str] | None, typer.Option(help=_NAMES)]


@app.callback()
def study() -> None:
    """Run studies: arms, regimes and seeds in parallel, with intervals."""


@app.command()
def table1(
    regime: Regimes = None,
    seeds: Seeds = None,
    arms: Arms = None,
    quick: Annotated[bool, typer.Option(help="The small version: fewer seeds, arms, iterations and games.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Where everything goes; runs/study, with --quick runs/study-quick.")
    ] = None,
    workers: Workers = 2,
    override: Changes = None,
    file: File = Path("configs/study/table1.yaml"),
) -> None:
    """The ablation of the paper's Table 1: what does each part of the loop add, on paired tasks and seeds?

    The same command continues an interrupted study. With more seeds or arms it adds to what is there.
    """
    folder = out or Path("runs/study-quick" if quick else "runs/study")
    with plain_errors("studies"):
        from studies.plan import StudyFile, load_file, make_plan

        plan = make_plan(
            load_file(file, StudyFile),
            regimes=_names(regime),
            arms=_names(arms),
            seeds=seeds,
            quick=quick,
            overrides=override or (),
        )
        from studies.study import run_study  # pandas and matplotlib: not before the plan holds

        failed = _interruptible(folder, lambda: run_study(plan, folder, workers=workers, command=_command()))
    raise typer.Exit(1 if failed else 0)


@app.command()
def report(folder: Folder) -> None:
    """Write the tables, figures and page of a study again, also while it goes on."""
    with plain_errors("studies"):
        from studies.alignment import write_alignment
        from studies.guided import write_guided
        from studies.report import write_study_report
        from studies.search import write_search

        writers = {"align.json": write_alignment, "search.json": write_search, "guided.json": write_guided}
        more = [write for name, write in writers.items() if (folder / name).exists()]
        pages = [write(folder) for write in (more if write_guided in more else [write_study_report, *more])]
    for page in pages:
        typer.echo(f"Report: {page}")


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
    """What is a judge's score worth at test time: best of n, per environment step?

    The same command continues an interrupted study. With more seeds it adds to what is there.
    """
    _on_judges("search", file, out, seeds=seeds, warm=warm, judge=judge, workers=workers, overrides=override or ())


@app.command()
def guided(
    players: Annotated[list[str] | None, typer.Option(help=_NAMES)] = None,
    arms: Arms = None,
    seeds: Seeds = None,
    out: Where = Path("runs/guided"),
    llm_model: LLMModel = None,
    workers: Workers = 2,
    file: File = Path("configs/study/guided.yaml"),
) -> None:
    """Does a critique make rewrites better, for a player that stays the same?

    The same command continues an interrupted study. With more seeds it adds to what is there.
    """
    with plain_errors("studies"):
        from studies.guided import GuidedFile, run_guided
        from studies.plan import load_file

        content = load_file(file, GuidedFile)
        if llm_model is not None:
            settings = content.settings.model_copy(update={"model": llm_model})
            content = content.model_copy(update={"settings": settings})
        failed = _interruptible(
            out,
            lambda: run_guided(
                content,
                out,
                players=_names(players),
                arms=_names(arms),
                seeds=seeds,
                workers=workers,
                command=_command(),
            ),
        )
    raise typer.Exit(1 if failed else 0)


@app.command()
def see(
    out: Where = Path("runs/see"),
    tasks: Annotated[int, typer.Option(min=4, help="Tasks whose screens are collected; one of four is held out.")] = 60,
    steps: Annotated[int, typer.Option(min=1, help="Steps of dense teaching.")] = 1200,
    answers: Annotated[int, typer.Option(min=0, help="Steps of teaching to answer in the prompts of the loop.")] = 400,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Does a small model that is taught on screens of real desktops hit what is asked for on unseen ones?

    The same command continues an interrupted study. The model's folder then serves as ``policy.checkpoint``.
    """
    with plain_errors("studies"):
        from studies.acting import act, measure
        from studies.screens import collect, screens
        from studies.seeing import run

        collect(out / "screens", tasks, note=typer.echo)
        run(out, steps, seed=seed, note=typer.echo)
        if answers:
            train, unseen = (screens(out / "screens", part) for part in ("train", "held-out"))
            act(out, train, answers, seed=seed, note=typer.echo)
            typer.echo(f"Answers: {measure(out, train, unseen)}")


def _on_judges(kind: Literal["align", "search"], file: Path, folder: Path, **options: Any) -> None:
    with plain_errors("studies"):
        from studies.alignment import write_alignment
        from studies.judge_study import JudgeFile, run_on_judges
        from studies.plan import load_file
        from studies.search import write_search

        content, write = load_file(file, JudgeFile), write_alignment if kind == "align" else write_search
        failed = _interruptible(
            folder, lambda: run_on_judges(content, kind, folder, write, command=_command(), **options)
        )
    raise typer.Exit(1 if failed else 0)


def _interruptible(folder: Path, study: Callable[[], int]) -> int:
    try:
        return study()
    except KeyboardInterrupt:
        typer.echo(f"\ninterrupted ({folder}): the same command resumes", err=True)
        raise typer.Exit(130) from None


def _names(given: list[str] | None) -> list[str]:
    return [name for words in given or () for name in words.split(",") if name]


def _command() -> str:
    return shlex.join(["python", "-m", "studies", *sys.argv[1:]])


if __name__ == "__main__":
    app()
