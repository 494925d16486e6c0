"""Shares of random proposals that each domain proves: what a rewriter without sense gets past the checks.

Each answer is drawn from the schema that a language model gets, all of its parts at once. What is free text in it stays
null; in coding half of the answers have words around `{problem}`.

    python -m benchmarks.proposals [--tasks 100] [--domains alfworld coding osworld]
"""

import argparse
from collections import Counter

import numpy as np

from rlanything_envs.llm.schema import example_of
from rlanything_task_pools import Rejection, get_domain

WORDS = "{problem}\nRead the constraints before you begin."


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=100, help="tasks of each domain, a proposal each")
    parser.add_argument("--domains", nargs="+", default=["alfworld", "coding", "osworld"])
    args = parser.parse_args()
    for name in args.domains:
        domain, rng, found, parts = get_domain(name), np.random.default_rng(0), Counter[str](), Counter[int]()
        for seed in range(args.tasks):
            task = domain.generate(seed)
            proposal = example_of(domain.proposal_schema(task), rng)
            if name == "coding" and rng.random() < 0.5:
                proposal["statement"] = WORDS
            made = domain.validate(task, proposal, direction="harder", author="chance")
            found[made.reason if isinstance(made, Rejection) else "proved"] += 1
            if not isinstance(made, Rejection):
                parts[sum(value is not None for value in proposal.values())] += 1
        several = sum(count for number, count in parts.items() if number > 1)
        print(f"{name}: {found['proved']} of {args.tasks} proved, {several} of them change several parts", flush=True)
        print("  " + ", ".join(f"{reason} {count}" for reason, count in found.most_common() if reason != "proved"))


if __name__ == "__main__":
    main()
