"""Figure of the desktop quickstart: ``python scripts/picture_desktops.py DESKTOPS SIMULATOR``, two run folders.

Points with bars are evaluations before and after, with Wilson intervals; lines are the shares of the rollouts of an
iteration that were solved, on tasks that adapt to the policy, as a mean over the iterations so far and four at most.
"""

import sys
from pathlib import Path

import numpy as np

from rlanything_agents.runs.folder import RunFolder
from studies.figures import COLOURS, new_figure

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "desktop-learning.png"
MEAN = 4


def main() -> None:
    """Draw both runs."""
    figure, (axes,) = new_figure(1, 1)
    names = ("eight bwrap desktops", "simulator")
    for name, place, colour in zip(names, sys.argv[1:3], (COLOURS[1], COLOURS[2]), strict=True):
        folder = RunFolder(Path(place))
        rows = folder.rows()
        solved = np.array([row["feedback"]["accuracy"] for row in rows])
        means = [solved[max(0, k - MEAN + 1) : k + 1].mean() for k in range(len(solved))]
        axes.plot(range(1, len(rows) + 1), means, color=colour, label=f"{name}: rollouts")
        shift = 0.15 if name == "simulator" else -0.15
        for when, at in (("before", 0), ("after", len(rows) + 1)):
            stage = folder.stage(when)
            if stage is None:
                continue
            (panel,) = stage["panels"].values()
            bar = [[panel["rate"] - panel["low"]], [panel["high"] - panel["rate"]]]
            label = f"{name}: {panel['episodes']} held-out tasks" if when == "before" else None
            axes.errorbar(at + shift, panel["rate"], yerr=bar, fmt="o", color=colour, capsize=3, label=label)
    axes.set_xlabel("iteration (64 episodes)")
    axes.set_ylabel("share solved")
    axes.set_ylim(0, 1)
    axes.legend(fontsize=7, loc="upper left")
    figure.savefig(FIGURE, dpi=130)


if __name__ == "__main__":
    main()
