"""The image of the docker desktop: Debian packages, a user, and the guest program. A virtual machine's has the same."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rlanything_envs.osworld.desktop.container import engine, sdk
from rlanything_envs.osworld.desktop.errors import DesktopError, NotPrepared
from rlanything_envs.osworld.desktop.packages import OPTIONAL, packages

__all__ = [
    "DEFAULT_IMAGE",
    "GUEST",
    "build_image",
    "context",
    "debootstrap",
    "desktop_packages",
    "dockerfile",
    "provision",
]

DEFAULT_IMAGE = "rlanything-desktop"
GUEST = Path(__file__).resolve().parent / "guest"
"""The guest program; its place in an image is ``/opt/rlanything/guest``."""
_BASE = "rlanything-desktop-base"
_SUITE = "bookworm"


def desktop_packages() -> tuple[str, ...]:
    """Names of the packages of an image."""
    left_out = ("sandbox", *OPTIONAL)
    return tuple(package.name for package in packages() if package.section not in left_out)


def provision(names: Iterable[str]) -> str:
    """Shell commands that make a minimal Debian 12 a desktop, but for the guest program."""
    return f"""\
apt-get update \\
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends {" ".join(names)} \\
 && apt-get clean && rm -rf /var/lib/apt/lists/* /usr/share/doc/* \\
 && useradd --create-home --uid 1000 --shell /bin/bash user \\
 && mkdir -p /run/user/1000 && chown user:user /run/user/1000 && chmod 0711 /root"""


def dockerfile(base: str) -> str:
    """Dockerfile that makes the image from a Debian 12 image."""
    return f"""\
FROM {base}
RUN {provision(desktop_packages())}
COPY guest /opt/rlanything/guest
WORKDIR /home/user
ENV PYTHONPATH=/opt/rlanything LANG=C.UTF-8
EXPOSE 5000
ENTRYPOINT ["/usr/bin/python3", "-BPs", "-m", "guest", "--sole-tenant", "--user", "1000", "--host", "0.0.0.0"]
"""


def context(base: str) -> bytes:
    """Build context of the image as a tar archive: the Dockerfile and the guest program."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        text = dockerfile(base).encode()
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text))
        tar.add(GUEST, "guest", filter=lambda entry: None if "__pycache__" in entry.name else entry)
    return archive.getvalue()


def build_image(image: str = DEFAULT_IMAGE, base: str = "debian:bookworm-slim") -> Iterator[str]:
    """Build the image; yields the engine's output line by line.

    Args:
        image: its name.
        base: a Debian 12 image, or ``"debootstrap"`` to make one from Debian's packages without a registry (root).

    Raises:
        DesktopError: no engine, no way to make the base, or a step failed.
    """
    client = engine()
    if base == "debootstrap":
        yield from _import_base(client)
        base = _BASE
    try:
        answer = client.api.build(
            fileobj=io.BytesIO(context(base)), custom_context=True, tag=image, rm=True, decode=True
        )
        for message in answer:
            if "error" in message:
                raise DesktopError(f"building {image}: {message['error'].strip()}")
            if line := str(message.get("stream", message.get("status", ""))).strip():
                yield line
    except (sdk().errors.DockerException, OSError) as error:
        raise DesktopError(f"building {image}: {error}") from error
    yield f"built {image}"


def debootstrap(root: Path) -> Iterator[str]:
    """A minimal Debian in a folder, from Debian's packages (root); yields its progress line by line.

    Raises:
        DesktopError: debootstrap is not installed, or fails.
    """
    program = shutil.which("debootstrap", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        raise NotPrepared("debootstrap is not installed: apt-get install -y debootstrap")
    yield f"debootstrap {_SUITE}"
    command = [program, "--variant=minbase", _SUITE, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DesktopError(f"debootstrap failed: {(done.stderr or done.stdout).strip()[-500:]}")


def _import_base(client: Any) -> Iterator[str]:
    """A minimal Debian, imported as an image."""
    with tempfile.TemporaryDirectory(prefix="rlanything-rootfs-") as folder:
        root = Path(folder) / "root"
        yield from debootstrap(root)
        archive = Path(folder) / "root.tar"
        pack = ["tar", "--numeric-owner", "-C", str(root), "-cf", str(archive), "."]
        subprocess.run(pack, check=True)  # nosec B607 # the administrator's own tar
        client.api.import_image_from_file(str(archive), repository=_BASE, tag="latest")
        yield f"imported {_BASE}"
