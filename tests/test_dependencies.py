"""Our extras resolve together with the packages they are used with, on every Python that we name, by uv's resolver."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

pytestmark = pytest.mark.slow  # each asks a package index for hundreds of packages

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]
OFFLINE = ("Could not connect", "error sending request", "dns error", "Network connectivity is disabled")
"""What uv says where it reaches no index."""

PEERS = {
    "verifiers": ("llm", "verifiers>=0.4,<0.5", {"verifiers": ">=0.4,<0.5", "openai": "<3"}),
    "trl": ("train", "trl", {"trl": ">=1.11,<1.17"}),
    "vllm": ("train,vllm", "vllm", {"vllm": ">=0.32,<0.33"}),
    "skyrl-gym": ("train,llm", "skyrl-gym", {"skyrl-gym": ">=0.4"}),
    "openenv": ("train,llm", "openenv>=0.10", {"openenv": ">=0.10"}),
    "inspect-ai": ("train,llm", "inspect-ai", {"inspect-ai": ">=0.3.280"}),
    "stable-baselines3": ("train", "stable-baselines3", {"stable-baselines3": ">=2.9"}),
}
"""Extras, the package beside them, and the versions that the two have to come to; our documents name these series."""


class Unresolvable(Exception):
    """No versions of all packages fit together."""


def resolve(folder: Path, extras: str, *beside: str, python: str = "3.12") -> dict[str, Version]:
    """Versions that uv finds for the package from this checkout, with its extras, and other requirements."""
    uv = pytest.importorskip("uv", reason="the resolver is uv's").find_uv_bin()
    wanted = folder / "requirements.in"
    wanted.write_text("\n".join([f"rlanything-envs[{extras}] @ {ROOT.as_uri()}", *beside]))
    command = [uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python-version", python]
    done = subprocess.run([*command, str(wanted)], capture_output=True, text=True, cwd=folder, check=False, timeout=600)
    if done.returncode:
        if any(sign in done.stderr for sign in OFFLINE):
            pytest.skip("no package index is in reach")
        raise Unresolvable(done.stderr)
    return {name: Version(version) for name, version in re.findall(r"(?m)^([\w.-]+)==(\S+)", done.stdout)}


@pytest.mark.parametrize("peer", PEERS)
def test_extras_resolve_with_a_peer(peer: str, tmp_path: Path) -> None:
    extras, beside, expected = PEERS[peer]
    found = resolve(tmp_path, extras, beside)
    for name, series in expected.items():
        assert found[name] in SpecifierSet(series), f"{name} {found[name]}"


@pytest.mark.parametrize("python", PYTHONS)
def test_the_core_and_training_resolve_on_each_python(python: str, tmp_path: Path) -> None:
    found = resolve(tmp_path, "train,llm,export,mcp", python=python)
    assert found["gymnasium"] in SpecifierSet(">=1.4,<2")
    assert "torch" in found


@pytest.mark.parametrize(
    ("extras", "beside", "names"), [("llm", "openai<2", "openai"), ("mcp", "openenv>=0.10", "mcp")]
)
def test_what_does_not_fit_is_found(extras: str, beside: str, names: str, tmp_path: Path) -> None:
    """openenv 0.10 needs the MCP SDK below 2: docs/install.md says so, for as long as this passes."""
    with pytest.raises(Unresolvable, match=names):
        resolve(tmp_path, extras, beside)
