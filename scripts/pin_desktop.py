"""Pins the packages of the desktop: ``python -m scripts.pin_desktop`` writes the list of today.

Run it after a change of ``packages.txt``. The indexes come from this machine's mirror of Debian; their signatures are
checked with gpgv and the package debian-archive-keyring.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from rlanything_envs.osworld.desktop.root.mirror import find_mirror
from rlanything_envs.osworld.desktop.root.pins import SHIPPED, Pins
from rlanything_envs.osworld.desktop.root.signature import verified


def main() -> None:
    """Write the list, and say what is in it."""
    with tempfile.TemporaryDirectory() as folder:
        index, day = find_mirror().index(lambda text: verified(text, Path(folder)))
    pins = Pins.resolved(index, day)
    SHIPPED.write_text(str(pins))
    for section, packages in pins.sections.items():
        print(f"{section}: {len(packages)} packages, {sum(pin.size for pin in packages) / 1e6:.0f} MB")
    print(f"hash of the desktop: {pins.only(()).hash}")


if __name__ == "__main__":
    main()
