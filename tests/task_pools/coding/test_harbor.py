"""Coding tasks as Harbor's task folders: out and in again, read by the real package, judged by what lies in them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from coding_problems import RIGHT, WRONG, sum_task
from isolated import Isolated

from rlanything_task_pools import ExportError, PoolExists, Task, TaskPool, get_domain
from rlanything_task_pools.coding import DOMAIN, harbor, import_tasks, read_payload
from rlanything_task_pools.collection import CollectionError, import_collection
from rlanything_task_pools.harbor import export_harbor

HARBOR = Isolated("harbor", minor=12)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a task."""
    harbor.write(sum_task(), tmp_path / "sum")
    return tmp_path / "sum"


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[TaskPool]:
    """A pool of three generated tasks."""
    with TaskPool.create(tmp_path / "pool.sqlite", [DOMAIN.generate(seed) for seed in range(3)]) as made:
        yield made


def judged(folder: Path, program: str | None) -> tuple[int, float | None]:
    """Exit status and reward of the judge that lies in a folder, run without any installed package."""
    box = folder.parent / "container"
    box.mkdir(exist_ok=True)
    submission, reward = box / "solution.py", box / "logs" / "reward.txt"
    for path in (submission, reward):
        path.unlink(missing_ok=True)
    if program is not None:
        submission.write_text(program)
    code = (
        f"import sys; sys.path.insert(0, {str(folder / 'tests')!r}); import judge, pathlib; "
        f"judge.SUBMISSION = pathlib.Path({str(submission)!r}); judge.REWARD = pathlib.Path({str(reward)!r}); "
        "import rlanything_verifiers.coding as ours; assert 'tests' in ours.__file__; sys.exit(judge.main())"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    return done.returncode, float(reward.read_text()) if reward.exists() else None


def test_out_and_in_again_is_the_same_task(pool: TaskPool, tmp_path: Path) -> None:
    tasks = [pool.active(slot) for slot in pool.slots]
    out = export_harbor(pool, tmp_path / "out")
    assert sorted(path.name for path in out.iterdir()) == sorted(task.id for task in tasks)
    again, refused = import_collection("coding", str(out), tmp_path / "again.sqlite")
    with again:
        found = {task.id: task for task in (again.active(slot) for slot in again.slots)}
    assert not refused
    assert {task.id: task.to_json() for task in tasks} == {name: task.to_json() for name, task in found.items()}
    with pytest.raises(PoolExists):
        export_harbor(pool, out)
    with pytest.raises(PoolExists):
        import_collection("coding", str(out), tmp_path / "again.sqlite")


def test_lineage_is_kept(tmp_path: Path) -> None:
    root = DOMAIN.generate(0)
    rng = __import__("numpy").random.default_rng(0)
    made = [
        task
        for direction in ("harder", "easier")
        for proposal in DOMAIN.propose(root, direction, rng)[:2]
        if isinstance(task := DOMAIN.validate(root, proposal, direction=direction, author="x", critique="ü"), Task)
    ]
    assert made
    harbor.write(made[0], tmp_path / "one")
    assert DOMAIN.load(tmp_path / "one").to_json() == made[0].to_json()


def test_harbor_reads_the_folders(pool: TaskPool, tmp_path: Path) -> None:
    out = export_harbor(pool, tmp_path / "out")
    command = [str(HARBOR.python()), str(Path(__file__).with_name("harbor_checks.py")), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 3
    for row, task in zip(rows, sorted((pool.active(s) for s in pool.slots), key=lambda task: task.id), strict=True):
        assert row["name"] == f"rlanything/{task.id}"
        assert (row["valid"], row["mode"], row["artifacts"], row["solve"]) == (
            True,
            "separate",
            ["/app/solution.py"],
            True,
        )
        assert row["instruction"].startswith(read_payload(task.payload).statement)
        assert "/app/solution.py" in row["instruction"]


def test_no_hidden_test_reaches_the_agent(pool: TaskPool, tmp_path: Path) -> None:
    for task in (pool.active(slot) for slot in pool.slots):
        harbor.write(task, tmp_path / task.id)
        problem = read_payload(task.payload)
        seen = "".join(
            path.read_text()
            for part in ("instruction.md", "environment", "task.toml")
            for path in ([tmp_path / task.id / part] if "." in part else (tmp_path / task.id / part).rglob("*"))
        )
        hidden = [test for test in problem.hidden if test not in problem.public and len(test.stdin) > 12]
        assert hidden
        assert not [test for test in hidden if test.stdin.strip() in seen]
        assert task.proof[0] not in seen
        assert task.proof[0] not in (tmp_path / task.id / "tests" / "task.json").read_text()


@pytest.mark.parametrize(
    ("program", "reward"),
    [
        (RIGHT, 1.0),
        (WRONG, 0.0),
        (None, 0.0),
        ("", 0.0),
        ("import sys\nsys.exit(0)\n", 0.0),
        ("def f(:\n", 0.0),
        ("print(eval(open('/logs/verifier/reward.txt').read()))\n", 0.0),
    ],
)
def test_the_judge_in_a_folder(folder: Path, program: str | None, reward: float) -> None:
    assert judged(folder, program) == (0, reward)


def test_a_program_cannot_read_the_tests_in_the_folder(folder: Path) -> None:
    answers = {test.stdin: test.stdout for test in read_payload(sum_task().payload).hidden}
    cheat = (
        "import json, sys\n"
        f"tests = json.load(open({str(folder / 'tests' / 'task.json')!r}))['payload']['hidden']\n"
        "given = sys.stdin.read()\n"
        "print(next(test['stdout'] for test in tests if test['stdin'] == given))\n"
    )
    done = [sys.executable, "-c", cheat]
    for given, answer in answers.items():  # it would win if it could
        assert subprocess.run(done, input=given, capture_output=True, text=True, check=True).stdout.split() == (
            answer.split()
        )
    assert judged(folder, cheat) == (0, 0.0)


def test_a_judge_that_fails_gives_no_reward(folder: Path) -> None:
    path = folder / "tests" / "task.json"
    fields = json.loads(path.read_text())
    fields["payload"]["checker"] = {"kind": "no such checker"}
    path.write_text(json.dumps(fields))
    assert judged(folder, RIGHT) == (1, None)


def test_a_link_is_no_submission(folder: Path) -> None:
    judged(folder, None)
    (folder.parent / "right.py").write_text(RIGHT)
    (folder.parent / "container" / "solution.py").symlink_to(folder.parent / "right.py")
    # `judged` would remove the link: the same judge, with the submission as it lies there.
    code = (folder / "tests" / "judge.py").read_text()
    code = code.replace("/app/solution.py", str(folder.parent / "container" / "solution.py"))
    reward = folder.parent / "reward.txt"
    (folder / "tests" / "judge.py").write_text(code.replace("/logs/verifier/reward.txt", str(reward)))
    subprocess.run([sys.executable, "-I", str(folder / "tests" / "judge.py")], check=True, capture_output=True)
    assert float(reward.read_text()) == 0.0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "expected a JSON object"),
        (b"\xff", "cannot be read"),
        (b'{"domain": "coding", "goal": "x", "payload": {}}', "statement"),
        (b'{"domain": "alfworld", "goal": "x", "payload": {}}', "domain"),
        (b'{"goal": "x"}', "field domain"),
    ],
)
def test_what_is_no_task_is_refused(folder: Path, content: bytes, reason: str) -> None:
    (folder / "tests" / "task.json").write_bytes(content)
    (rejected,) = import_tasks(folder).rejected
    assert reason in rejected.reason


def test_links_out_of_a_folder_are_not_followed(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("print(1)")
    proof = folder / "solution" / "solution.py"
    proof.unlink()
    proof.symlink_to(secret)
    (rejected,) = import_tasks(folder).rejected
    assert "link" in rejected.reason


def test_other_harbor_tasks_are_refused_with_the_reason(folder: Path, tmp_path: Path) -> None:
    (folder / "tests" / "task.json").unlink()
    with pytest.raises(CollectionError, match="pool export --format harbor"):
        import_collection("coding", str(folder.parent), tmp_path / "x.sqlite")
    assert not (tmp_path / "x.sqlite").exists()


def test_a_task_whose_proof_is_wrong_is_left_out(folder: Path, tmp_path: Path) -> None:
    harbor.write(DOMAIN.generate(0), tmp_path / "sum2")
    (folder / "solution" / "solution.py").write_text(WRONG)
    pool, refused = import_collection("coding", str(tmp_path), tmp_path / "x.sqlite")
    with pool:
        assert [pool.active(slot).id for slot in pool.slots] == [DOMAIN.generate(0).id]
    assert list(refused) == [sum_task().id]
    both, nothing = import_collection("coding", str(tmp_path), tmp_path / "y.sqlite", replay=False)
    with both:
        assert len(both.slots) == 2
    assert not nothing


def test_what_harbor_has_no_form_for(tmp_path: Path) -> None:
    alfworld = get_domain("alfworld").generate(0)
    with (
        TaskPool.create(tmp_path / "pool.sqlite", [DOMAIN.generate(0), alfworld]) as pool,
        pytest.raises(ExportError, match="alfworld has no form for Harbor"),
    ):
        export_harbor(pool, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []
    with pytest.raises(ExportError, match="not the name of an image"):
        harbor.write(sum_task(), tmp_path / "one", "python\nRUN rm -rf /")
