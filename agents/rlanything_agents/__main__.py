"""``python -m rlanything_agents`` is the ``rlanything`` command."""

from rlanything_agents.cli import main

main()
