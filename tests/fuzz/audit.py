"""Known vulnerabilities of the pinned packages, by pip-audit: ``make audit``.

pip-audit passes over what its advisory service does not know, and then calls the rest clean. Here it is said how many
packages were looked up, and nothing is called clean where that was none of them.

    python tests/fuzz/audit.py [constraints.txt]

Exit status: 0 where no vulnerability is known, 1 where one is, 2 where it could not be found out.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Ask, and say what was found."""
    pins = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "constraints.txt"
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--no-deps",
        "--disable-pip",
        "-r",
        str(pins),
        "-s",
        "pypi",
        "-f",
        "json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        said = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"pip-audit gave no answer ({said}); nothing is known of {pins}", file=sys.stderr)
        return 2
    return report(found, pins)


def report(found: list[dict[str, Any]], pins: Path) -> int:
    """Print what is known of the packages, and give the exit status.

    Args:
        found: As pip-audit lists them: ``name``, and ``skip_reason`` or ``version`` and ``vulns``.
        pins: What was asked about.
    """
    known = [package for package in found if "skip_reason" not in package]
    bad = [package for package in known if package["vulns"]]
    for package in bad:
        for flaw in package["vulns"]:
            fixed = ", ".join(flaw["fix_versions"]) or "no version yet"
            print(f"{package['name']} {package['version']}: {flaw['id']}, mended in {fixed}")
    if skipped := [package["name"] for package in found if "skip_reason" in package]:
        print(f"not known to the advisory service: {len(skipped)} of {len(found)} ({', '.join(skipped[:8])} ...)")
    if not known:
        print(f"the advisory service answers for none of {pins}: nothing is known of them", file=sys.stderr)
        return 2
    print(f"{len(known)} packages looked up, {len(bad)} with known vulnerabilities")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
