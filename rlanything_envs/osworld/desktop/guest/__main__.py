"""``python3 -m guest``: start the session and serve it until the process is ended.

The bearer token comes through the environment (``RLANYTHING_TOKEN``), so that no process list shows it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from .accessibility import AccessibilityReader
from .processes import Processes
from .requests import Guest
from .server import make_server
from .session import Session, SessionError
from .zygote import Zygote


def main() -> int:
    """Run the guest."""
    parser = argparse.ArgumentParser(prog="guest", description=__doc__)
    parser.add_argument("--home", type=Path, default=Path("/home/user"))
    parser.add_argument("--framebuffer", type=Path, default=Path("/run/screen"), help="directory of the pixels")
    parser.add_argument("--screen", default=os.environ.get("RLANYTHING_SCREEN", "1920x1080"), metavar="WIDTHxHEIGHT")
    parser.add_argument("--listener", type=int, help="serve on this open socket")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=5000)
    parser.add_argument("--sole-tenant", action="store_true", help="this process namespace has nothing but the desktop")
    args = parser.parse_args()
    if not args.sole_tenant:
        print("guest: a reset ends all processes; start it in a process namespace of its own", file=sys.stderr)
        return 2
    width, height = map(int, args.screen.split("x"))
    token = os.environ.pop("RLANYTHING_TOKEN", None)
    args.framebuffer.mkdir(parents=True, exist_ok=True)
    session = Session(args.home, args.framebuffer, (width, height))
    sys.path[:0] = session.environment["PYTHONPATH"].split(":")
    # Before any thread exists.
    zygote, looker = Zygote("pyautogui"), Zygote("guest.tree", at_once=False)
    session.spare = {zygote.pid, looker.pid}
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    try:
        session.start()
    except SessionError as error:
        print(f"guest: {error}", file=sys.stderr)
        return 1
    environment = session.environment
    guest = Guest(session, Processes(zygote, environment), AccessibilityReader(looker, environment))
    address = (args.host, args.port) if args.listener is None else args.listener
    with make_server(guest, address, token) as server:
        print("ready", flush=True)
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
