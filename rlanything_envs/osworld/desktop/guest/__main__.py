"""``python3 -m guest``: start the session and serve it until the process is ended.

The bearer token comes through the environment (``RLANYTHING_TOKEN``), so that no process list shows it.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import sys

from .interior import Interior, InteriorError, Settings, pixels_file
from .requests import Guest
from .server import make_server

_PR_SET_PDEATHSIG = 1


def main() -> int:
    """Run the guest."""
    parser = argparse.ArgumentParser(prog="guest", description=__doc__)
    parser.add_argument("--home", default="/home/user")
    parser.add_argument("--screen", default=os.environ.get("RLANYTHING_SCREEN", "1920x1080"), metavar="WIDTHxHEIGHT")
    parser.add_argument("--pixels", type=int, help="open file in memory for the screen")
    parser.add_argument("--listener", type=int, help="serve on this open socket")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=5000)
    parser.add_argument("--bwrap", action="append", metavar="WORD", help="a word of the command that makes a sandbox")
    parser.add_argument("--sandbox", type=int, help="open file with the arguments of bwrap, each ended by a zero byte")
    parser.add_argument("--user", type=int, help="id of the user of all programs of the desktop; for root")
    parser.add_argument("--memory", type=int, default=0, help="bytes")
    parser.add_argument("--disk", type=int, default=0, help="bytes")
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--patience", type=float, default=60.0, help="seconds for the session to get ready")
    parser.add_argument("--parent", type=int, help="end with this process")
    parser.add_argument("--sole-tenant", action="store_true", help="this process namespace has nothing but the desktop")
    args = parser.parse_args()
    if not (args.sole_tenant or args.sandbox):
        print("guest: a reset ends all processes; start it in a new process namespace", file=sys.stderr)
        return 2
    if args.parent is not None:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != args.parent:
            return 1
    width, height = map(int, args.screen.split("x"))
    token = os.environ.pop("RLANYTHING_TOKEN", None)
    pixels = pixels_file((width, height)) if args.pixels is None else args.pixels
    sandbox = None if args.sandbox is None else _words(args.sandbox)
    bwrap = tuple(args.bwrap or ["bwrap"])
    limits = {"memory": args.memory, "disk": args.disk, "processes": args.processes}
    interior = Interior(
        Settings(args.home, (width, height), pixels, bwrap, sandbox, args.user, patience=args.patience, **limits)
    )
    try:
        interior.start()
    except InteriorError as error:
        print(f"guest: {error}", file=sys.stderr)
        return 1
    address = (args.host, args.port) if args.listener is None else args.listener

    def end(*_: object) -> None:
        interior.end()
        os._exit(0)

    with make_server(Guest(interior), address, token) as server:
        signal.signal(signal.SIGTERM, end)
        print("ready", flush=True)
        server.serve_forever()
    return 0


def _words(descriptor: int) -> list[str]:
    with os.fdopen(descriptor, "rb") as file:
        return file.read().decode().split("\0")


if __name__ == "__main__":
    sys.exit(main())
