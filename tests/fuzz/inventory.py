"""Where the code of the packages takes content apart, and what tests it there.

A module that calls one of `PRIMITIVES` stands in `READERS` with the targets that go through it, in `TESTED` with the
tests that do, or in `OWN` with the reason why nobody else wrote what it reads. `test_inventory.py` compares this with
the code.
"""

from __future__ import annotations

__all__ = ["OWN", "PRIMITIVES", "PRIMITIVE_ENDINGS", "READERS", "TESTED"]

PRIMITIVES = frozenset(
    {
        *("json.loads", "json.load", "yaml.safe_load", "yaml.parse", "read_yaml", "ast.parse", "ast.literal_eval"),
        *("expat.ParserCreate", "etree.fromstring", "zipfile.ZipFile", "tarfile.open", "gzip.open", "bz2.open"),
        *("lzma.open", "zlib.decompressobj", "zlib.decompress", "gzip.decompress", "sqlite3.connect", "Image.open"),
        *("openpyxl.load_workbook", "docx.Document", "pptx.Presentation", "pypdf.PdfReader", "marshal.loads"),
        *("pickle.loads", "torch.load", "np.frombuffer", "csv.reader", "parse_qs", "parse_qsl", "SimpleCookie"),
        *("parquet.read_table", "pd.read_parquet", "datasets.load_from_disk", "safe_open", "tomllib.loads"),
    }
)
"""Calls that turn text or bytes into something else."""

PRIMITIVE_ENDINGS = frozenset({"raw_decode", "model_validate_json", "load_workbook", "deserialize"})
"""The same of methods, by the last name."""

READERS: dict[str, tuple[str, ...]] = {
    "rlanything_verifiers.alfworld.gamefile": ("alfworld game file",),
    "rlanything_verifiers.coding.checkers.asserts": ("coding problem", "coding checker"),
    "rlanything_verifiers.coding.function": ("result of a function",),
    "rlanything_verifiers.coding.sandbox.frames": ("frame of a container",),
    "rlanything_verifiers.osworld.archives": ("file of a desktop",),
    "rlanything_verifiers.osworld.database": ("file of a desktop",),
    "rlanything_verifiers.osworld.getters.browser": ("scores of a desktop",),
    "rlanything_verifiers.osworld.getters.pages": ("scores of a desktop",),
    "rlanything_verifiers.osworld.metrics.desktop": ("scores of a desktop",),
    "rlanything_verifiers.osworld.metrics.settings": ("scores of a desktop",),
    "rlanything_verifiers.osworld.metrics.text": ("scores of a desktop",),
    "rlanything_verifiers.osworld.metrics.values": ("scores of a desktop",),
    "rlanything_verifiers.osworld.opening": ("file of a desktop", "scores of a desktop"),
    "rlanything_verifiers.osworld.structured": ("file of a desktop",),
    "rlanything_task_pools.coding.harbor": ("harbor task folder",),
    "rlanything_task_pools.coding.import_contests": ("coding problem",),
    "rlanything_task_pools.coding.import_functional": ("coding problem",),
    "rlanything_task_pools.coding.problem_validator": ("coding problem folder",),
    "rlanything_task_pools.coding.problem_files": ("coding problem folder",),
    "rlanything_task_pools.coding.importing": ("coding problem", "coding problems, packed"),
    "rlanything_task_pools.export": ("exported pool",),
    "rlanything_task_pools.file": ("pool file",),
    "rlanything_task_pools.osworld.importing": ("osworld task file",),
    "rlanything_task_pools.osworld.payload": ("osworld task file", "rewrite"),
    "rlanything_task_pools.panel": ("panel recipe",),
    "rlanything_task_pools.records": ("packed task", "pool row"),
    "rlanything_task_pools.tables": ("exported pool",),
    "rlanything_task_pools.task": ("stored task",),
    "rlanything_verifiers.plain_yaml": ("configuration", "option", "coding problem folder"),
    "rlanything_envs.curriculum.critique": ("critique",),
    "rlanything_envs.curriculum.llm_rewriter": ("rewrite",),
    "rlanything_envs.llm.log": ("log of prompts",),
    "rlanything_envs.llm.wire": ("completion",),
    "rlanything_envs.osworld.accessibility": ("accessibility tree",),
    "rlanything_envs.coding.tool_calls": ("coding action",),
    "rlanything_envs.osworld.actions": ("osworld code",),
    "rlanything_envs.osworld.computer_13": ("osworld dictionary",),
    "rlanything_envs.osworld.clicks": ("osworld code",),
    "rlanything_envs.osworld.coordinates": ("osworld code",),
    "rlanything_envs.osworld.desktop.client": ("replies of a guest",),
    "rlanything_envs.osworld.desktop.simulator.interpreter": ("simulated code",),
    "rlanything_envs.osworld.desktop.transport": ("replies of a guest",),
    "rlanything_envs.tools": ("tool call",),
    "rlanything_agents.engines.controls": ("answer of a vLLM server",),
    "rlanything_agents.tools.benchmark.compare": ("results of a benchmark",),
    "rlanything_agents.tools.benchmark.record": ("results of a benchmark, one a line",),
    "rlanything_agents.tools.cli.options": ("option",),
    "rlanything_agents.reward_models.unit_test_answers": ("unit test of a model",),
    "rlanything_agents.config.load": ("configuration", "configuration override"),
    "rlanything_agents.tools.doctor.run": ("run that is examined",),
    "rlanything_agents.runs.manifest": ("list of a folder's files",),
    "rlanything_agents.runs.stored.episodes": ("stored episodes", "stored episode"),
    "rlanything_agents.runs.stored.folder": ("JSON of a run",),
    "rlanything_agents.runs.stored.lines": ("stored episodes",),
    "rlanything_agents.tools.view.episodes": ("run that is viewed",),
    "rlanything_agents.tools.view.pool": ("pool file", "run that is viewed"),
    "rlanything_agents.tools.view.run": ("run that is viewed",),
}
"""Modules that read what others wrote, with the targets."""

TESTED: dict[str, str] = {
    "rlanything_verifiers.osworld.bridge": "tests/verifiers/osworld/test_osworld_bridge.py",
    "rlanything_agents.tools.benchmark.transcript": "tests/agents/tools/view/test_view_benchmark.py",
    "rlanything_agents.tools.view.sheet": "tests/agents/tools/view/test_view_benchmark.py",
    "rlanything_verifiers.osworld.films": "tests/verifiers/osworld/test_osworld_media.py",
    "rlanything_verifiers.osworld.getters.page_program": "tests/verifiers/osworld/test_osworld_pages.py",
    "rlanything_verifiers.osworld.metrics.programs": "tests/verifiers/osworld/test_osworld_programs.py",
    "rlanything_verifiers.osworld.pdf": "tests/verifiers/osworld/test_osworld_limits.py",
    "rlanything_verifiers.osworld.pdf_worker": "tests/verifiers/osworld/test_osworld_limits.py",
    "rlanything_envs.osworld.browser": "tests/fuzz/test_borders.py",
    "rlanything_envs.osworld.desktop.guest.interior": "tests/envs/osworld/test_desktop_transport.py",
    "rlanything_envs.osworld.desktop.guest.server": "tests/envs/osworld/test_desktop_transport.py",
    "rlanything_agents.training.imitation": "tests/agents/training/test_imitation.py",
    "rlanything_agents.training.audit": "tests/agents/tools/doctor/test_doctor.py",
    "rlanything_agents.training.learner": "tests/agents/tools/doctor/test_doctor.py",
    "rlanything_agents.runs.tracking": "tests/agents/runs/test_tracking.py",
    "rlanything_agents.tools.view.server": "tests/fuzz/test_borders.py",
}
"""Modules that read what others wrote in ways that need processes or sockets, with the file of tests."""

OWN: dict[str, str] = {
    "rlanything_verifiers.coding.sandbox.runtime": "what this machine's own Python prints about its library",
    "rlanything_verifiers.coding.sandbox.worker": "the first message of the judge's own process",
    "rlanything_verifiers.osworld.bridge_worker": "the question of the process that started it",
    "rlanything_task_pools.alfworld.floorplans": "a file of the installed package alfworld",
    "rlanything_task_pools.alfworld.household": "a file of this package",
    "rlanything_task_pools.coding.harbor_judge": "the file next to it, in the folder that this package wrote",
    "rlanything_task_pools.coding.inputs": "the limits that a family of ours states",
    "rlanything_task_pools.osworld.kinds.edit_json": "a copy of a value of our own",
    "rlanything_task_pools.osworld.office.package": "a file that is being written",
    "rlanything_envs.osworld.desktop.guest.inside": "what the guest's server asks",
    "rlanything_envs.osworld.desktop.conformance": "a file of this package",
    "rlanything_envs.osworld.desktop.image": "an archive that is being written",
    "rlanything_envs.osworld.desktop.monitor": "what QEMU, a process of ours, answers",
    "rlanything_envs.testing.promises": "what was pickled in the line before",
    "rlanything_agents.engines.spellings": "the tokenizer that is in use, as its library writes it",
    "rlanything_agents.reward_models.unit_test_reviewer": "a copy of a value of our own",
    "rlanything_agents.runs.ahead": "the batch in a checkpoint of the run that goes on",
    "rlanything_agents.runs.evaluate": "a stage of the run that goes on",
    "rlanything_agents.training.ranks.channel": "what the training process that leads sends to those launched with it",
    "rlanything_agents.runs.folder": "the run that goes on, which is one's own: its pool and code are trusted as well",
}
"""Modules that read what this library or its user wrote on this machine, with what it is."""
