"""The hostile programs in ``attacks/``, and how to run one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rlanything_verifiers.coding.sandbox import Limits, Run, Sandbox

#: Name to text. The first line names the statuses it may end with; ``control: escapes`` says that the same program does
#: get through without protection, so that its failure elsewhere means something.
ATTACKS = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "attacks").glob("*.py"))}
CONTROLS = [name for name, text in ATTACKS.items() if "# control: escapes" in text]
#: Attacks which end by passing a limit get less of it. Clocks are generous where they are not the point.
LIMITS = {"TLE": Limits(cpu=0.2, wall=60.0), "TLE_WALL": Limits(cpu=0.5, wall=0.7)}
PATIENT = Limits(cpu=3.0, wall=60.0)
NORMAL = "print(sum(map(int, input().split())))"


def expected(name: str) -> list[str]:
    """Statuses an attack may end with."""
    return ATTACKS[name].split("\n", 1)[0].removeprefix("# expect: ").split()


def assert_contained(sandbox: Sandbox, name: str, told: str) -> None:
    """Run an attack, tell it ``told`` on standard input, and see that it got nothing and the sandbox works on."""
    attack = patient(run, sandbox, ATTACKS[name], told.encode(), LIMITS.get(expected(name)[0], PATIENT))
    assert b"ESCAPED" not in attack.stdout, attack.stdout.decode()
    assert attack.status in expected(name), attack
    if "done" in ATTACKS[name] and expected(name) == ["OK"]:
        assert attack.stdout in (b"done\n", b"done True\n"), attack
    assert len(attack.stdout) <= 1 << 20
    assert len(attack.stderr) <= 8192
    assert attack.cpu < 4.0
    assert_alive(sandbox)


def assert_alive(sandbox: Sandbox) -> None:
    """A normal program passes."""
    (run,) = sandbox.run(NORMAL, [b"1 2 3"])
    assert (run.status, run.stdout) == ("OK", b"6\n"), run


def run(sandbox: Sandbox, program: str | bytes, data: bytes = b"", limits: Limits = Limits()) -> Run:  # noqa: B008
    """One program on one input."""
    (found,) = sandbox.run(program, [data], limits)
    return found


def patient(runs: Callable[..., Run], *how: Any) -> Run:
    """A run: others may overload a machine for a moment, and a program that could would do so all three times."""
    return next((found for _ in range(2) if "overloaded" not in (found := runs(*how)).detail), None) or runs(*how)
