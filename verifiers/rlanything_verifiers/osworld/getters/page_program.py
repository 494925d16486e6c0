"""A program for the guest: looks elements up in the page of an address and prints their texts as JSON.

Its one argument is JSON: the ports at which a browser may listen for a debugger, the address, and the queries. It runs
with Python's standard library alone, and in its own world in the page, whose scripts it does not meet.
"""

import base64
import json
import os
import socket
import struct
import sys
import urllib.parse
import urllib.request
from typing import Any

LOOK_UP = """
(queries => queries.map(([kind, place]) => {
  const trimmed = text => (text || "").trim();
  const all = (root, selector) => Array.from(root.querySelectorAll(selector));
  if (kind === "path" || kind === "input") {
    const found = document.evaluate(place, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE, null).singleNodeValue;
    return found ? [trimmed(kind === "path" ? found.textContent : found.value)] : [];
  }
  const elements = all(document, "." + place);
  if (kind === "text") return elements.map(e => trimmed(e.textContent));
  if (kind === "own") return elements.slice(0, 1).flatMap(e => Array.from(e.childNodes)
    .filter(n => n.nodeType === Node.TEXT_NODE).map(n => trimmed(n.textContent)).filter(Boolean));
  if (kind === "heading") return elements.flatMap(e => all(e, "h3").slice(0, 1)).map(e => trimmed(e.textContent));
  return all(document, "." + place + " li.catAllProducts").flatMap(e => all(e, "span").slice(0, 1))
    .map(e => trimmed(e.innerText));
}))(%s)
"""


class Debugger:
    """A connection to a page, by the WebSocket protocol (RFC 6455), as far as one message at a time needs it."""

    def __init__(self, address: str) -> None:
        parts = urllib.parse.urlsplit(address)
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=20)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {parts.path} HTTP/1.1", f"Host: {parts.netloc}", "Upgrade: websocket"]
        lines += ["Connection: Upgrade", "Sec-WebSocket-Key: " + key, "Sec-WebSocket-Version: 13", "", ""]
        self.socket.sendall("\r\n".join(lines).encode())
        self.stream = self.socket.makefile("rb")
        while self.stream.readline().strip():
            pass
        self.number = 0

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command and wait for its result."""
        self.number += 1
        data = json.dumps({"id": self.number, "method": method, "params": parameters}).encode()
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x81, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x81, 0xFE, size)
        else:
            head = struct.pack("!BBQ", 0x81, 0xFF, size)
        self.socket.sendall(head + bytes(4) + data)  # a mask of zeros changes nothing
        while True:
            message = json.loads(self.message())
            if message.get("id") == self.number:
                return message["result"]

    def message(self) -> bytes:
        """The next message, its frames joined."""
        data = b""
        while True:
            first, size = self.stream.read(2)
            size &= 0x7F
            if size > 125:
                (size,) = struct.unpack("!H" if size == 126 else "!Q", self.stream.read(2 if size == 126 else 8))
            part = self.stream.read(size)
            if first & 0x0F in (0, 1):
                data += part
                if first & 0x80:
                    return data


def pages(ports: list[int]) -> list[dict[str, Any]]:
    """The open pages at the first port where a browser listens."""
    for port in ports:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:  # nosec B310
                return [page for page in json.load(answer) if page.get("type") == "page"]
        except OSError:
            continue
    return []


def main() -> None:
    """Print the texts by query; null without such a page."""
    given = json.loads(sys.argv[1])
    found = None
    for page in pages(given["ports"]):
        if urllib.parse.unquote(page["url"]).rstrip("/") == given["url"]:
            debugger = Debugger(page["webSocketDebuggerUrl"])
            frame = debugger.call("Page.getFrameTree")["frameTree"]["frame"]["id"]
            world = debugger.call("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
            expression = LOOK_UP % json.dumps(given["queries"])
            done = debugger.call("Runtime.evaluate", expression=expression, contextId=world, returnByValue=True)
            found = done["result"].get("value")
            break
    print(json.dumps(found))


if __name__ == "__main__":
    main()
