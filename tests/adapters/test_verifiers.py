"""The adapter for Prime Intellect's verifiers, on the real package, in an environment of its own."""

import pytest
from isolated import Isolated


@pytest.mark.slow
def test_verifiers() -> None:
    Isolated("verifiers").run_tests("adapters/verifiers_checks.py", "adapters/verifiers_source_checks.py")


@pytest.mark.slow
def test_the_packages_in_examples() -> None:
    Isolated("verifiers").run_tests("adapters/hub_checks.py")


@pytest.mark.slow
def test_our_client_of_services_with_the_openai_package_that_verifiers_needs() -> None:
    """Version 2 here; the other tests of the client have version 3."""
    Isolated("verifiers").run_tests(
        "envs/llm/test_openai.py", "envs/llm/test_failures.py", "envs/llm/test_structured.py"
    )


@pytest.mark.slow
def test_verifiers_at_length() -> None:
    Isolated("verifiers").run_tests("adapters/verifiers_checks.py", marks="slow")
