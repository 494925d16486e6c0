"""Languages and packages of the coding environment."""

import gymnasium as gym
import pytest
from coding_tasks import RIGHT, act, make_task

import rlanything_envs  # noqa: F401 - registers the environments
from rlanything_envs.coding.env import CodingEnv
from rlanything_task_pools.coding import read_payload
from rlanything_task_pools.task import TaskFormatError
from rlanything_verifiers.coding import JudgeError, SandboxUnsupported
from rlanything_verifiers.coding.sandbox import toolchain

CPP = "#include <iostream>\nint main() {\n    int a, b;\n    std::cin >> a >> b;\n    std::cout << a + b;\n}\n"
BOTH = ("python", "cpp")


@pytest.fixture
def _compiler():
    try:
        toolchain.toolchain()
    except SandboxUnsupported as error:
        pytest.skip(str(error))


def cpp(verb, code, stdin=None):
    return act(verb, code, stdin).replace("```python", "```cpp")


@pytest.mark.usefixtures("_compiler")
def test_a_submission_in_either_language_is_judged():
    with gym.make("RLAnything/Coding-v0", tasks=[make_task()], languages=BOTH) as env:
        observation, _ = env.reset(seed=0)
        assert "Write a program in Python 3 or C++20 that reads standard input" in observation
        assert "```python or ```cpp" in observation
        assert "8" in env.step(cpp("RUN", CPP, "3 5"))[0]
        observation, _, _, _, info = env.step(cpp("TEST", CPP))
        assert info["public_verdicts"] == ["AC", "AC"], observation
        observation, *_ = env.step(cpp("TEST", CPP.replace("a + b", "sum")))
        assert "does not compile (main.cpp: In function 'int main()':" in observation
        assert "'sum' was not declared in this scope" in observation
        _, reward, terminated, _, info = env.step(cpp("SUBMIT", CPP))
        assert (reward, terminated, info["outcome"]) == (1.0, True, 1)
        env.reset(seed=0)
        assert env.step(act("SUBMIT", RIGHT))[1] == 1.0


def test_by_default_a_program_in_another_language_is_not_run():
    with gym.make("RLAnything/Coding-v0", tasks=[make_task()]) as env:
        observation, _ = env.reset(seed=0)
        assert "C++" not in observation
        observation, reward, terminated, _, info = env.step(cpp("SUBMIT", CPP))
        assert (reward, terminated, info["command"]) == (0.0, False, "impossible")
        assert "C++" in observation


@pytest.mark.usefixtures("_compiler")
def test_a_task_may_name_its_languages():
    task = make_task(languages=["cpp"])
    with gym.make("RLAnything/Coding-v0", tasks=[task], max_turns=1) as env:
        observation, _ = env.reset(seed=0)
        assert "Write a C++20 program" in observation
        assert "```cpp\n#include <iostream>" in observation
        assert env.step(f"```\n{CPP}```")[1] == 1.0


def test_tasks_of_python_alone_keep_their_ids():
    payload = dict(make_task().payload)
    assert "languages" not in read_payload(payload).to_dict()
    assert read_payload({**payload, "languages": ["python"]}).to_dict() == read_payload(payload).to_dict()
    assert read_payload({**payload, "languages": ["cpp", "python"]}).to_dict()["languages"] == ("cpp", "python")
    for languages in ([], ["java"], ["cpp", "cpp"], "cpp"):
        with pytest.raises(TaskFormatError):
            read_payload({**payload, "languages": languages})
    with pytest.raises(TaskFormatError, match="a function is written in Python"):
        read_payload({**payload, "languages": ["cpp"], "entry_point": "f"})


def test_a_function_is_written_in_python_whatever_counts():
    tests = [{"stdin": "[1]", "stdout": "2"}]
    task = make_task("Write f.", hidden=tests, public=tests, entry_point="f")
    with gym.make("RLAnything/Coding-v0", tasks=[task], languages=BOTH) as env:
        assert "C++" not in env.reset(seed=0)[0]
        assert env.step(act("SUBMIT", "def f(x):\n    return x + 1"))[1] == 1.0


def test_wrong_arguments_are_named():
    with pytest.raises(JudgeError, match="expected one of 'python', 'cpp', got 'rust'"):
        CodingEnv(tasks=[make_task()], languages=["rust"])
    with pytest.raises(ValueError, match="languages is empty"):
        CodingEnv(tasks=[make_task()], languages=[])
    with pytest.raises(ValueError, match="list of names"):
        CodingEnv(tasks=[make_task()], packages="numpy")
    with pytest.raises(SandboxUnsupported, match="'no-such-package' is not installed"):
        CodingEnv(tasks=[make_task()], packages=["no-such-package"]).reset(seed=0)


def test_without_a_compiler_the_reset_names_the_package(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    toolchain.toolchain.cache_clear()
    try:
        with pytest.raises(SandboxUnsupported, match=r"install g\+\+"):
            CodingEnv(tasks=[make_task()], languages=["cpp"]).reset(seed=0)
    finally:
        toolchain.toolchain.cache_clear()


def test_packages_are_named_and_there():
    program = "import numpy\nprint(numpy.array(input().split(), dtype=int).sum())"
    with gym.make("RLAnything/Coding-v0", tasks=[make_task()], packages=["numpy"]) as env:
        assert "Python programs may import numpy." in env.reset(seed=0)[0]
        assert env.step(act("SUBMIT", program))[1] == 1.0
    with gym.make("RLAnything/Coding-v0", tasks=[make_task()]) as env:
        env.reset(seed=0)
        assert "No module named 'numpy'" in env.step(act("RUN", program, "1 2"))[0]
