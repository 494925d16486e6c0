"""How small models read games that begin with a part of the way done, and the truth about games with no way out."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from rlanything_agents.domains.alfworld.belief import Belief
from rlanything_agents.domains.alfworld.supervision import SUPERVISION
from rlanything_agents.reward_models.step_prompts import Judgement
from rlanything_agents.rollout.trajectory import Step, Trajectory
from rlanything_envs.alfworld.texts import parse_start
from rlanything_envs.views import make_env
from rlanything_task_pools import Task
from rlanything_task_pools.alfworld import DOMAIN
from rlanything_verifiers.alfworld import Game, Goal, Scene, World

STARTS = DOMAIN.with_operators(["start"])
ROOM = "You are in the middle of a room. Looking quickly around you, you see a cabinet 2, a cabinet 1, and a fridge 1."
EMPTY = f"-= Welcome to TextWorld, ALFRED! =-\n\n{ROOM}\n\nYour task is to: put a hot apple in fridge."
HELD = EMPTY.replace("\n\nYour task", "\n\nYou are carrying: a apple 3.\n\nYour task")


def episode(opening: str, steps: list[Step]) -> Trajectory:
    return Trajectory("t", "", opening, tuple(steps), -1, "", 0.0, [1], [], [], [], [])


def labels_of(task_payload: Mapping[str, Any], commands: Sequence[str]) -> list[int]:
    return SUPERVISION.true_labels(task_payload, episode("", [Step("", command, "") for command in commands]))


def eased(task: Task, start: str) -> Task | None:
    made = STARTS.validate(task, {"start": start}, direction="easier", author="test")
    return made if isinstance(made, Task) else None


def world_of(task: Task) -> World:
    return World(Game(Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"]), sentence=task.goal))


def in_hand(games: Callable[..., list[Task]], kind: str) -> Task:
    return next(
        held for task in games(60) if task.traits["kind"] == kind and (held := eased(task, "in_hand")) is not None
    )


def test_what_is_in_hand_is_no_receptacle() -> None:
    assert parse_start(EMPTY) == (["cabinet 2", "cabinet 1", "fridge 1"], None)
    assert parse_start(HELD) == (["cabinet 2", "cabinet 1", "fridge 1"], "apple 3")
    belief = Belief(HELD)
    assert (belief.holding, belief.found("apple")) == ("apple 3", [])
    assert belief.receptacles == Belief(EMPTY).receptacles
    belief.update("You move the apple 3 to the fridge 1.")
    assert (belief.holding, belief.found("apple")) == (None, [("fridge 1", "apple 3")])


def test_a_judge_reads_what_is_in_hand() -> None:
    step = Step("need microwave", "go to microwave 1", "You arrive at microwave 1. The microwave 1 is closed.")
    held, empty = (SUPERVISION.judge_texts(episode(opening, [step]))[0] for opening in (HELD, EMPTY))
    assert held == (
        "put a hot apple in fridge <held> apple <wanted> <repeat> 0 <act> need microwave go to microwave 1 <obs> closed"
    )
    assert empty == held.replace("<held> apple <wanted>", "<held> nothing")


@pytest.mark.parametrize("start", ["in_hand", "at_station", "in_view", "in_place"])
def test_openings_of_started_games_are_read_whole(games: Callable[..., list[Task]], start: str) -> None:
    seen = 0
    for task in games(40):
        if (new := eased(task, start)) is None:
            continue
        world, root = world_of(new), world_of(task)
        belief, before = Belief(world.reset()), Belief(root.reset())
        assert belief.holding == world.inventory
        assert (belief.holding is not None) == (start == "in_hand")
        assert belief.receptacles == before.receptacles
        seen += 1
    assert seen >= 3


def test_the_expert_wins_started_games(games: Callable[..., list[Task]]) -> None:
    """Where the thing is in hand nothing has to be searched for; in the other starts the search may be long."""
    env = make_env("RLAnything/AlfWorld-v0", "short")
    won, played = Counter[str](), Counter[str]()
    for seed, task in enumerate(games(60)):
        for start in ("in_hand", "at_station", "in_view", "in_place"):
            if (new := eased(task, start)) is None:
                continue
            expert = SUPERVISION.expert(seed)
            observation, info = env.reset(options={"task": new})
            for _ in range(40):
                move = expert.act(observation, info)
                observation, _, done, _, info = env.step(move.action)
                if done:
                    break
            played[start] += 1
            won[start] += info["outcome"] == 1
    assert played["in_hand"] >= 50
    assert won["in_hand"] >= 0.97 * played["in_hand"]
    assert won.total() >= 0.9 * played.total()


def test_the_truth_about_steps_knows_what_is_in_hand(games: Callable[..., list[Task]]) -> None:
    task = in_hand(games, "clean")
    assert set(labels_of(task.payload, task.proof)) == {1}
    # looking into what could hold another one is no search any more
    world = world_of(task)
    scene, goal = Scene.from_dict(task.payload["scene"]), task.payload["goal"]
    fitting = {place.lower() for place, thing in scene.can_contain if thing == goal["object_type"]}
    world.reset()
    useful = {action for action in task.proof if action.startswith("go to ")}
    looks = [
        command
        for command in world.admissible_commands
        if command.startswith("go to ") and command.split()[2] in fitting and command not in useful
        and command.split()[2] not in ("sinkbasin", goal["receptacle_type"].lower())
    ]  # fmt: skip
    assert looks
    assert {labels_of(task.payload, [command])[0] for command in looks} == {-1}


def test_of_two_things_the_second_is_still_searched_for(games: Callable[..., list[Task]]) -> None:
    """With one in hand the label of a first look is that of the root, where none is."""
    task = in_hand(games, "two")
    root = next(root for root in games(60) if root.id == task.parent)
    world = world_of(task)
    world.reset()
    looks = [command for command in world.admissible_commands if command.startswith("go to ")]
    now, before = ([labels_of(t.payload, [look])[0] for look in looks] for t in (task, root))
    assert now.count(1) > 1
    assert all(label == 1 for label, earlier in zip(now, before, strict=True) if earlier == 1)


def test_heuristic_labels_know_what_is_in_hand(games: Callable[..., list[Task]]) -> None:
    task = in_hand(games, "heat")
    world = world_of(task)
    opening = world.reset()
    steps = [Step("", action, world.step(action)) for action in task.proof]
    assert world.won
    assert [judged.score for judged in SUPERVISION.heuristic_labels(episode(opening, steps))] == [1] * len(steps)
    again = Step("", task.proof[0], world_of(task).step("look"))
    assert SUPERVISION.heuristic_labels(episode(opening, [again, again]))[1] == Judgement("repeated", -1)


def test_games_without_a_way_out_are_labelled_all_the_same(games: Callable[..., list[Task]]) -> None:
    """Some official games cannot be won from where an agent got to: no plan, and only searches count."""
    task = next(task for task in games(60) if task.traits["kind"] == "cool")
    whole = Scene.from_dict(task.payload["scene"])
    fridges = {item.id for item in whole.receptacles if item.type == "Fridge"}
    stripped = replace(
        whole,
        receptacles=tuple(item for item in whole.receptacles if item.id not in fridges),
        things=tuple(thing for thing in whole.things if not fridges & set(thing.receptacles)),
    )
    payload = {"scene": stripped.to_dict(), "goal": task.payload["goal"]}
    world = World(Game(stripped, Goal.from_dict(task.payload["goal"])))
    world.reset()
    commands = [command for command in world.admissible_commands if command.startswith("go to ")]
    labels = labels_of(payload, (*commands, *commands))
    assert set(labels[: len(commands)]) == {1, 0, -1}
    assert set(labels[len(commands) :]) == {-1}
    assert labels_of(payload, []) == []
