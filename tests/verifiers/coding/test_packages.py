"""Third-party packages in the sandbox: exactly those that were asked for, and read-only."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlanything_verifiers.coding import SandboxUnsupported, judge, run_program
from rlanything_verifiers.coding.sandbox import Limits, Run, Sandbox
from rlanything_verifiers.coding.sandbox.packages import show

if sys.platform != "linux":
    pytest.skip("worker processes need Linux", allow_module_level=True)


@pytest.fixture(scope="module")
def box(tier: str) -> Iterator[Sandbox]:
    with Sandbox(1, tier=tier, packages=["numpy"]) as sandbox:
        yield sandbox


def outcome(sandbox: Sandbox, text: str, data: bytes = b"") -> Run:
    return sandbox.run(text, [data], Limits(cpu=3.0, wall=60.0))[0]


def test_numpy_works(box: Sandbox) -> None:
    program = """
import numpy as np
n = int(input())
a = np.arange(n * n, dtype=float).reshape(n, n)
print(int((a @ a).trace()), np.linalg.matrix_rank(a), abs(np.fft.fft([1, 2, 3])).sum().round(3))
"""
    runs = box.run(program, [b"3", b"200"])
    assert [run.status for run in runs] == ["OK", "OK"], runs
    assert runs[0].stdout == b"180 2 9.464\n"


def test_a_function_may_use_it(box: Sandbox) -> None:
    program = "import numpy as np\n\ndef middle(values):\n    return float(np.median(np.array(values)))\n"
    tests = [("[[3, 1, 2]]", "2.0"), ("[[4, 1, 2, 3]]", "2.5")]
    assert judge(program, tests, entry_point="middle", sandbox=box).passed


def test_nothing_else_of_the_environment_is_there(box: Sandbox) -> None:
    program = """
import os, sys
for name in ("pydantic", "gymnasium", "pytest", "rlanything_verifiers", "pip", "packaging"):
    try:
        __import__(name)
        print("ESCAPED", name)
    except ImportError:
        pass
import numpy
site = os.path.dirname(os.path.realpath(numpy.__file__ + "/.."))
for path in (os.path.join(site, "pydantic", "__init__.py"), os.path.join(site, "secret.py")):
    try:
        print("ESCAPED", open(path))
    except OSError:
        pass
for folder in (site, os.path.dirname(numpy.__file__), sys.path[-1]):
    try:
        print("ESCAPED", open(folder + "/escaped", "w"))
    except OSError:
        pass
print(sorted({name.split("-")[0].split(".")[0] for name in os.listdir(sys.path[-1])}))
"""
    assert outcome(box, program).stdout == b"['numpy']\n"


def test_it_has_one_thread_and_the_same_chances_each_time(box: Sandbox) -> None:
    program = "import numpy as np, os\nnp.dot(np.ones((300, 300)), np.ones((300, 300)))\nprint(np.random.rand())"
    first, second = (outcome(box, program) for _ in range(2))
    assert first.status == "OK", first
    assert first.stdout == second.stdout


def test_a_large_array_is_over_the_limit_of_memory(box: Sandbox) -> None:
    assert outcome(box, "import numpy as np\nnp.ones(1 << 30)").status == "MLE"


def test_a_program_cannot_leave_anything_in_a_package(box: Sandbox) -> None:
    assert outcome(box, "import numpy\nnumpy.add = None\nnumpy.left = 1").status == "OK"
    assert outcome(box, "import numpy\nprint(numpy.add(1, 2), hasattr(numpy, 'left'))").stdout == b"3 False\n"


def test_without_the_package_it_is_not_there_and_runs_are_not_mixed_up(box: Sandbox) -> None:
    program = "import numpy\nprint(numpy.add(1, 2))"
    assert run_program(program, sandbox=box).stdout == b"3\n"
    with Sandbox(1, tier="full" if box.tier == "full" else "landlock") as plain:
        found = run_program(program, sandbox=plain)
        assert (found.status, "No module named 'numpy'" in found.detail) == ("RE", True)
        assert judge(program, [("", "3")], sandbox=plain).verdicts == ("RE",)
    assert judge(program, [("", "3")], sandbox=box).passed


def test_an_unknown_package_is_named() -> None:
    with pytest.raises(SandboxUnsupported, match="package 'no-such-package' is not installed in"):
        Sandbox(1, packages=["numpy", "no-such-package"])
    with pytest.raises(SandboxUnsupported, match="environment '/nowhere' is not a directory"):
        Sandbox(1, packages=["numpy"], environment="/nowhere")
    with pytest.raises(ValueError, match="packages is the text 'numpy'"):
        Sandbox(1, packages="numpy")


def install(site: Path, name: str, files: dict[str, str], requires: tuple[str, ...] = ()) -> None:
    """A pure-Python distribution, as an installer leaves it."""
    record = site / f"{name}-1.0.dist-info"
    record.mkdir(parents=True)
    needs = "".join(f"Requires-Dist: {need}\n" for need in requires)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}\n")
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    (record / "RECORD").write_text("".join(f"{path},,\n" for path in (*files, f"{record.name}/METADATA")))


def test_a_named_environment_with_what_a_package_needs(tmp_path: Path) -> None:
    site = tmp_path / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    needs = ("Base_Lib>=1", "left-out; python_version < '3'", "bonus; extra == 'all'")
    install(site, "top_lib", {"top.py": "import base.deep\nvalue = base.deep.value + 1"}, needs)
    install(site, "base_lib", {"base/__init__.py": "", "base/deep.py": "value = 41"})
    install(site, "bonus", {"bonus.py": ""})
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755)
    with Sandbox(1, packages=["Top.Lib"], environment=str(tmp_path)) as sandbox:
        assert outcome(sandbox, "import top, base\nprint(top.value)").stdout == b"42\n"
        assert outcome(sandbox, "import bonus").status == "RE"
        version = outcome(sandbox, "import importlib.metadata as m\nprint(m.version('top_lib'))")
        assert version.stdout == b"1.0\n", version
    install(site, "needy", {"needy.py": ""}, ("missing-lib",))
    with pytest.raises(SandboxUnsupported, match="package 'missing-lib', which needy needs, is not installed"):
        show(["needy"], str(tmp_path))
    install(site, "shares", {"common/shares.py": ""})
    install(site, "other", {"common/other.py": ""})
    with pytest.raises(SandboxUnsupported, match="shares its folder 'common' with 'other'"):
        show(["shares"], str(tmp_path))
    assert show(["shares", "other"], str(tmp_path)).modules == ["common"]
    install(site, "editable", {"__editable__.pth": "/somewhere"})
    with pytest.raises(SandboxUnsupported, match="editable installation"):
        show(["editable"], str(tmp_path))
    (site.parent.parent / "python3.1" / "site-packages").mkdir(parents=True)
    site.parent.rename(site.parent.parent / "python3.2")
    with pytest.raises(SandboxUnsupported, match="is of another Python"):
        show(["top_lib"], str(tmp_path))
