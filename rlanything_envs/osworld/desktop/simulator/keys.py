"""Keys as windows get them, made from PyAutoGUI's names."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["Key", "key_names", "keysym_name"]

_TABLE = Path(__file__).parents[1] / "guest/lib/pyautogui/keynames.py"

_CHARACTERS = {"space": " ", "KP_Add": "+", "KP_Subtract": "-", "KP_Multiply": "*", "KP_Divide": "/", "KP_Decimal": "."}
_CHARACTERS |= {f"KP_{n}": str(n) for n in range(10)}
_SHIFTED = dict(zip("`1234567890-=[]\\;',./", '~!@#$%^&*()_+{}|:"<>?', strict=True))
"""A US keyboard's second level."""

MODIFIERS = {"Shift_L": "shift", "Shift_R": "shift", "Control_L": "ctrl", "Control_R": "ctrl"}
MODIFIERS |= {"Alt_L": "alt", "Alt_R": "alt", "Super_L": "super", "Super_R": "super"}
"""Modifier keys."""


@lru_cache(maxsize=1)
def key_names() -> dict[str, str]:
    """PyAutoGUI's key names and the X keys behind them: the guest's own table, read without its X library."""
    spec = importlib.util.spec_from_file_location("_guest_keynames", _TABLE)
    if spec is None or spec.loader is None:  # the file is part of this package
        raise ImportError(f"no table of key names at {_TABLE}")
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.KEYSYM_NAMES)


def keysym_name(key: str) -> str | None:
    """The X name of a key, or the character itself; None where nothing is called so."""
    if key in ("\n", "\r", "\t", "\b", "\x1b"):
        return key_names()[key]
    if len(key) == 1:
        return key if key.isprintable() else None
    return key_names().get(key.lower())


@dataclass(frozen=True, slots=True)
class Key:
    """One key with the modifiers that were down.

    Attributes:
        combo: ``"a"``, ``"A"``, ``"Return"``, ``"ctrl+s"``, ``"ctrl+shift+n"``, ``"alt+F4"``.
        name: the last part of it.
        char: the character it types; empty where it types none.
        shift: whether shift was down.
    """

    combo: str
    name: str
    char: str
    shift: bool

    @classmethod
    def of(cls, name: str, held: frozenset[str]) -> Key:
        """A key from its X name (or character) and the modifiers that are down."""
        name = _CHARACTERS.get(name, name)
        shift = "shift" in held
        if len(name) == 1:
            if held & {"ctrl", "alt", "super"}:
                shift = shift or name.isupper()
                name = name.lower()
                prefix = _prefix(held, shift)
                return cls(prefix + name, name, "", shift)
            if shift:
                name = _SHIFTED.get(name, name.upper() if len(name.upper()) == 1 else name)
            return cls(name, name, name, shift)
        return cls(_prefix(held, shift) + name, name, "", shift)

    @property
    def plain(self) -> str:
        """The combination without shift, for keys where shift only extends a selection."""
        return self.combo.replace("shift+", "")


def _prefix(held: frozenset[str], shift: bool) -> str:
    """Modifiers in a fixed order: ctrl, alt, super, shift."""
    wanted = [name for name in ("ctrl", "alt", "super") if name in held] + (["shift"] if shift else [])
    return "".join(f"{name}+" for name in wanted)
