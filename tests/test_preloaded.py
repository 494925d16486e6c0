"""A preloaded process is what a fresh interpreter would be, but for the time that imports take."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from preloaded import Preloaded
from waiting import until

SHOW = """
import json, os, sys
leads = os.getsid(0) == os.getpid()
print(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ), __name__, sys.stdin.read(), leads]))
print("to standard error", file=sys.stderr)
sys.exit(int(sys.argv[2]))
"""
# A file that is closed by its finalizer loses an interrupt, and one that comes just before a sleep is seen after it.
WAIT = """import time
open("there", "w").close()
for _ in range(6000):
    time.sleep(0.01)
"""


@pytest.mark.parametrize("way", ["-c", "-m", "file"])
@pytest.mark.parametrize("code", ["0", "3"])
def test_it_is_as_a_fresh_interpreter(preloaded: Preloaded, tmp_path: Path, way: str, code: str) -> None:
    (tmp_path / "show_all.py").write_text(SHOW)
    words = {"-c": ["-c", SHOW], "-m": ["-m", "show_all"], "file": [str(tmp_path / "show_all.py")]}[way]
    words += ["a word", code]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), "LC_ALL": "C.UTF-8"}
    fresh = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        start_new_session=True, check=False,
    )  # fmt: skip
    mine = preloaded.run(*words, cwd=tmp_path, env=env)
    assert json.loads(mine.stdout) == json.loads(fresh.stdout)
    assert (mine.stderr, mine.returncode) == (fresh.stderr, fresh.returncode) == ("to standard error\n", int(code))


def test_an_error_ends_it_with_a_traceback(preloaded: Preloaded) -> None:
    done = preloaded.run("-c", "import atexit; atexit.register(print, 'the end'); 1 / 0")
    assert done.returncode == 1
    assert done.stdout == "the end\n"
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_what_is_imported_is_the_training_stack(preloaded: Preloaded) -> None:
    code = "import sys; print('trl.trainer.grpo_trainer' in sys.modules, sys.modules['torch'].get_num_threads())"
    assert preloaded.run("-c", code, env={**os.environ, "OMP_NUM_THREADS": "3"}).stdout == "True 3\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_signals_reach_the_process_itself(preloaded: Preloaded, tmp_path: Path, number: int) -> None:
    started = preloaded.start("-c", WAIT, cwd=tmp_path)
    until(lambda: (tmp_path / "there").exists(), 30)
    assert started.poll() is None
    os.kill(started.pid, number)
    assert started.wait(30) == -number or number == signal.SIGINT
    assert started.poll() == started.returncode
    assert not Path(f"/proc/{started.pid}").exists()


def test_it_ends_with_whoever_started_it(preloaded: Preloaded) -> None:
    started = preloaded.start("-c", "import time; time.sleep(60)")
    pid = started.pid
    del started
    until(lambda: not Path(f"/proc/{pid}").exists(), 30)


def test_a_program_for_shells(preloaded: Preloaded, tmp_path: Path) -> None:
    program = preloaded.command(tmp_path / "program", "-c", "import sys; print(input() + sys.argv[1]); sys.exit(5)")
    done = subprocess.run([program, " b"], input="a\n", capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("a b\n", "", 5)
    sleeper = preloaded.command(tmp_path / "sleeper", "-c", WAIT)
    sleeping = subprocess.Popen([sleeper], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    until(lambda: (tmp_path / "there").exists(), 30)
    sleeping.send_signal(signal.SIGINT)
    assert sleeping.communicate(timeout=30)[1].endswith("KeyboardInterrupt\n")
    assert sleeping.returncode == -signal.SIGINT
