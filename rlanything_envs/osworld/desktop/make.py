"""The one place that knows the names of the desktops."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from rlanything_envs.errors import SettingError
from rlanything_envs.osworld.desktop.protocol import Desktop

__all__ = ["BACKENDS", "make_desktop"]


def _bwrap() -> type[Desktop]:
    from rlanything_envs.osworld.desktop.bwrap import BwrapDesktop

    return BwrapDesktop


def _http() -> type[Desktop]:
    from rlanything_envs.osworld.desktop.attached import HttpDesktop

    return HttpDesktop


def _docker() -> type[Desktop]:
    from rlanything_envs.osworld.desktop.container import DockerDesktop

    return DockerDesktop


def _vm() -> type[Desktop]:
    from rlanything_envs.osworld.desktop.vm import VmDesktop

    return VmDesktop


BACKENDS: Mapping[str, Callable[[], type[Desktop]]] = {"bwrap": _bwrap, "docker": _docker, "vm": _vm, "http": _http}
"""Backends by name. A missing backend is never replaced by another."""


def make_desktop(backend: str, **settings: Any) -> Desktop:
    """A desktop, not yet started.

    Args:
        backend: ``"bwrap"``, ``"docker"``, ``"vm"`` or ``"http"``.
        settings: those of the backend; one that is None counts as not given. ``screen`` (width, height) for
            all but ``http``, ``memory`` for ``bwrap``, ``docker`` and ``vm``, ``network`` for ``bwrap`` and ``vm``,
            ``image`` for ``docker``, ``qcow2`` for ``vm``, ``url``, ``token`` and ``reset`` for ``http``.

    Raises:
        SettingError: no such backend, it has no such setting, or one is missing that it needs.
    """
    if backend not in BACKENDS:
        raise SettingError(f"no desktop is called {backend!r}; there are {', '.join(BACKENDS)}")
    made = BACKENDS[backend]()
    known = inspect.signature(made).parameters
    given = {name: value for name, value in settings.items() if value is not None}
    if unknown := given.keys() - known.keys():
        raise SettingError(f"the {backend} desktop has no setting {min(unknown)!r}; it has {', '.join(known)}")
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in given:
            raise SettingError(
                f"the {backend} desktop needs its {name}: desktop={{{name!r}: ...}}, in a configuration "
                f"environment.desktop.{name}"
            )
    return made(**given)
