"""The viewer of runs. A run folder, or a folder of them, comes in; pages for a browser go out, of named JSON resources.

- `site`, `run`: the resources of all runs, and of one; `overview`, `episodes`, `tasks`: their content.
- `server`: serves a site on this machine while runs go on; `export`: writes it to files that need no server.
- `shell`: the page with its scripts and styles, which are the same for both.
"""

from rlanything_agents.tools.view.export import export_site
from rlanything_agents.tools.view.server import serve
from rlanything_agents.tools.view.site import Site

__all__ = ["Site", "export_site", "serve"]
