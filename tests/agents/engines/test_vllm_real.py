"""The real vLLM on a processor, in an environment of its own: interface, engine, server, whole runs and an endpoint."""

import pytest
from isolated import Isolated

FILES = (
    "vllm_interface_checks.py",
    "vllm_engine_checks.py",
    "vllm_form_checks.py",
    "vllm_image_checks.py",
    "vllm_server_checks.py",
    "vllm_run_checks.py",
    "vllm_endpoint_checks.py",
)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_vllm(file: str) -> None:
    Isolated("vllm").run_tests(f"agents/engines/{file}", marks="")
