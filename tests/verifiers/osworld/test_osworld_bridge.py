"""The bridge, against a small package of the same shape in an interpreter of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
from osworld_desk import Desk, Web

from rlanything_verifiers.osworld import Bridge, EvaluatorError, VerifierError, check_evaluator, evaluate

METRICS = """
import math
from pathlib import Path

def compare_noises(one, other, *, loud=False):
    print("noise on the output")
    if one is None:
        return 0
    same = Path(one).read_bytes() == Path(other).read_bytes()
    return 0.5 if loud and same else same

def beside(one, rules):
    return sorted(path.name for path in Path(one).parent.iterdir()) == rules["names"]

def breaks(one):
    raise KeyError("broken")

def hangs(one):
    import time
    time.sleep(60)

def needs(one):
    import a_library_that_is_not_there

def _hidden(one):
    return 1
"""


def interpreter(folder: Path, files: dict[str, str]) -> str:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    for name, text in files.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(text)
    return str(folder / "bin" / "python")


INIT = "desktop_env/evaluators/metrics/__init__.py"
SOUND = "desktop_env/evaluators/metrics/sound.py"
EMPTY = {"desktop_env/__init__.py": "", "desktop_env/evaluators/__init__.py": ""}


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> str:
    files = EMPTY | {INIT: "from .sound import *\nfrom .sound import breaks", SOUND: METRICS}
    return interpreter(tmp_path_factory.mktemp("whole"), files)


@pytest.fixture(scope="module")
def bridge(python) -> Bridge:
    return Bridge(python)


RESULT = {"type": "vm_file", "path": "/a/one.mp3", "dest": "one.mp3"}
GOLD = {"type": "cloud_file", "path": "u", "dest": "gold.mp3"}


def score(bridge, func="compare_noises", files=None, **more):
    evaluator = {"func": func, "result": RESULT, **more}
    check_evaluator(evaluator, foreign=bridge)
    desk = Desk({"/a/one.mp3": b"sound"} if files is None else files)
    return evaluate(evaluator, desk, last_action="DONE", files=Web(u=b"sound"), foreign=bridge)


def test_functions_that_are_not_built_in(bridge):
    with pytest.raises(EvaluatorError, match="Bridge"):
        check_evaluator({"func": "compare_noises", "result": RESULT, "expected": GOLD})
    assert score(bridge, expected=GOLD) == 1
    assert score(bridge, expected=GOLD, files={"/a/one.mp3": b"noise"}) == 0
    assert score(bridge, expected=GOLD, options={"loud": True}) == 0.5
    assert score(bridge, expected=GOLD, files={}) == 0, "the function is asked what a missing file means"
    assert bridge.names == {"compare_noises", "beside", "breaks", "hangs", "needs"}


def test_files_fetched_together_lie_together(bridge):
    several = {"type": "vm_file", "path": ["/x", "/y"], "dest": ["x.py", "../y.py"], "multi": True}
    rules = {"type": "rule", "rules": {"names": ["x.py", "y.py"]}}
    assert score(bridge, "beside", {"/x": b"", "/y": b""}, result=several, expected=rules) == 1


def test_beside_functions_that_are_built_in(bridge):
    evaluator = {"func": ["compare_noises", "exact_match"], "result": [RESULT, {"type": "rule", "rules": 3}]}
    evaluator["expected"] = [GOLD, {"type": "rule", "rules": {"expected": 3}}]
    desk = Desk({"/a/one.mp3": b"sound"})
    assert evaluate(evaluator, desk, last_action="DONE", files=Web(u=b"sound"), foreign=bridge) == 1


def test_unknown_there_too(bridge):
    with pytest.raises(EvaluatorError):
        check_evaluator({"func": "_hidden", "result": RESULT}, foreign=bridge)
    with pytest.raises(EvaluatorError, match=r"evaluator\.result"):
        check_evaluator({"func": "breaks", "result": "x"}, foreign=bridge)


def test_what_goes_wrong_with_a_file_scores_nothing(bridge, python):
    assert score(bridge, "breaks") == 0
    assert score(Bridge(python, timeout=5), "hangs") == 0


def test_what_goes_wrong_with_the_interpreter_is_no_score(bridge, tmp_path):
    with pytest.raises(VerifierError, match="a_library_that_is_not_there"):
        score(bridge, "needs")
    with pytest.raises(VerifierError, match="cannot be started"):
        score(Bridge(tmp_path / "python"))
    with pytest.raises(VerifierError, match="pip install --no-deps desktop-env"):
        score(Bridge(interpreter(tmp_path / "bare", {})))
    with pytest.raises(VerifierError, match="no answer"):
        score(Bridge("/bin/true"))


def test_parts_that_can_be_loaded_without_the_rest(tmp_path):
    files = EMPTY | {INIT: "from .heavy import *", SOUND: METRICS}
    files["desktop_env/evaluators/metrics/heavy.py"] = "import a_library_that_is_not_there"
    files["desktop_env/__init__.py"] = "import another_library_that_is_not_there"
    assert "compare_noises" in Bridge(interpreter(tmp_path / "lite", files)).names
