"""The ``rlanything`` command, also as ``python -m rlanything_agents``."""

from rlanything_agents.tools.cli import main

if __name__ == "__main__":
    main()
