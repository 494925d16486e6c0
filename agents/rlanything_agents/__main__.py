"""The ``rlanything`` command, also as ``python -m rlanything_agents``."""

import sys


def main() -> None:
    """Run the command, or say what to install where the core package is installed alone."""
    try:
        from rlanything_agents.tools.cli import main as command
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("rlanything"):
            raise
        print(
            f"error: the rlanything command needs packages that are not installed ({error.name}): "
            "pip install 'rlanything-envs[train]'",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    command()


if __name__ == "__main__":
    main()
