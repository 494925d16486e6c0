"""``rlanything doctor``: checks of this machine or of a run folder, with remedies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from rlanything_agents.tools.cli.output import AsJson, console, plain_text, print_json
from rlanything_verifiers.plain_text import printable

if TYPE_CHECKING:
    from rlanything_envs.osworld.desktop.doctor import Finding

__all__ = ["doctor", "findings_tree", "show_findings"]

_STATES = {True: "ok", None: "warning", False: "broken"}
_STYLES = {True: "green", None: "yellow", False: "bold red"}


def doctor(
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="Check this run folder instead of the machine.")
    ] = None,
    proofs: Annotated[bool, typer.Option("--proofs", help="With RUN: also replay the proof of every task.")] = False,
    play: Annotated[bool, typer.Option(help="Play a few steps in every environment.")] = True,
    desktop: Annotated[bool, typer.Option(help="Start a desktop briefly.")] = True,
    tasks: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="List which desktop tasks of a folder can run here instead.", exists=True),
    ] = None,
    guest: Annotated[
        str | None, typer.Option(metavar="URL", help="Check a running guest against OSWorld's protocol instead.")
    ] = None,
    token: Annotated[str | None, typer.Option(help="With --guest: bearer token of the guest.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check this machine or a run folder, and print a remedy for each problem.

    A warning is about an optional part. Exits with 1 where something is broken.
    """
    from rlanything_agents.tools.doctor import examine_environments, examine_machine, examine_run, ready
    from rlanything_envs.osworld.desktop.conformance import check_guest
    from rlanything_envs.osworld.desktop.doctor import Finding, judge_tasks

    if sum(each is not None for each in (run, tasks, guest)) > 1:
        raise typer.BadParameter("give one of the folder of a run, --tasks and --guest")
    seen: list[Finding] = []

    def findings() -> Iterator[Finding]:
        if run is not None:
            yield from examine_run(run, proofs=proofs)
        elif tasks is not None:
            yield from judge_tasks(tasks)
        elif guest is not None:
            for check in check_guest(guest, token):
                good = check.passed or (None if check.optional else False)
                yield Finding(check.name, good, check.problem or "as expected")
        else:
            for checks in (examine_machine(desktop), examine_environments() if play else ()):
                for finding in checks:
                    seen.append(finding)
                    yield finding

    healthy = show_findings(findings(), as_json)
    if seen and not as_json:
        uses, not_yet = ready(seen)
        typer.echo(
            f"Ready for: {'; '.join(uses) or 'nothing'}" + (f". Not for: {'; '.join(not_yet)}" if not_yet else "")
        )
    raise typer.Exit(0 if healthy else 1)


def show_findings(findings: Iterable[Finding], as_json: bool) -> bool:
    """Print findings one by one, or all of them as JSON; returns whether nothing is broken."""
    if as_json:
        tree = findings_tree(findings)
        print_json(tree)
        return bool(tree["healthy"])
    out, remedies, healthy = console(), set[str](), True
    for finding in findings:
        healthy &= finding.good is not False
        head = Text(f"{_STATES[finding.good]:8}", style=_STYLES[finding.good])
        out.print(Text.assemble(head, f"{printable(finding.topic, 120):22} ", plain_text(finding.said)), soft_wrap=True)
        if finding.remedy and not finding.good and finding.remedy not in remedies:
            remedies.add(finding.remedy)
            out.print(Text.assemble(" " * 8, "→ ", plain_text(finding.remedy, style="cyan")), soft_wrap=True)
    return healthy


def findings_tree(findings: Iterable[Finding]) -> dict[str, Any]:
    """Findings as plain data, with whether nothing is broken."""
    found = list(findings)
    records = [
        {"topic": each.topic, "state": _STATES[each.good], "said": each.said, "remedy": each.remedy or None}
        for each in found
    ]
    return {"healthy": all(each.good is not False for each in found), "findings": records}
