"""Several training processes: what they say to each other, the same run as one process, and what a lost one costs."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import test_trainer as trainers
import torch
import yaml
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils.launch import prepare_multi_gpu_env
from chat_runs import GPUS, made_tiny
from families import checkpoint
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from small_runs import SHORT

from rlanything_agents.config import CheckpointConfig, LoraConfig, RunConfig
from rlanything_agents.models.pretrained import save_weights, with_adapters
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import train
from rlanything_agents.tools.planning.checks import dry_run
from rlanything_agents.training.errors import TrainingError
from rlanything_agents.training.learner import Learner
from rlanything_agents.training.ranks.launch import Launch, launched, must_be_trainable, obstacles
from rlanything_agents.training.ranks.packing import packed, unpacked
from rlanything_agents.training.ranks.sharding import read_state
from rlanything_agents.training.samples import Sample
from rlanything_task_pools import TaskPool

HOME = Path(__file__).parents[3]

# ---- What is sent


@st.composite
def made_samples(draw: st.DrawFn) -> Sample:
    ids = st.integers(0, 2**20)
    completion = draw(st.lists(ids, min_size=1, max_size=6))
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    choices = st.none() | st.lists(ids, min_size=1, max_size=3).map(tuple)
    allowed = draw(st.none() | st.lists(choices, min_size=len(completion), max_size=len(completion)))
    return Sample(
        prompt_ids=draw(st.lists(ids, min_size=1, max_size=4)),
        completion_ids=completion,
        weights=[0.0 if allowed else draw(st.floats(0, 1e9)) for _ in completion],
        advantages=[draw(numbers) for _ in completion],
        logprobs=[draw(st.floats(-1e9, 0)) for _ in completion],
        allowed=allowed,
        steps=draw(st.none() | st.lists(st.none() | ids, min_size=len(completion), max_size=len(completion))),
    )


@given(st.lists(made_samples(), max_size=5))
def test_samples_arrive_as_they_were(samples: list[Sample]) -> None:
    assert unpacked(packed(samples)) == samples


CHANNEL = """
import os, sys, time
import torch
from rlanything_agents.training.ranks.channel import ProcessLost, Ranks
ranks = Ranks.join()
if ranks.number == 0:
    ranks.send({"do": "count", "tensor": torch.arange(3.0), "list": [1, None, "a"]})
    print(ranks.report("leads"))
    time.sleep(1.5)  # of playing
    model = torch.nn.Linear(2, 2)
    torch.nn.init.ones_(model.weight)
    model.bias.requires_grad_(False)
    ranks.send("weights")
    ranks.share(model)
    print(ranks.report())
    ranks.send("end")
    try:
        while True:
            ranks.send("is anybody there?")
    except ProcessLost as error:
        print("lost:", error)
else:
    got = ranks.receive()
    ranks.report(f"{got['tensor'].sum().item()} {got['list']} " + "\\N{SNOWMAN}" * 1000)
    before = time.process_time()
    ranks.receive()
    waited = time.process_time() - before
    model = torch.nn.Linear(2, 2)
    own = model.bias.detach().clone()
    model.bias.requires_grad_(False)
    ranks.share(model)
    ranks.report(f"{model.weight.sum().item()} {torch.equal(model.bias, own)} {waited < 0.7}")
    ranks.receive()
    print("ends")
sys.stdout.flush()
os._exit(0)
"""


def test_a_process_leads_another(tmp_path: Path) -> None:
    """Values, reports and weights; waiting takes no processor time; the end of one is noticed by the other."""
    heard = [out for out, _, code in together(tmp_path, CHANNEL) if not code]
    lines = heard[0].splitlines()
    first = json.loads(lines[0].replace("'", '"').replace('"a"', "'a'"))
    assert first[0] == "leads"
    assert first[1].startswith("3.0 [1, None, 'a'] \N{SNOWMAN}")
    assert lines[1] == "['', '4.0 True True']"
    assert lines[2].startswith("lost:")
    assert heard[1] == "ends\n"


def together(tmp_path: Path, script: str, *words: str, **more: str) -> list[tuple[str, str, int]]:
    """A script in two processes, launched by hand: output, errors and exit code of each."""
    file = tmp_path / "script.py"
    file.write_text(script)
    own = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(
            [sys.executable, str(file), *words],
            env=os.environ | own | more | {"RANK": str(k), "LOCAL_RANK": str(k), "CUDA_VISIBLE_DEVICES": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for k in range(2)
    ]
    heard = [process.communicate(timeout=550) for process in started]
    return [(out, err, process.returncode) for (out, err), process in zip(heard, started, strict=True)]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


# ---- A model in parts

SPREAD = """
import os, sys
os.environ |= {"ACCELERATE_TORCH_DEVICE": "cpu", "ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "2",
               "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP", "FSDP_RESHARD_AFTER_FORWARD": "true"}
import accelerate, torch
# Accelerate shards models over accelerators only: here processors count as accelerators.
accelerate.PartialState._prepare_backend = lambda *_: ("gloo", accelerate.DistributedType.MULTI_GPU)
torch.distributed.init_process_group("gloo")
import test_ranks as t
from pathlib import Path
from rlanything_agents.training.ranks.channel import Ranks
from rlanything_agents.runs.follow import execute
from rlanything_agents.runs.lead import LeadingTrainer
ranks = Ranks.join()
learners = {role: t.learner(sys.argv[2]) for role in ("policy", "judge", "third")}
if ranks.number:
    while (order := ranks.receive())["do"] != "end":
        execute(order, learners[order["role"]], ranks)
else:
    for role, each in learners.items():
        each.trainer = LeadingTrainer(role, each, ranks)
    t.goes_on(learners["policy"], learners["judge"], Path(sys.argv[1]))
    t.continues(learners["third"], Path(sys.argv[3]), Path(sys.argv[1]))
    ranks.send({"do": "end"})
    print(learners["policy"].trainer.sharded, "whole again")
sys.stdout.flush()
os._exit(0)
"""


class Engine:
    """Notes where weights are read from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def update_weights(self, source: Any, version: int) -> None:
        if isinstance(source, Path):
            shutil.copytree(source, self.folder)
        else:
            save_weights(source, self.folder)


def learner(dtype: str) -> Learner:
    """Learner of a small model, or of adapters on one in bfloat16; see `trainers.ROUNDED` about bfloat16."""
    settings = trainers.IN_TWO["corrected"] if dtype == "float32" else trainers.ROUNDED
    config = trainers.TrainerConfig(**settings)
    model = trainers.build_model().to(torch.float32 if dtype == "float32" else torch.bfloat16)
    if dtype == "adapters":
        model = with_adapters(model, CheckpointConfig(checkpoint="small", lora=LoraConfig(rank=4)), seed=3)
    tokenizer = trainers.build_tokenizer()
    return Learner(model, trainers.SampleTrainer(model, tokenizer, config), config, tokenizer)


def samples(seed: int) -> list[Sample]:
    made: list[Sample] = trainers.rows(trainers.build_trajectories(trainers.build_model(), seed=seed, noise=0.3))
    return made


def goes_on(first: Learner, second: Learner, folder: Path) -> None:
    """Two updates of a learner, its state, what an engine gets; then the same third update of it and of a copy."""
    for seed in (1, 2):
        first.update(samples(seed), 1.0)
        first.trainer.rest()
    (folder / "two").mkdir()
    first.save(folder / "two")
    first.hand_over(Engine(folder / "handed"))
    second.load(folder / "two")
    for name, each in (("straight", first), ("resumed", second)):
        each.update(samples(3), 1.0)
        (folder / name).mkdir()
        each.save(folder / name)


def continues(each: Learner, begun: Path, folder: Path) -> None:
    """The third update of a learner, after two that another number of processes has made."""
    each.load(begun / "two")
    (folder / "loaded").mkdir()
    each.save(folder / "loaded")  # before its first update it is not sharded yet
    each.update(samples(3), 1.0)
    (folder / "mixed").mkdir()
    each.save(folder / "mixed")


def stored(folder: Path) -> dict[str, torch.Tensor]:
    (file,) = folder.glob("*model.safetensors")
    weights: dict[str, torch.Tensor] = load_file(file)
    return weights


def farthest(one: Path, other: Path) -> float:
    theirs = stored(other)
    return max(float((weight - theirs[name]).abs().max()) for name, weight in stored(one).items())


def apart(one: Path, other: Path) -> float:
    """Euclidean distance of the float32 master weights of two bfloat16 learners, or of their adapters."""

    def masters(folder: Path) -> torch.Tensor:
        state = read_state(folder / "optimizer") if (folder / "model.safetensors").exists() else stored(folder)
        return torch.cat([state[key].flatten() for key in sorted(state) if key.endswith((".master", ".weight"))])

    return float((masters(one) - masters(other)).norm())


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "adapters"])
def test_a_model_in_parts_learns_what_a_whole_one_learns(tmp_path: Path, dtype: str) -> None:
    """FSDP2 on two processes: each stores its half of the optimizer state, two processes resume bit for bit, and one
    process resumes what two have stored, and two what one has.
    """
    parts, whole = tmp_path / "parts", tmp_path / "whole"
    parts.mkdir()
    whole.mkdir()
    goes_on(learner(dtype), learner(dtype), whole)
    path = os.pathsep.join([*(str(Path(__file__).parents[k]) for k in range(3)), os.environ.get("PYTHONPATH", "")])
    words = [str(parts), dtype, str(whole)]
    (out, err, code), (_, _, followed) = together(tmp_path, SPREAD, *words, PYTHONPATH=path)
    assert (code, followed) == (0, 0), err[-3000:]
    assert out == "True whole again\n"
    continues(learner(dtype), parts, whole)
    first, second, alone = (
        sum(weight.nbytes for weight in load_file(file).values())
        for written in (parts, whole)
        for file in sorted((written / "two/optimizer").iterdir())
    )
    assert max(first, second) < 0.55 * alone, "no process writes for another"
    for written in (parts, whole):
        both = [read_state(written / name / "optimizer") for name in ("straight", "resumed")]
        assert both[0].keys() == both[1].keys()
        assert all(torch.equal(value, both[1][key]) for key, value in both[0].items())
    for name in ("two", "straight", "resumed"):
        own = "bfloat16" if dtype == "bfloat16" else "float32"
        assert {str(weight.dtype) for weight in stored(parts / name).values()} == {f"torch.{own}"}
    assert farthest(whole / "straight", whole / "two") > 1e-3
    assert farthest(parts / "handed", parts / "two") == 0.0
    assert farthest(parts / "straight", parts / "resumed") == 0.0
    if dtype == "float32":
        for name in ("two", "straight", "resumed", "mixed"):
            assert farthest(parts / name, whole / name) < 1e-4, name
        assert farthest(parts / "straight", whole / "mixed") < 1e-4
    else:
        assert apart(parts / "straight", parts / "resumed") == 0.0
        moved = apart(whole / "two", whole / "straight")
        for one, other in ((parts / "two", whole / "two"), (parts / "straight", whole / "mixed")):
            assert apart(one, other) < 0.1 * moved, other


# ---- How processes are launched


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Launch(0, 1)),
        ({"WORLD_SIZE": "1", "RANK": "0"}, Launch(0, 1)),
        ({"WORLD_SIZE": "4", "RANK": "3"}, Launch(3, 4)),
        ({"WORLD_SIZE": "2", "RANK": "0", "ACCELERATE_USE_FSDP": "true"}, Launch(0, 2, "fsdp")),
        ({"WORLD_SIZE": "2", "RANK": "1", "TORCHELASTIC_RESTART_COUNT": "3"}, Launch(1, 2, restart=3)),
        ({"WORLD_SIZE": "2", "RANK": "0", "ACCELERATE_USE_DEEPSPEED": "true"}, Launch(0, 2, "deepspeed")),
    ],
)
def test_what_a_launcher_says(environment: dict[str, str], expected: Launch) -> None:
    assert launched(environment) == expected


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"WORLD_SIZE": "two", "RANK": "0"}, r"\$WORLD_SIZE is 'two', not a number"),
        ({"WORLD_SIZE": "2"}, r"\$RANK is not set: start them with torchrun"),
        ({"WORLD_SIZE": "2", "RANK": "2"}, r"\$RANK is 2"),
    ],
)
def test_a_launcher_that_makes_no_sense(environment: dict[str, str], said: str) -> None:
    with pytest.raises(TrainingError, match=said):
        launched(environment)


def test_what_cannot_be_sharded() -> None:
    config = RunConfig.model_validate({"name": "run", "judge": {"train": True}})
    sharded, split = Launch(0, 2, "fsdp"), Launch(0, 2, "deepspeed")
    assert list(obstacles(config, Launch(0, 2))) == []
    assert ["made from scratch" in line for line in obstacles(config, sharded)] == [True, True]
    assert ["DeepSpeed" in line for line in obstacles(config, split)] == [True]
    large = CheckpointConfig(checkpoint="organisation/name")
    both = {"name": "run", "policy": large, "reward_model": large, "judge": {"train": True}}
    said = list(obstacles(RunConfig.model_validate(both), sharded))
    assert [line.split()[0] for line in said] == ["policy", "reward_model"]
    policy = {**both, "judge": {"train": False}}
    engine = {"engine": {"kind": "vllm_server", "policy": {"base_url": "http://gpu:8000/v1", "model": "m"}}}
    assert list(obstacles(RunConfig.model_validate({**policy, **engine}), sharded)) == []


def test_models_on_one_base_cannot_be_sharded() -> None:
    policy = {"checkpoint": "organisation/name", "lora": {}}
    config = RunConfig.model_validate(
        {"name": "run", "policy": policy, "reward_model": {"base": "policy"}, "engine": {"kind": "vllm"}}
    )
    (reason,) = obstacles(config, Launch(0, 2, "fsdp"))
    assert reason.startswith("reward_model.base: policy shares tensors")
    with pytest.raises(TrainingError, match=r"use configs/accelerate/ddp\.yaml"):
        must_be_trainable(config, Launch(0, 2, "fsdp"))
    assert list(obstacles(config, Launch(0, 2))) == []


def test_nobody_runs_beside_another_unawares(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(TrainingError, match="each would be a separate run"):
        train(RunConfig(name="run"), folder, Reporter.silent(), command="")
    assert not folder.path.exists()


def test_a_dry_run_says_who_trains(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def said(**more: str) -> list[tuple[bool | None, str]]:
        for name, value in more.items():
            monkeypatch.setenv(name, value)
        config = RunConfig.model_validate({"name": "run", "judge": {"train": True}})
        found = dry_run(config, RunFolder(tmp_path / "run"))
        return [(finding.good, finding.said) for finding in found if finding.topic == "processes"]

    assert said() == []
    assert said(WORLD_SIZE="3", RANK="0") == [(True, "3 train together; this one leads, and does all else")]
    assert [ok for ok, _ in said(ACCELERATE_USE_FSDP="true")] == [False, False, True]


@pytest.mark.parametrize(
    ("rank", "code", "said"),
    [({"RANK": "1"}, 0, ""), ({}, 2, "error: $WORLD_SIZE says 2 training processes, and $RANK is not set")],
)
def test_one_process_speaks_for_all(rank: dict[str, str], code: int, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rlanything_agents", "train", "nowhere.yaml", "--dry-run"],
        env=os.environ | {"WORLD_SIZE": "2"} | rank,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(said)
    assert bool(done.stderr) == bool(said)


@pytest.mark.parametrize("name", ["ddp", "fsdp2", "zero3"])
def test_accelerate_reads_the_shipped_settings(name: str) -> None:
    """Every key is one that accelerate knows, and what processes are told is what the file says."""
    file = HOME / "configs" / "accelerate" / f"{name}.yaml"
    words = ["--config_file", str(file), "--num_processes", "2", "-m", "rlanything_agents"]
    arguments, defaults, _ = _validate_launch_command(launch_command_parser().parse_args(words))
    assert [arguments.multi_gpu, arguments.use_fsdp, arguments.use_deepspeed] == [
        name == "ddp",
        name == "fsdp2",
        name == "zero3",
    ]
    assert arguments.num_processes == 2
    unknown = [key for key in {**defaults.fsdp_config, **defaults.deepspeed_config} if not hasattr(arguments, key)]
    assert not unknown
    if name == "zero3":
        assert (arguments.zero_stage, arguments.zero3_save_16bit_model) == (3, True)
        return
    told = prepare_multi_gpu_env(arguments)
    assert launched({**told, "RANK": "0", "WORLD_SIZE": "2"}).strategy == ("fsdp" if name == "fsdp2" else "")
    if name == "fsdp2":
        assert (told["FSDP_VERSION"], told["FSDP_RESHARD_AFTER_FORWARD"]) == ("2", "true")
        assert told["FSDP_CPU_RAM_EFFICIENT_LOADING"] == told["FSDP_ACTIVATION_CHECKPOINTING"] == "false"


def test_the_number_of_processes_must_be_given() -> None:
    file = HOME / "configs" / "accelerate" / "ddp.yaml"
    with pytest.raises(ValueError, match="num_processes"):
        _validate_launch_command(launch_command_parser().parse_args(["--config_file", str(file), "x.py"]))


# ---- A run

TRAINERS = {
    "policy_trainer": {**SHORT["policy_trainer"], "epsilon": 1e-5},
    "judge_trainer": {**SHORT["judge_trainer"], "epsilon": 1e-5},
}
TWO = yaml.safe_dump({**SHORT, "name": "two", "iterations": 3, **TRAINERS})

ALONE = [sys.executable]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
ACCELERATE = [
    *(sys.executable, "-m", "accelerate.commands.launch", "--num_processes", "2"),
    *("--config_file", str(HOME / "configs" / "accelerate" / "ddp.yaml")),
]


def start(launcher: list[str], file: Path, runs: Path, *more: str) -> "subprocess.Popen[str]":
    """The command of a user."""
    folder = runs / yaml.safe_load(file.read_text())["name"]
    return subprocess.Popen(
        [*launcher, "-m", "rlanything_agents", "train", str(file), "--out", str(folder), *more],
        env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> tuple[str, str, int]:
    out, err = process.communicate(timeout=500)
    return out, err, process.returncode


def state_of(folder: Path) -> dict[str, Any]:
    """What a run came to, but for times and rounding."""
    run = RunFolder(folder)
    with TaskPool.open(run.pool) as pool:
        events, counts = pool.events(), pool.counts()
    rows = [
        {key: row[key] for key in ("iteration", "env_steps", "success", "tasks")}
        | {role: (row[role]["optimizer_steps"], row[role]["rows"], row[role]["tokens"]) for role in ("policy", "judge")}
        for row in run.rows()
    ]
    return {
        "rows": rows,
        "counts": counts,
        "events": events,
        "stored": json.loads((folder / "config.json").read_text()),
    }


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    found = RunFolder(folder).checkpoints.latest()
    assert found is not None
    assert found[0] == 3
    return {
        f"{role}.{name}": weight
        for role in ("policy", "judge")
        for name, weight in load_file(found[1] / role / "model.safetensors").items()
    }


def assert_same(one: Path, other: Path) -> None:
    assert state_of(one) == state_of(other)
    theirs = weights_of(other)
    far = {name: float((weight - theirs[name]).abs().max()) for name, weight in weights_of(one).items()}
    assert max(far.values()) < 1e-5, far


def when(path: Path, process: "subprocess.Popen[str]") -> None:
    """Wait until there is such a file."""
    while not path.exists():
        assert process.poll() is None, process.communicate()[1][-3000:]
        time.sleep(0.05)


def processes_of(launcher: int, rank: bytes) -> list[int]:
    """The processes that a launcher has started, of the numbers that a pattern names."""
    children = [int(pid) for pid in Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()]
    return [pid for pid in children if re.search(rb"\0RANK=" + rank, Path(f"/proc/{pid}/environ").read_bytes())]


def followers_of(launcher: int) -> list[int]:
    return processes_of(launcher, b"[1-9]")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The settings, and the folder of the run of one process."""
    home = tmp_path_factory.mktemp("alone")
    file = home / "two.yaml"
    file.write_text(TWO)
    _, err, code = ended(start(ALONE, file, home / "runs"))
    assert code == 0, err[-3000:]
    return file, home / "runs/two"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
def test_a_run_of_two_processes_is_the_run_of_one(alone: tuple[Path, Path], tmp_path: Path) -> None:
    """Tasks, episodes and outcomes are the same, the weights up to rounding (they moved by 2e-3). A follower that is
    killed costs the iteration at hand.
    """
    file, one = alone
    both = start(TORCHRUN, file, tmp_path)
    when(tmp_path / "two/checkpoints/0001", both)
    for follower in followers_of(both.pid):
        os.kill(follower, signal.SIGKILL)
    out, err, code = ended(both)
    assert code == 1, "the launcher's own"
    assert err.count("error: a training process is lost") == 1
    assert "the same command resumes" in err
    assert "rlanything_agents/ranks" not in err, "no traceback of ours"
    assert not (tmp_path / "two/summary.json").exists()
    assert RunFolder(tmp_path / "two").checkpoints.damaged() == []

    out, err, code = ended(start(TORCHRUN, file, tmp_path))
    assert code == 0, err[-3000:]
    assert out.count("Continuing") == 1, "only the process that leads has a screen"
    assert_same(one, tmp_path / "two")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "family"), [("qwen2.5-1.5b", "qwen2.5"), ("qwen3-8b", "qwen3")])
def test_two_processes_train_what_the_files_for_gpus_say(tmp_path: Path, name: str, family: str) -> None:
    """All weights, or adapters of two models on one base: they come out as those of one process."""
    made = checkpoint(family, tmp_path / "model")
    models = {"policy": made} if name == "qwen3-8b" else {"policy": made, "reward_model": made}
    words = [f"--set={change}" for change in ("engine.kind=transformers", *made_tiny(name, models))]
    found: list[dict[str, torch.Tensor]] = []
    for launcher, runs in ((ALONE, tmp_path / "alone"), (TORCHRUN, tmp_path / "two")):
        _, err, code = ended(start(launcher, GPUS / f"{name}.yaml", runs, *words))
        assert code == 0, err[-3000:]
        stored = runs / name / "checkpoints" / "0001"
        found.append(
            {
                f"{role}.{key}": weight
                for role in ("policy", "judge")
                for key, weight in load_file(next((stored / role).glob("*model.safetensors"))).items()
            }
        )
    one, two = found
    assert one.keys() == two.keys()
    assert all(any(weight.any() for key, weight in one.items() if key.startswith(role)) for role in ("policy", "judge"))
    assert max(float((weight - two[key]).abs().max()) for key, weight in one.items()) < 1e-5


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
@pytest.mark.parametrize("rank", [b"0", b"1"], ids=["leader", "follower"])
def test_a_launcher_that_restarts_its_processes_ends_the_run(
    alone: tuple[Path, Path], tmp_path: Path, rank: bytes
) -> None:
    """Whichever process is killed, all go on from the last checkpoint without a further command; ``--restart`` of the
    user does not delete the run a second time.
    """
    file, one = alone
    both = start([*TORCHRUN, "--max-restarts", "1"], file, tmp_path, "--restart")
    when(tmp_path / "two/checkpoints/0001", both)
    (killed,) = processes_of(both.pid, rank)
    os.kill(killed, signal.SIGKILL)
    out, err, code = ended(both)
    assert code == 0, err[-3000:]
    assert out.count("Continuing") == 1
    assert_same(one, tmp_path / "two")


@pytest.mark.slow
def test_two_processes_go_on_with_the_run_of_one(alone: tuple[Path, Path], tmp_path: Path) -> None:
    file, one = alone
    for attempt in range(5):  # on a busy machine the signal may come after the end of this short run
        runs = tmp_path / str(attempt)
        first = start(ALONE, file, runs)
        when(runs / "two/checkpoints/0001", first)
        first.send_signal(signal.SIGINT)
        code = ended(first)[2]
        if code:
            break
    assert code == 130
    launcher = [*ACCELERATE, "--main_process_port", str(free_port())]
    _, err, code = ended(start(launcher, file, runs))
    assert code == 0, err[-3000:]
    assert_same(one, runs / "two")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
def test_an_interrupted_run_ends_all_processes(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(TWO)
    both = start(TORCHRUN, file, tmp_path / "runs")
    when(tmp_path / "runs/two/checkpoints/0001", both)
    followers = followers_of(both.pid)
    both.send_signal(signal.SIGINT)
    _, err, _ = ended(both)
    assert err.count("the same command resumes") == 1
    assert not [pid for pid in followers if Path(f"/proc/{pid}").exists()]


@pytest.mark.slow
def test_what_all_meet_is_said_once(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    rollout = {**SHORT["rollout"], "tasks": 300}
    file.write_text(yaml.safe_dump({**SHORT, **TRAINERS, "name": "two", "rollout": rollout}))
    _, err, _ = ended(start(TORCHRUN, file, tmp_path / "runs"))
    assert err.count("rollout.tasks (300)") == 1
    assert not (tmp_path / "runs").exists()
