"""``python -m rlanything_agents`` is the ``rlanything`` command."""

from rlanything_agents.tools.cli import main

main()
