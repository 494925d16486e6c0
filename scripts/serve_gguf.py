"""Serve a GGUF file as OpenAI's chat completions, by llama.cpp's own server.

    pip install xllamacpp
    python scripts/serve_gguf.py qwen2.5-coder-1.5b        # or the path of a file
    rlanything benchmark --panel alfworld-easy --agent openai:qwen2.5-coder-1.5b --base-url http://127.0.0.1:8080/v1

On a processor it is faster than `hf:qwen2.5-coder-1.5b`, which makes floating-point weights of those of four bits.
"""

import argparse
import contextlib
import os
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import xllamacpp

from rlanything_agents.models.checkpoint import PACKAGED, gguf_file


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help=f"a GGUF file, or {', '.join(PACKAGED)}")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--parallel", type=int, default=8, help="chats at a time")
    parser.add_argument("--context", type=int, default=8192, help="tokens of each chat")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads; fewer on a busy machine")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with contextlib.suppress(SystemExit, KeyboardInterrupt), TemporaryDirectory() as scratch:
        params = xllamacpp.CommonParams()
        file = gguf_file(options.model, Path(scratch)) if options.model in PACKAGED else Path(options.model)
        params.model.path, params.model_alias = str(file), {options.model}
        params.hostnames, params.port = ["127.0.0.1"], options.port
        params.n_parallel, params.n_ctx = options.parallel, options.parallel * options.context
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
        server = xllamacpp.Server(params)
        print(f"{options.model} at {server.listening_address}/v1", flush=True)
        signal.pause()
    os._exit(0)  # the server's own end waits for the answers it is writing


if __name__ == "__main__":
    main()
