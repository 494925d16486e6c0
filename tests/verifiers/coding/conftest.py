"""A sandbox at each tier that contains programs."""

from collections.abc import Iterator

import pytest

from rlanything_verifiers.coding.sandbox import Sandbox, available_tiers


@pytest.fixture(scope="module", params=["full", "landlock"])
def tier(request: pytest.FixtureRequest) -> str:
    if reason := available_tiers()[request.param]:
        pytest.skip(f"tier {request.param!r} does not work here: {reason}")
    return str(request.param)


@pytest.fixture(scope="module")
def box(tier: str) -> Iterator[Sandbox]:
    with Sandbox(1, tier=tier) as sandbox:
        yield sandbox
