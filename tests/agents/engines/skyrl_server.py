"""SkyRL's server for the protocol of Tinker, on a processor: ``python skyrl_server.py MODEL PORT FOLDER``.

Its own command starts the engine by ``uv run``; here this interpreter does. On Python 3.11 pydantic reads no TypedDict
but that of typing_extensions (SkyRL asks for 3.12).
"""

import os
import sys
import typing

import typing_extensions

typing.TypedDict = typing_extensions.TypedDict  # type: ignore[misc,assignment]
os.environ |= {"JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"}

import skyrl.tinker.api as api  # noqa: E402
import uvicorn  # noqa: E402
from skyrl.tinker.config import EngineConfig, config_to_argv  # noqa: E402

ENGINE = (
    "import runpy, typing, typing_extensions; typing.TypedDict = typing_extensions.TypedDict; "
    "runpy.run_module('skyrl.tinker.engine', run_name='__main__')"
)


def main(model: str, port: str, folder: str) -> None:
    api._build_uv_run_cmd_engine = lambda _, config: [sys.executable, "-c", ENGINE, *config_to_argv(config)]
    api.app.state.engine_config = EngineConfig(
        base_model=model,
        backend="jax",
        backend_config={
            "max_lora_adapters": 16,
            "max_lora_rank": 8,
            "train_micro_batch_size": 4,
            "sample_max_num_sequences": 8,
        },
        checkpoints_base=f"{folder}/checkpoints",
        database_url=f"sqlite:///{folder}/tinker.db",
    )
    uvicorn.run(api.app, host="127.0.0.1", port=int(port), access_log=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
