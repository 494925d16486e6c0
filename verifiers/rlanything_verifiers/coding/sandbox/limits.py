"""Resource limits of one test."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Resources of one test.

    Attributes:
        cpu: Processor time in seconds, of all threads together. Waiting for a core does not count.
        wall: Wall time in seconds, a backstop against programs that sleep; None for ``5 * cpu + 2``. Waiting for a core
            does not count here either, up to ten times this limit: as far as the kernel says that the program waited
            and its own threads cannot have caused it, and never more than the time in which none of them ran. After
            ten times the limit the status is TLE_WALL, and IE only if the machine is overloaded: if a thread of the
            judge, which no program reaches, could not have had the program's processor time either.
        memory: Address space in bytes, interpreter and stacks included.
        output: Largest standard output, and largest standard error, in bytes.
        source: Largest program text in bytes.

    Raises:
        ValueError: A value is out of range.
    """

    cpu: float = 4.0
    wall: float | None = None
    memory: int = 512 * MIB
    output: int = MIB
    source: int = MIB

    def __post_init__(self) -> None:
        _check("cpu", self.cpu, 0.01, 3600.0, "seconds")
        if self.wall is not None:
            _check("wall", self.wall, 0.01, 6 * 3600.0, "seconds")
        _check("memory", self.memory, 32 * MIB, 1 << 40, "bytes")
        _check("output", self.output, 0, 1 << 30, "bytes")
        _check("source", self.source, 0, 64 * MIB, "bytes")

    @property
    def deadline(self) -> float:
        """Wall time in seconds after which a test is ended."""
        return 5.0 * self.cpu + 2.0 if self.wall is None else float(self.wall)

    @property
    def patience(self) -> float:
        """Wall time in seconds after which a test is ended even if it waits for a core."""
        return 10.0 * self.deadline


def _check(name: str, value: float, low: float, high: float, unit: str) -> None:
    kind = (int, float) if unit == "seconds" else (int,)
    if isinstance(value, bool) or not isinstance(value, kind):
        raise ValueError(f"limit {name!r} is {value!r:.40}; expected a number of {unit}")
    if not low <= value <= high:  # NaN is not
        raise ValueError(f"limit {name!r} is {value!r} {unit}; expected {low:g} to {high:g}")
