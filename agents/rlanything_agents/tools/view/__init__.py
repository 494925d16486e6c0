"""The viewer: a run, or a folder of runs, as pages in a browser.

What the pages show is a tree of named JSON resources (`Site`). A `server` on this machine answers for them while a run
goes on, and `export` writes them to files that open without any server; the pages are the same.
"""

from rlanything_agents.tools.view.export import ExportError, export_site
from rlanything_agents.tools.view.server import serve
from rlanything_agents.tools.view.site import NothingToView, Site

__all__ = ["ExportError", "NothingToView", "Site", "export_site", "serve"]
