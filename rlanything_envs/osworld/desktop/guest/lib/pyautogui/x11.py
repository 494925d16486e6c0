"""The X display through libX11 and libXtst: pointer, keys, keymap."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import os
import select
import time
from collections.abc import Iterable, Iterator

from .keynames import KEYSYM_NAMES

__all__ = ["Display", "keysym_of", "keysym_of_character"]

_SETTLE_KEYMAP = 0.15
"""Seconds between a change of the keymap and the first key that needs it; toolkits re-read the map in between."""

_CONTROL = {"\n": "Return", "\r": "Return", "\t": "Tab", "\b": "BackSpace", "\x1b": "Escape", "\x7f": "Delete"}


def _load(name: str, soname: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(soname)
    except OSError:
        found = ctypes.util.find_library(name)
        if found is None:
            raise
        return ctypes.CDLL(found)


_X = _load("X11", "libX11.so.6")
_TEST = _load("Xtst", "libXtst.so.6")
_X.XOpenDisplay.restype = ctypes.c_void_p
_X.XStringToKeysym.restype = ctypes.c_ulong
_X.XGetKeyboardMapping.restype = ctypes.POINTER(ctypes.c_ulong)
_X.XDefaultRootWindow.restype = ctypes.c_ulong
_X.XInternAtom.restype = ctypes.c_ulong
_Pointer, _Int, _Ulong = ctypes.c_void_p, ctypes.c_int, ctypes.c_ulong
_CLIENT_MESSAGE, _SUBSTRUCTURE_NOTIFY = 33, 1 << 19

_ErrorHandler = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_ignore = _ErrorHandler(lambda display, error: 0)
_X.XSetErrorHandler(_ignore)  # a window may vanish at any moment; Xlib would end the process

_BUTTONS = 0x1F00
"""Mask of the five buttons in the state of the pointer (Button1Mask to Button5Mask of X.h)."""


class _Message(ctypes.Structure):
    """XClientMessageEvent (Xlib.h)."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("serial", ctypes.c_ulong),
        ("send_event", ctypes.c_int),
        ("display", ctypes.c_void_p),
        ("window", ctypes.c_ulong),
        ("message_type", ctypes.c_ulong),
        ("format", ctypes.c_int),
        ("data", ctypes.c_long * 5),
    )


class _Event(ctypes.Union):
    """XEvent (Xlib.h)."""

    _fields_ = (("type", ctypes.c_int), ("message", _Message), ("pad", ctypes.c_long * 24))


_LOOK_ROUND = 0.05
"""Seconds between two looks whether a window that owes an answer is still there."""

_XF86 = 0x10080000
"""Where the keysyms of media keys begin (XF86keysym.h)."""


def keysym_of(name: str) -> int:
    """The keysym with an X name (``"Return"``); 0 where there is none."""
    return int(_X.XStringToKeysym(name.encode()))


def keysym_of_character(character: str) -> int:
    """The keysym that types one character (X protocol, appendix A: Latin-1 as is, others 0x01000000 + code point)."""
    if character in _CONTROL:
        return keysym_of(_CONTROL[character])
    code = ord(character)
    return code if 0x20 <= code <= 0x7E or 0xA0 <= code <= 0xFF else 0x01000000 + code


_NAMED = {keysym_of(name) for name in KEYSYM_NAMES.values()}


class Display:
    """One connection to the X server.

    Raises:
        OSError: there is no display to connect to.
    """

    def __init__(self) -> None:
        wanted = os.environ.get("DISPLAY", "")
        pointer = _X.XOpenDisplay(wanted.encode())
        if not pointer:
            raise OSError(f"cannot open the X display {wanted!r}")
        self._display = _Pointer(pointer)
        self._root = _Ulong(_X.XDefaultRootWindow(self._display))
        self._atoms: dict[str, int] = {}
        self._pings = itertools.count(1)
        _X.XSelectInput(self._display, self._root, _SUBSTRUCTURE_NOTIFY)
        self._keys: dict[int, tuple[int, bool]] = {}
        self._spare: list[int] = []
        self._read_keymap()

    def sync(self) -> None:
        """Return when the server has done everything sent so far."""
        _X.XSync(self._display, 0)

    def size(self) -> tuple[int, int]:
        """Width and height of the screen in pixels."""
        return int(_X.XDisplayWidth(self._display, 0)), int(_X.XDisplayHeight(self._display, 0))

    def position(self) -> tuple[int, int]:
        """Where the pointer is, in pixels."""
        return self._pointer()[:2]

    def pressed(self) -> bool:
        """Whether a button of the mouse is held down."""
        return bool(self._pointer()[2] & _BUTTONS)

    def _pointer(self) -> tuple[int, int, int]:
        window, child = _Ulong(), _Ulong()
        x, y, window_x, window_y, mask = _Int(), _Int(), _Int(), _Int(), ctypes.c_uint()
        places = (window, child, x, y, window_x, window_y, mask)
        _X.XQueryPointer(self._display, self._root, *map(ctypes.byref, places))
        return x.value, y.value, mask.value

    def move(self, x: int, y: int) -> None:
        """Put the pointer somewhere, in pixels; the server keeps it on the screen."""
        _TEST.XTestFakeMotionEvent(self._display, 0, int(x), int(y), _Ulong(0))
        self.sync()

    def button(self, number: int, down: bool) -> None:
        """Press or release a mouse button (1 left, 2 middle, 3 right, 4-7 wheel up, down, left, right)."""
        _TEST.XTestFakeButtonEvent(self._display, number, int(down), _Ulong(0))
        self.sync()

    def key(self, keysym: int, down: bool) -> None:
        """Press or release the key with a keysym; nothing happens where the keymap has none (see `learn`)."""
        found = self._keys.get(keysym)
        if found is not None:
            _TEST.XTestFakeKeyEvent(self._display, found[0], int(down), _Ulong(0))
            self.sync()

    def needs_shift(self, keysym: int) -> bool:
        """Whether the keysym is on the shifted level of its key."""
        return self._keys.get(keysym, (0, False))[1]

    def knows(self, keysym: int) -> bool:
        """Whether a key has the keysym."""
        return keysym in self._keys

    def learn(self, keysyms: Iterable[int]) -> None:
        """Put keysyms that the keymap lacks on spare keys, all at once, and give applications time to notice.

        The keys stay as they are until another call needs them: a key that changes its meaning right after it was
        pressed is read wrongly by an application that lags behind.

        Raises:
            ValueError: more keysyms than spare keys; see `spare_keys`.
        """
        missing = [keysym for keysym in dict.fromkeys(keysyms) if keysym not in self._keys]
        if not missing:
            return
        if len(missing) > len(self._spare):
            raise ValueError(f"{len(missing)} new characters at once, the keymap has room for {len(self._spare)}")
        keycodes = sorted(self._spare[: len(missing)])
        self._spare = self._spare[len(missing) :] + keycodes  # those learned longest ago are the next to be given away
        self._keys = {known: place for known, place in self._keys.items() if place[0] not in keycodes}
        self._keys.update({keysym: (code, False) for keysym, code in zip(missing, keycodes, strict=True)})
        # One request for each run of keys: every request makes every application read the whole keymap again.
        first = 0
        for i, code in enumerate(keycodes):
            if i + 1 == len(keycodes) or keycodes[i + 1] != code + 1:
                pairs = [keysym for keysym in missing[first : i + 1] for _ in range(2)]
                table = (_Ulong * len(pairs))(*pairs)
                _X.XChangeKeyboardMapping(self._display, keycodes[first], 2, table, i + 1 - first)
                first = i + 1
        self.sync()
        time.sleep(_SETTLE_KEYMAP)

    @property
    def spare_keys(self) -> int:
        """How many keysyms one call of `learn` can place."""
        return len(self._spare)

    def active_window(self) -> int:
        """The window that has the focus, as the window manager says; 0 where there is none."""
        found = self._property(self._root.value, "_NET_ACTIVE_WINDOW")
        return found[0] if found else 0

    def process_of(self, window: int) -> int:
        """The process that says it owns a window; 0 where none does."""
        found = self._property(window, "_NET_WM_PID")
        return found[0] if found else 0

    def ping(self, window: int, patience: float) -> bool:
        """Whether the active window answers ``_NET_WM_PING`` in time.

        It answers when it has read everything that was sent to it before. A window that does not take part in the
        protocol is not asked, and one that has closed or lost the focus is not waited for.
        """
        ping, protocols = self._atom("_NET_WM_PING"), self._atom("WM_PROTOCOLS")
        if ping not in self._property(window, "WM_PROTOCOLS"):
            return False
        stamp, event = next(self._pings), _Event()
        event.message = _Message(_CLIENT_MESSAGE, 0, 1, self._display, window, protocols, 32)
        event.message.data[0:3] = [ping, stamp, window]
        _X.XSendEvent(self._display, _Ulong(window), 0, 0, ctypes.byref(event))
        end = time.monotonic() + patience
        while True:
            while _X.XPending(self._display):
                _X.XNextEvent(self._display, ctypes.byref(event))
                message = event.message
                answered = event.type == _CLIENT_MESSAGE and message.window == self._root.value
                if answered and message.data[0] == ping and message.data[1] == stamp:
                    return True
            left = end - time.monotonic()
            gone = self.active_window() != window or not self._property(window, "WM_PROTOCOLS")
            if left <= 0 or gone:
                return False
            select.select([_X.XConnectionNumber(self._display)], [], [], min(left, _LOOK_ROUND))

    def _atom(self, name: str) -> int:
        if name not in self._atoms:
            self._atoms[name] = int(_X.XInternAtom(self._display, name.encode(), 0))
        return self._atoms[name]

    def _property(self, window: int, name: str) -> list[int]:
        """The numbers of a property; empty where it is not set."""
        kind, form, count, left, data = _Ulong(), _Int(), _Ulong(), _Ulong(), ctypes.POINTER(ctypes.c_ulong)()
        places = (kind, form, count, left, data)
        _X.XGetWindowProperty(
            self._display, _Ulong(window), _Ulong(self._atom(name)), 0, 64, 0, 0, *map(ctypes.byref, places)
        )
        if not data:
            return []
        values = [int(data[i]) for i in range(count.value)] if form.value == 32 else []
        _X.XFree(data)
        return values

    def _read_keymap(self) -> None:
        """Remember the key of each keysym (unshifted level first) and the keys without any, highest first."""
        low, high, per_key = _Int(), _Int(), _Int()
        _X.XDisplayKeycodes(self._display, ctypes.byref(low), ctypes.byref(high))
        count = high.value - low.value + 1
        table = _X.XGetKeyboardMapping(self._display, ctypes.c_ubyte(low.value), count, ctypes.byref(per_key))
        try:
            for level in range(min(2, per_key.value)):
                for keycode, keysym in self._level(table, low.value, count, per_key.value, level):
                    self._keys.setdefault(keysym, (keycode, bool(level)))
            rows = (table[i * per_key.value : (i + 1) * per_key.value] for i in range(count))
            free = [low.value + i for i, row in enumerate(rows) if _dispensable(row)]
        finally:
            _X.XFree(table)
        self._keys = {known: place for known, place in self._keys.items() if place[0] not in free}
        self._spare = free

    @staticmethod
    def _level(
        table: ctypes._Pointer[ctypes.c_ulong], low: int, count: int, per_key: int, level: int
    ) -> Iterator[tuple[int, int]]:
        for i in range(count):
            keysym = table[i * per_key + level]
            if keysym:
                yield low + i, int(keysym)


def _dispensable(row: list[int]) -> bool:
    """Whether a key may be given away: it is empty, was learned before, or is a media key nobody can name."""
    if not any(row):
        return True
    learned = len(row) > 1 and row[0] == row[1] and (row[0] > 0x01000000 or 0xA0 <= row[0] <= 0xFF)
    return (learned and row[0] < _XF86) or (row[0] >= _XF86 and row[0] not in _NAMED)
