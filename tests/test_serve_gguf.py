"""``scripts/serve_gguf.py`` beside a stand-in of llama.cpp, whose server ends after the answers that it is writing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

STAND_IN = """
import time
from types import SimpleNamespace as Part


def CommonParams():
    return Part(model=Part(), cpuparams=Part(), cpuparams_batch=Part())


class Server:
    listening_address = "http://127.0.0.1:0"

    def __init__(self, params):
        pass

    def __del__(self):
        time.sleep(60)
"""


def test_it_ends_at_once(tmp_path: Path) -> None:
    (tmp_path / "xllamacpp.py").write_text(STAND_IN)
    (scratch := tmp_path / "scratch").mkdir()
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(Path(__file__).parents[1] / "scripts" / "serve_gguf.py"), "a.gguf"]
    env = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(scratch)}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "a.gguf at http://127.0.0.1:0/v1\n"
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=20) == 0
    assert list(scratch.iterdir()) == []
