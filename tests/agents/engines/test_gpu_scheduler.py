"""GPUScheduler: one engine awake at a time, whatever the order and whatever fails."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_models import WORDS, make_small, shake
from stand_in_vllm import LLM

from rlanything_agents.config.engine import EngineConfig
from rlanything_agents.engines.cache import RaggedCache
from rlanything_agents.engines.open import open_engine
from rlanything_agents.engines.scheduler import GPUScheduler
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.engines.vllm import EngineFailed, VLLMGenerator
from rlanything_envs.llm import SamplingParams

ORDER = ("rollouts", "judge", "rewrite", "update")


class Memory:
    """Room for one."""

    def __init__(self) -> None:
        self.holder: object = None


class Worker:
    """Takes the memory when awake; falls ill on command."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.ill = False

    def wake(self) -> None:
        assert self.memory.holder in (None, self)
        self.memory.holder = self

    def sleep(self) -> None:
        if self.ill:
            self.ill = False
            raise EngineFailed("ill")
        if self.memory.holder is self:
            self.memory.holder = None


@given(st.lists(st.tuples(st.sampled_from(ORDER), st.sampled_from([None, 0, 1, 2])), max_size=30))
def test_never_two_awake_in_any_order_of_phases(steps: list[tuple[str, int | None]]) -> None:
    memory = Memory()
    workers = [Worker(memory) for _ in range(3)]
    phases = GPUScheduler(dict(zip(ORDER, [*workers, None], strict=True)))
    for phase, ill in steps:
        if ill is not None:
            workers[ill].ill = True
        for _ in range(4):  # each illness passes once it was told
            try:
                phases.enter(phase)
            except EngineFailed:
                assert phases.now is None
            else:
                break
        assert phases.now == phase
        expected = dict(zip(ORDER, [*workers, None], strict=True))[phase]
        assert memory.holder is expected


def test_a_phase_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="no phase 'lunch': rollouts"):
        GPUScheduler({"rollouts": None}).enter("lunch")


def test_conversations_are_held_during_rollouts_alone() -> None:
    module = TransformersGenerator(make_small(), WORDS)
    phases = GPUScheduler({"rollouts": module, "judge": object()})  # the other cannot sleep, and is left alone
    phases.enter("rollouts")
    gc.collect()
    others = {id(thing) for thing in gc.get_objects() if type(thing) is RaggedCache}  # of engines of other tests
    module.generate([[1, 5]], SamplingParams(2, keys=(0,), seed=1))
    made = (thing for thing in gc.get_objects() if type(thing) is RaggedCache and id(thing) not in others)
    (cache,) = map(weakref.ref, made)
    phases.enter("rollouts")
    assert cache() is not None
    phases.enter("judge")
    gc.collect()
    assert cache() is None


def test_a_phase_gives_freed_memory_back_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    emptied: list[int] = []  # the card's memory that PyTorch keeps, which another process could not use
    monkeypatch.setattr("torch.cuda.empty_cache", lambda: emptied.append(1))
    phases = GPUScheduler({"rollouts": None, "judge": None})
    phases.enter("rollouts")
    phases.enter("rollouts")
    assert len(emptied) == 1
    blocks = [np.ones(10_000) for _ in range(4000)]  # 320 MB, each too small for a mapping of its own
    held = blocks[::16]  # what is still used lies between what is not
    del blocks
    before = psutil.Process().memory_info().rss
    phases.enter("judge")
    assert before - psutil.Process().memory_info().rss > 200e6
    assert all(block.all() for block in held)


def test_an_iteration_on_one_gpu_that_holds_one_engine(engines: type[LLM], tmp_path: Path) -> None:
    """Policy, judge and rewriter each want most of the memory; weights change in between; two whole iterations."""
    config = EngineConfig(kind="vllm", gpu_memory_utilization=0.9)
    models = {role: make_small(seed) for seed, role in enumerate(("policy", "judge", "rewriter"))}
    made: dict[str, Any] = {
        role: open_engine(config, role, model, WORDS, tmp_path, 64) for role, model in models.items()
    }
    phases = GPUScheduler({**dict(zip(ORDER, made.values(), strict=False)), "update": None})
    params = SamplingParams(6, n=2, seed=1)
    used = []
    for version in (1, 2):
        for phase, engine in zip(ORDER, made.values(), strict=False):
            phases.enter(phase)
            assert [other for other in made.values() if other.awake] == [engine]
            (samples,) = engine.generate([[1, 5]], params)
            assert all(sample.token_ids for sample in samples)
            used.append(engines.gpu.used)
        phases.enter("update")
        assert engines.gpu.used == 0
        for role in ("policy", "judge"):
            shake(models[role], version)
            made[role].update_weights(models[role], version)
        assert engines.gpu.used == 0  # taken over, not read yet
    assert used == pytest.approx([0.9] * 6)
    phases.enter("rollouts")
    assert made["policy"].generate([[1, 5]], params)[0][0].weights_version == 2
    assert made["rewriter"].version == 0
    phases.close()
    assert not engines.alive


def test_two_engines_awake_at_once_do_not_fit_and_say_so(engines: type[LLM], tmp_path: Path) -> None:
    """Without phases the stand-in runs out of memory as a GPU would: the test above can fail."""
    config = EngineConfig(kind="vllm", gpu_memory_utilization=0.6)
    first, second = (VLLMGenerator(make_small(seed), WORDS, config, tmp_path / str(seed)) for seed in (0, 1))
    first.wake()
    with pytest.raises(EngineFailed, match="out of memory"):
        second.wake()
    first.sleep()
    second.wake()


def test_engines_that_never_sleep_stay(engines: type[LLM], tmp_path: Path) -> None:
    config = EngineConfig(kind="vllm", gpu_memory_utilization=0.4, sleep=False)
    policy, judge = (VLLMGenerator(make_small(seed), WORDS, config, tmp_path / str(seed)) for seed in (0, 1))
    phases = GPUScheduler({"rollouts": policy, "judge": judge, "update": None})
    for phase in ("rollouts", "judge", "update", "rollouts"):
        phases.enter(phase)
    assert engines.gpu.used == pytest.approx(0.8)
    assert all(not engine.settings["enable_sleep_mode"] for engine in engines.alive)


def test_closing_ends_all_even_if_one_fails() -> None:
    ended = []

    class Engine:
        def __init__(self, name: str) -> None:
            self.name = name

        def close(self) -> None:
            ended.append(self.name)
            if self.name == "a":
                raise EngineFailed("a")

    with pytest.raises(EngineFailed, match="a"):
        GPUScheduler({"rollouts": Engine("a"), "judge": Engine("b")}).close()
    assert ended == ["a", "b"]
