"""The table of environments, and what importing the package costs."""

import json
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec

import rlanything_envs
from rlanything_envs.registration import REGISTRATIONS, register_all

HEAVY = ("torch", "transformers", "trl", "textworld", "alfworld", "rich", "matplotlib", "pandas", "openai", "docker")


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_import_is_light_and_fast():
    code = (
        "import json, sys; from time import process_time as now; t = [now()]; import gymnasium; t.append(now()); "
        "import rlanything_envs; t.append(now()); "
        f"print(json.dumps([t[2] - t[1] < t[1] - t[0], [m for m in {HEAVY!r} if m in sys.modules]]))"
    )
    assert [True, []] in [python(code) for _ in range(2)]  # some 30 times as fast as Gymnasium, once it is compiled


TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("row", REGISTRATIONS, ids=lambda row: row.id)
def test_making_an_environment_stays_light(row):
    stand_in = f"import sys; sys.path.append({str(TESTS)!r}); from scripted_desktop import SCRIPTED as arguments; "
    code = (
        f"{stand_in if 'OSWorld' in row.id else 'arguments = {}; '}"
        f"import json, sys, gymnasium as gym; env = gym.make('rlanything_envs:{row.id}', **arguments); "
        f"env.reset(seed=0); print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    )
    assert python(code) == []


@pytest.mark.parametrize("row", REGISTRATIONS, ids=lambda row: row.id)
def test_every_row_is_registered_with_a_json_spec(row):
    spec = gym.spec(row.id)
    assert spec.max_episode_steps == row.max_episode_steps
    assert isinstance(spec.entry_point, str)
    assert isinstance(spec.vector_entry_point, str)
    assert not spec.nondeterministic
    assert EnvSpec.from_json(spec.to_json()) == spec
    assert row.id.startswith("RLAnything/")


def test_the_table_is_unique_and_can_be_registered_again(recwarn):
    assert len({row.id for row in REGISTRATIONS}) == len(REGISTRATIONS)
    register_all()
    assert [str(found.message) for found in recwarn if found.category is not ResourceWarning] == []


def test_public_names_resolve():
    for name in rlanything_envs.__all__:
        assert getattr(rlanything_envs, name) is not None
    with pytest.raises(AttributeError, match="Nothing"):
        rlanything_envs.Nothing  # noqa: B018
