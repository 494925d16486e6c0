"""A few words to use a simulated desktop with."""

from dataclasses import dataclass
from xml.etree import ElementTree

from rlanything_envs.osworld.desktop import GuestOutput
from rlanything_envs.osworld.desktop.simulator.client import SimulatorClient

COMPONENT = "{https://accessibility.ubuntu.example.org/ns/component}"
STATE = "{https://accessibility.ubuntu.example.org/ns/state}"


@dataclass(frozen=True)
class Hands:
    """A client with shorter words."""

    client: SimulatorClient

    def do(self, *lines: str) -> GuestOutput:
        """Run code that must succeed."""
        done = GuestOutput("", "", 0)
        for line in lines:
            done = self.client.act(line)
            assert (done.returncode, done.error) == (0, ""), (line, done)
        return done

    def type(self, text: str) -> None:
        self.do(f"pyautogui.write({text!r})")

    def keys(self, *combos: str) -> None:
        for combo in combos:
            self.do(f"pyautogui.hotkey({', '.join(repr(key) for key in combo.split('+'))})")

    def click(self, name: str, role: str | None = None, call: str = "click") -> None:
        """Click in the middle of an element of the tree."""
        x, y = self.middle(name, role)
        self.do(f"pyautogui.{call}({x}, {y})")

    def middle(self, name: str, role: str | None = None) -> tuple[int, int]:
        x, y, width, height = box_of(self.element(name, role))
        return x + width // 2, y + height // 2

    def element(self, name: str, role: str | None = None) -> ElementTree.Element:
        found = [node for node in self.elements(role) if node.get("name") == name and node.get(f"{COMPONENT}size")]
        assert found, (name, role, [node.get("name") for node in self.elements(role)])
        return found[-1]

    def elements(self, role: str | None = None) -> list[ElementTree.Element]:
        root = ElementTree.fromstring(self.client.accessibility_tree())
        return [node for node in root.iter() if role in (None, node.tag)]

    def titles(self) -> list[str]:
        return [node.get("name", "") for node in self.elements() if node.tag in ("frame", "dialog", "alert")]

    def focused(self) -> ElementTree.Element:
        found = [node for node in self.elements() if node.get(f"{STATE}focused") == "true"]
        assert len(found) >= 1
        return found[-1]

    def read(self, path: str) -> str:
        data = self.client.read_file(path)
        assert data is not None, path
        return data.decode()


def box_of(node: ElementTree.Element) -> tuple[int, int, int, int]:
    places = [node.get(f"{COMPONENT}screencoord", ""), node.get(f"{COMPONENT}size", "")]
    x, y, width, height = (int(number) for place in places for number in place.strip("()").split(","))
    return x, y, width, height
