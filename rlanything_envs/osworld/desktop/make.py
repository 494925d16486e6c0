"""The one place that knows the names of the desktops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rlanything_envs.errors import SettingError
from rlanything_envs.osworld.desktop.protocol import Desktop

__all__ = ["BACKENDS", "make_desktop"]


def _bwrap(**settings: Any) -> Desktop:
    from rlanything_envs.osworld.desktop.bwrap import BwrapDesktop

    return BwrapDesktop(**settings)


def _http(**settings: Any) -> Desktop:
    from rlanything_envs.osworld.desktop.attached import HttpDesktop

    return HttpDesktop(**settings)


def _docker(**settings: Any) -> Desktop:
    from rlanything_envs.osworld.desktop.container import DockerDesktop

    return DockerDesktop(**settings)


def _vm(**settings: Any) -> Desktop:
    from rlanything_envs.osworld.desktop.vm import VmDesktop

    return VmDesktop(**settings)


def _simulator(**settings: Any) -> Desktop:
    from rlanything_envs.osworld.desktop.simulator import SimulatorDesktop

    return SimulatorDesktop(**settings)


BACKENDS: Mapping[str, Callable[..., Desktop]] = {
    "bwrap": _bwrap,
    "docker": _docker,
    "vm": _vm,
    "http": _http,
    "simulator": _simulator,
}
"""Backends by name. A missing backend is never replaced by another."""


def make_desktop(backend: str, **settings: Any) -> Desktop:
    """A desktop, not yet started.

    Args:
        backend: ``"bwrap"``, ``"docker"``, ``"vm"``, ``"http"`` or ``"simulator"``.
        settings: those of the backend; one that is None counts as not given. ``screen`` (width, height) for
            all but ``http``, ``memory`` for ``bwrap``, ``docker`` and ``vm``, ``network`` for ``bwrap`` and ``vm``,
            ``image`` for ``docker``, ``qcow2`` for ``vm``, ``url`` and ``token`` for ``http``.

    Raises:
        SettingError: no such backend, or it has no such setting.
    """
    make = BACKENDS.get(backend)
    if make is None:
        raise SettingError(f"no desktop is called {backend!r}; there are {', '.join(BACKENDS)}")
    given = {name: value for name, value in settings.items() if value is not None}
    try:
        return make(**given)
    except TypeError as error:
        raise SettingError(f"the {backend} desktop: {error}") from error
