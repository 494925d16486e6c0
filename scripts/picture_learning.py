"""Learning curve of finished runs: ``python scripts/picture_learning.py FIGURE.png NAME=RUN ...``.

Points with bars are evaluations on held-out tasks, with Wilson intervals: before, during and after the loop. Lines are
the shares of an iteration's rollouts that were solved, on tasks that adapt to the policy, as a mean over four
iterations at most.
"""

import json
import sys
from pathlib import Path

import numpy as np

from rlanything_agents.runs.folder import RunFolder
from studies.figures import COLOURS, new_figure

MEAN = 4
APART = 0.15
"""Iterations between the points of two runs, so that their bars do not hide each other."""


def main() -> None:
    """Draw all runs."""
    figure, (axes,) = new_figure(1, 1)
    for number, (text, colour) in enumerate(zip(sys.argv[2:], COLOURS[1:], strict=False)):
        name, _, place = text.partition("=")
        folder = RunFolder(Path(place))
        solved = np.array([row["feedback"]["accuracy"] for row in folder.rows()])
        means = [solved[max(0, k - MEAN + 1) : k + 1].mean() for k in range(len(solved))]
        axes.plot(range(1, len(solved) + 1), means, color=colour, label=f"{name}: rollouts")
        summary = json.loads(folder.summary.read_text())
        points = [(0, summary["before"]), *((point["iteration"], point) for point in summary["curve"])]
        for at, evaluation in [*points, (len(solved), summary["after"])]:
            panel = next(iter(evaluation["panels"].values()))
            bar = [[panel["rate"] - panel["low"]], [panel["high"] - panel["rate"]]]
            label = None if at else f"{name}: {panel['episodes']} held-out tasks"
            axes.errorbar(at + APART * number, panel["rate"], yerr=bar, fmt="o", color=colour, capsize=3, label=label)
    axes.set_xlabel("iteration")
    axes.set_ylabel("share solved")
    axes.set_ylim(0, 1)
    axes.legend(fontsize=7, loc="upper left")
    figure.savefig(sys.argv[1], dpi=130)


if __name__ == "__main__":
    main()
