"""What is written down of an episode of a benchmark."""

import json
from pathlib import Path

from rlanything_agents.tools.benchmark.transcript import RecordedConversation
from rlanything_envs.alfworld.env import AlfWorldEnv
from rlanything_envs.osworld.desktop import DesktopError
from rlanything_task_pools import get_domain


class Wrecked(AlfWorldEnv):
    """Games whose desktop is gone, as after an action that ended its programs."""

    @property
    def client(self) -> object:
        """Like `OSWorldEnv.client` of a desktop that was replaced."""
        raise DesktopError("the desktop is not running")


def test_an_action_that_breaks_the_desktop_has_its_outcome_and_no_picture(tmp_path: Path) -> None:
    task = get_domain("alfworld").generate(0, kinds=["simple"])
    with RecordedConversation(tmp_path, Wrecked()) as conversation:
        turn = conversation.start(task, seed=0)
        for command in task.proof:
            turn = conversation.answer(command)
    assert turn.won
    record = json.loads((tmp_path / f"{task.id}-0.json").read_text())
    assert (record["outcome"], record["error"], len(record["turns"])) == (1, "", len(task.proof))
    assert not list(tmp_path.glob("*.webp"))
