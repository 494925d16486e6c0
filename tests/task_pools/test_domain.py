"""Domains are found by name, and light to find."""

import subprocess
import sys

import pytest

from rlanything_task_pools import Domain, domain_names, get_domain
from rlanything_task_pools.alfworld import DOMAIN
from rlanything_task_pools.errors import UnknownName


def test_alfworld_is_installed() -> None:
    assert "alfworld" in domain_names()
    assert get_domain("alfworld") is DOMAIN
    assert isinstance(DOMAIN, Domain)
    assert (DOMAIN.name, DOMAIN.env_id) == ("alfworld", "RLAnything/AlfWorld-v0")


def test_unknown_domain_lists_what_there_is() -> None:
    with pytest.raises(UnknownName, match=r"no domain named 'chess'.*alfworld"):
        get_domain("chess")


def test_generating_imports_nothing_heavy() -> None:
    code = """
import sys
from rlanything_task_pools import get_domain
get_domain("alfworld").generate(0)
heavy = {"torch", "transformers", "trl", "textworld", "alfworld", "pandas", "gymnasium"} & set(sys.modules)
sys.exit(f"imported {heavy}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
