"""The program in a container: the judge's end of one worker, controlled through standard input."""

import dataclasses
import os
import sys
from contextlib import suppress
from typing import Any, NoReturn

from .errors import SandboxError, SandboxUnsupported, WorkerLost
from .frames import pack, unpack
from .limits import Limits
from .packages import show
from .process import Process
from .tier import probe

#: The container keeps the machine's files away, so the third tier will do; it is not left to the container alone.
_TIERS = ("full", "landlock", "seccomp")


def main() -> NoReturn:
    """Serve until standard input ends."""
    worker: Process | None = None
    wanted = unpack(sys.stdin.buffer.read)
    try:
        packages = show(wanted[0]["packages"], wanted[0]["environment"]) if wanted and wanted[0]["packages"] else None
    except SandboxUnsupported as error:
        _answer({"package": str(error)})
        os._exit(1)
    reasons = {tier: probe(tier) for tier in _TIERS}
    tier = next((tier for tier, reason in reasons.items() if reason is None), None)
    if tier is None:
        _answer({"failed": "; ".join(f"{name}: {reason}" for name, reason in reasons.items())})
        os._exit(1)
    _answer({"tier": tier, "python": sys.version.split()[0]})
    while (message := unpack(sys.stdin.buffer.read)) is not None:
        head, body = message
        try:
            if head["do"] == "begin":
                if worker is None:
                    worker = Process(tier, packages=packages)
                _answer({"broken": worker.begin(body, Limits(**head["limits"]), head["language"])})
            elif worker is not None and head["do"] == "test":
                run = worker.test(body, Limits(**head["limits"]))
                fields = dataclasses.asdict(run)
                out, err = fields.pop("stdout"), fields.pop("stderr")
                _answer({"run": fields, "stdout": len(out)}, out + err)
            elif worker is not None and head["do"] == "end":
                worker.end()
        except SandboxUnsupported as error:
            _answer({"missing": str(error)})
        except (SandboxError, WorkerLost) as error:
            if worker is not None:
                worker.kill()
            worker = None
            if head["do"] != "end":
                _answer({"lost": str(error)})
    if worker is not None:
        worker.kill()
    os._exit(0)


def _answer(head: dict[str, Any], body: bytes = b"") -> None:
    with suppress(BrokenPipeError):
        sys.stdout.buffer.write(pack(head, body))
        sys.stdout.buffer.flush()
