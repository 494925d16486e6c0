"""The accessibility tree of the simulated desktop as XML, in the guest's form."""

from __future__ import annotations

import re

from rlanything_envs.osworld.desktop.simulator.nodes import Node

__all__ = ["NAMESPACE", "PREFIXES", "tree_xml"]

NAMESPACE = "https://accessibility.ubuntu.example.org/ns/"
PREFIXES = {"st": "state", "attr": "attributes", "cp": "component", "doc": "document"} | {
    "docattr": "document/attributes",
    "txt": "text",
    "val": "value",
    "act": "action",
}
"""Those of `guest/tree.py`, which cannot be imported without the libraries of a real desktop."""

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPECIAL = re.compile('[&<>"\n\r\t]')
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
_SPACES = " ".join(f'xmlns:{prefix}="{NAMESPACE}{name}"' for prefix, name in PREFIXES.items())
_STATES: dict[tuple[str, ...], str] = {}
"""The attributes of each set of states that was written before; there are a few dozen."""


def tree_xml(root: Node) -> str:
    """The XML of all applications; ``root`` is the node of the desktop."""
    parts = [f'<desktop-frame {_SPACES} name="main">']
    for child in root.children:
        _write(child, parts)
    parts.append("</desktop-frame>")
    return "".join(parts)


def _write(node: Node, parts: list[str]) -> None:
    if not node.role:
        for child in node.children:
            _write(child, parts)
        return
    parts.append(_head(node) + _content(node.text))
    for child in node.children:
        _write(child, parts)
    parts.append(f"</{node.role}>")


def _head(node: Node) -> str:
    """The start of a node's element."""
    states = _STATES.get(node.states)
    if states is None:
        states = _STATES[node.states] = "".join(f' st:{state}="true"' for state in node.states)
    place = ""
    if node.box is not None:
        x, y, width, height = node.box
        place = f' cp:screencoord="({x}, {y})" cp:size="({width}, {height})"'
    actions = "".join(f' act:{action}_desc=""' for action in node.actions)
    return f'<{node.role} name="{_quoted(node.name)}"{states}{place}{actions}>'


def _quoted(text: str) -> str:
    return _SPECIAL.sub(lambda found: _ENTITIES[found[0]], _ILLEGAL.sub("", text))


def _content(text: str) -> str:
    text = _ILLEGAL.sub("", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
