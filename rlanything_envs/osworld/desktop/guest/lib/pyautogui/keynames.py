"""PyAutoGUI's names of keys, and the X keys behind them."""

from __future__ import annotations

__all__ = ["KEYBOARD_KEYS", "KEYSYM_NAMES"]

KEYSYM_NAMES: dict[str, str] = {
    "\n": "Return", "\r": "Return", "\t": "Tab", "\b": "BackSpace", "\x1b": "Escape",
    "return": "Return", "enter": "Return", "tab": "Tab", "space": "space", "backspace": "BackSpace",
    "esc": "Escape", "escape": "Escape", "del": "Delete", "delete": "Delete", "insert": "Insert",
    "home": "Home", "end": "End", "pgup": "Prior", "pageup": "Prior", "pgdn": "Next", "pagedown": "Next",
    "up": "Up", "down": "Down", "left": "Left", "right": "Right",
    "shift": "Shift_L", "shiftleft": "Shift_L", "shiftright": "Shift_R",
    "ctrl": "Control_L", "ctrlleft": "Control_L", "ctrlright": "Control_R",
    "alt": "Alt_L", "altleft": "Alt_L", "altright": "Alt_R",
    "win": "Super_L", "winleft": "Super_L", "winright": "Super_R", "apps": "Menu",
    "capslock": "Caps_Lock", "numlock": "Num_Lock", "scrolllock": "Scroll_Lock",
    "pause": "Pause",
    "print": "Print", "printscreen": "Print", "prntscrn": "Print", "prtsc": "Print", "prtscr": "Print",
    "select": "Select", "execute": "Execute", "help": "Help",
    "add": "KP_Add", "subtract": "KP_Subtract", "multiply": "KP_Multiply", "divide": "KP_Divide",
    "decimal": "KP_Decimal", "separator": "KP_Separator", "clear": "Clear",
    "volumemute": "XF86AudioMute", "volumedown": "XF86AudioLowerVolume", "volumeup": "XF86AudioRaiseVolume",
    "playpause": "XF86AudioPlay", "stop": "XF86AudioStop", "nexttrack": "XF86AudioNext", "prevtrack": "XF86AudioPrev",
    "browserback": "XF86Back", "browserforward": "XF86Forward", "browserrefresh": "XF86Refresh",
    "browserhome": "XF86HomePage", "browsersearch": "XF86Search", "browserfavorites": "XF86Favorites",
    **{f"f{n}": f"F{n}" for n in range(1, 25)},
    **{f"num{n}": f"KP_{n}" for n in range(10)},
}  # fmt: skip
"""Named keys; a single character is its own name. Names that only exist on other systems are left out."""

KEYBOARD_KEYS: list[str] = [chr(code) for code in range(0x20, 0x7F)] + list(KEYSYM_NAMES)
"""Every name that `pyautogui.press` and its relatives understand on an X display."""
