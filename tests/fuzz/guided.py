"""Coverage-guided fuzzing of the table of targets with atheris: ``make fuzz``.

Each target runs in a process of its own for some seconds, with limits on time and memory, from a corpus that begins
with its examples and is kept in ``build/fuzz``. Content that raises anything but a reader's own errors, or takes too
long or too much memory, is saved under ``tests/fuzz/crashes``: there the quick tests try it from then on.

    python tests/fuzz/guided.py --seconds 20 [--only "run that is viewed"]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CORPUS = ROOT / "build" / "fuzz"
CRASHES = HERE / "crashes"

SLOWEST = 20
"""Seconds that one content may take, coverage measured."""
SLOWDOWN = 5
"""How many times slower a reading is while its coverage is measured."""
MEMORY = 4096
"""MiB that a process may hold."""


def main() -> int:
    """Run all targets one after another; 1 where something was found, 2 where atheris is not installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=20, help="for each target")
    parser.add_argument("--only", action="append", help="name of a target; may be given several times")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sys.path.insert(0, str(HERE))
    if arguments.inside:
        return _fuzz(arguments.inside, arguments.seconds)
    try:
        import atheris  # noqa: F401
    except ImportError:
        print(
            "atheris is not installed: pip install 'rlanything-envs[fuzz]' (Linux, CPython 3.11 or newer)",
            file=sys.stderr,
        )
        return 2
    from targets import TARGETS

    names = [target.name for target in TARGETS]
    if unknown := sorted(set(arguments.only or ()) - set(names)):
        print(f"no target is called {', '.join(unknown)}: choose from {', '.join(names)}", file=sys.stderr)
        return 2
    failed = [name for name in arguments.only or names if not _run(name, arguments.seconds)]
    print(f"{len(arguments.only or names) - len(failed)} targets held; failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def _run(name: str, seconds: int) -> bool:
    """Whether a target held out."""
    before = set(_found(name))
    command = [sys.executable, __file__, "--inside", name, "--seconds", str(seconds)]
    done = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    new = sorted(set(_found(name)) - before)
    for folder in (CRASHES / name, CRASHES):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    last = [line for line in done.stderr.splitlines() if line.startswith(("#", "stat::", "Done"))][-1:]
    print(f"{'failed' if done.returncode else 'held'}: {name}: {' '.join(last)}", flush=True)
    if done.returncode:
        print(done.stderr[-3000:], *(f"saved: {path}" for path in new), sep="\n", flush=True)
    return done.returncode == 0


def _found(name: str) -> list[Path]:
    return list((CRASHES / name).glob("*"))


def _fuzz(name: str, length: int) -> int:
    """In a process of its own: fuzz one target until the time is over or something is found."""
    import atheris

    with atheris.instrument_imports(
        include=["rlanything_verifiers", "rlanything_task_pools", "rlanything_envs", "rlanything_agents"],
        enable_loader_override=False,
    ):
        from targets import TARGETS
    target = next(target for target in TARGETS if target.name == name)
    corpus, crashes = CORPUS / name, CRASHES / name
    for folder in (corpus, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    for example in target.seeds:
        (corpus / hashlib.sha256(example).hexdigest()[:16]).write_bytes(example)
    from fuzz_bounds import TooLong, seconds
    from fuzz_mutations import FRAGMENTS

    words = CORPUS / f"{name}.dict"
    quoted = ("".join(f"\\x{byte:02x}" for byte in fragment) for fragment in FRAGMENTS if len(fragment) < 60)
    words.write_text("".join(f'"{word}"\n' for word in quoted if word))

    def read(content: bytes) -> None:
        begin = time.process_time()
        target(content)
        used, most = time.process_time() - begin, SLOWDOWN * seconds(len(content))
        if used > most:
            raise TooLong(f"{used:.1f} s of processor time for {len(content)} bytes; at most {most:.1f} s")

    atheris.Setup(
        [
            sys.argv[0],
            f"-max_total_time={length}",
            f"-timeout={SLOWEST}",
            f"-rss_limit_mb={MEMORY}",
            "-max_len=20000",
            "-print_final_stats=0",
            f"-dict={words}",
            f"-artifact_prefix={crashes}/",
            str(corpus),
        ],
        read,
    )
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
