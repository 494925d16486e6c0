"""Judge of an exported Harbor task: runs the submission on the hidden tests and writes the reward, 1 or 0.

A copy of this file runs as ``python3 /tests/judge.py`` in the container of Harbor's verifier, next to a copy of
`rlanything_verifiers.coding`. Both need Python 3.11 and no other package. A judge that fails writes no reward, which
Harbor reports as an error of the trial.
"""

import json
import sys
from pathlib import Path
from typing import Any

from rlanything_verifiers.coding import JudgeError, Limits, SandboxError, judge

SUBMISSION = Path("/app/solution.py")
REWARD = Path("/logs/verifier/reward.txt")


def reward_of(problem: dict[str, Any], program: bytes) -> float:
    """Reward of a program: 1.0 where every hidden test is accepted, else 0.0.

    Args:
        problem: Payload of a coding task.
        program: Text of the program.

    Raises:
        SandboxError: There is no safe sandbox here, or it failed.
        JudgeError: The tests cannot be judged.
    """
    limits = {name: value for name, value in problem["limits"].items() if value is not None}
    judgement = judge(
        program,
        [(test["stdin"], test["stdout"]) for test in problem["hidden"]],
        checker=problem["checker"],
        limits=Limits(**limits),
        entry_point=problem["entry_point"],
    )
    if judgement.outcome is None:
        raise SandboxError(judgement.error)
    print(f"{judgement.counts} in the sandbox {judgement.sandbox}")
    return float(judgement.passed)


def main() -> int:
    """Judge the submission of this container; exits with 1 and without a reward where the judge failed."""
    task = json.loads(Path(__file__).with_name("task.json").read_text(encoding="utf-8"))
    if SUBMISSION.is_symlink() or not SUBMISSION.is_file():
        print(f"there is no file {SUBMISSION}")
        reward = 0.0
    else:
        try:
            reward = reward_of(task["payload"], SUBMISSION.read_bytes())
        except (SandboxError, JudgeError) as error:
            print(f"the judge failed, so there is no reward: {error}", file=sys.stderr)
            return 1
    REWARD.parent.mkdir(parents=True, exist_ok=True)
    REWARD.write_text(f"{reward}\n", encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
