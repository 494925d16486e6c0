"""ALFWorld for training: beliefs, the expert, heuristic labels, the truth about steps, and what a judge reads."""

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

from rlanything_agents.domains.alfworld.belief import Belief
from rlanything_agents.domains.alfworld.expert import ExploringExpert
from rlanything_agents.domains.alfworld.supervision import SUPERVISION
from rlanything_agents.reward_models.step_prompts import Judgement
from rlanything_agents.rollout.trajectory import Step, Trajectory
from rlanything_envs.alfworld.words import TYPES, WORDS
from rlanything_envs.views import make_env
from rlanything_task_pools import Task
from rlanything_verifiers.alfworld import Game, Goal, Receptacle, Scene, Thing, World

OPENING = (
    "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see a "
    "cabinet 2, a cabinet 1, a fridge 1, and a sinkbasin 1.\n\nYour task is to: clean some apple and put it in fridge."
)


def episode(opening: str, steps: list[Step]) -> Trajectory:
    return Trajectory("t", "", opening, tuple(steps), -1, "", 0.0, [1], [], [], [], [])


def kitchen(kind: str = "clean") -> dict[str, Any]:
    """Cabinet 1 (closed) holds the apple; cabinet 2 a cup; the fridge is closed and empty."""
    counts = {"Cabinet": 2, "Fridge": 1, "SinkBasin": 1, "Microwave": 1}
    suffix = {"SinkBasin": "_bar_basin"}  # the game calls it sinkbasin because of it
    receptacles = [
        Receptacle(
            f"{name.removesuffix('Basin')}_bar_{n}{suffix.get(name, '')}",
            name,
            f"loc_bar_{name}_{n}",
            openable=name != "SinkBasin",
        )
        for name, count in counts.items()
        for n in range(1, count + 1)
    ]

    def thing(name: str, place: str, **flags: bool) -> Thing:
        return Thing(
            f"{name}_bar_1",
            name,
            (place,),
            next(r.location for r in receptacles if r.id == place),
            pickupable=True,
            **flags,
        )

    # The game counts from the end of the sorted ids: Cabinet_bar_2 is called cabinet 1.
    things = [thing("Apple", "Cabinet_bar_2", cleanable=True, heatable=True), thing("Cup", "Cabinet_bar_1")]
    pairs = [(r, t) for r in ("Cabinet", "Fridge", "SinkBasin", "Microwave") for t in ("Apple", "Cup")]
    pairs.remove(("SinkBasin", "Cup"))
    scene = Scene("loc_bar_0", tuple(receptacles), tuple(things), frozenset(pairs))
    goal = {"kind": kind, "object_type": "Apple", "receptacle_type": "Fridge"}
    return json.loads(json.dumps({"scene": scene.to_dict(), "goal": goal}))


def play(payload: dict[str, Any], commands: list[str]) -> Trajectory:
    world = World(Game(Scene.from_dict(payload["scene"]), Goal.from_dict(payload["goal"])))
    opening = world.reset()
    steps = []
    for command in commands:
        assert command == "nonsense" or command in world.admissible_commands, (command, world.admissible_commands)
        steps.append(Step("find apple", command, world.step(command)))
    return episode(opening, steps)


def test_every_household_type_has_a_word(games: Callable[..., list[Task]]) -> None:
    types = set()
    for task in games(60) + games(30, split="valid_unseen"):
        scene = Scene.from_dict(task.payload["scene"])
        types |= {entry.type for part in (scene.receptacles, scene.things) for entry in part}
    assert len(types) > 60
    assert {name.lower() for name in types} <= set(TYPES)


def test_belief_follows_the_messages() -> None:
    commands = ["go to cabinet 1", "open cabinet 1", "take apple 1 from cabinet 1", "go to fridge 1", "open fridge 1",
                "move apple 1 to fridge 1"]  # fmt: skip
    played = play(kitchen("heat"), commands)
    belief, steps = Belief(played.opening), played.steps
    assert sorted(belief.receptacles) == ["cabinet 1", "cabinet 2", "fridge 1", "microwave 1", "sinkbasin 1"]
    belief.update(steps[0].observation)
    assert (belief.place, belief.closed, belief.contents) == ("cabinet 1", {"cabinet 1"}, {})
    belief.update(steps[1].observation)
    assert belief.closed == set()
    assert belief.found("apple") == [("cabinet 1", "apple 1")]
    belief.update(steps[2].observation)
    assert (belief.holding, belief.found("apple")) == ("apple 1", [])
    for step in steps[3:]:
        belief.update(step.observation)
    assert (belief.holding, belief.found("apple")) == (None, [("fridge 1", "apple 1")])


@pytest.mark.parametrize("view", ["short", "full"])
def test_the_expert_solves_most_games_without_knowing_places(view: str, games: Callable[..., list[Task]]) -> None:
    """In either view: it sees what an agent sees, and the game's own message."""
    env, solved, steps, mistakes, moves = make_env("RLAnything/AlfWorld-v0", view), 0, 0, 0, 0
    tasks = games(60)
    for seed, task in enumerate(tasks):
        expert = SUPERVISION.expert(seed)
        observation, info = env.reset(options={"task": task})
        for _ in range(40):
            move = expert.act(observation, info)
            assert move.action in info["admissible_commands"]
            assert set(move.thought.split()) <= set(WORDS)
            mistakes, moves = mistakes + (not move.exemplary), moves + 1
            observation, _, done, _, info = env.step(move.action)
            steps += 1
            if done:
                solved += 1
                break
    assert solved / len(tasks) > 0.8
    assert steps / len(tasks) > 2 * sum(len(task.proof) for task in tasks) / len(tasks), "it must have to search"
    assert 0.06 < mistakes / moves < 0.2


def test_the_expert_is_deterministic(games: Callable[..., list[Task]], envs: list[gym.Env[str, str]]) -> None:
    def commands(seed: int) -> list[str]:
        expert = ExploringExpert(seed)
        observation, info = envs[0].reset(options={"task": games(1)[0]})
        given = []
        for _ in range(10):
            given.append(expert.act(observation, info).action)
            observation, _, done, _, info = envs[0].step(given[-1])
            if done:
                break
        return given

    assert commands(1) == commands(1)
    assert commands(1) != commands(2)


def no_apple_in(payload: dict[str, Any], *places: str) -> dict[str, Any]:
    """The same kitchen, in which an apple does not fit into receptacles of these types."""
    fits = {
        place: [thing for thing in things if place not in places or thing != "Apple"]
        for place, things in payload["scene"]["can_contain"].items()
    }
    return {**payload, "scene": {**payload["scene"], "can_contain": fits}}


STORIES: dict[str, tuple[dict[str, Any], list[tuple[str, int]]]] = {
    "a search, a loop and the way to the goal": (kitchen(), [
        ("go to cabinet 2", 1),  # closed and not looked into, and an apple fits into it
        ("open cabinet 2", 1),
        ("close cabinet 2", -1),
        ("open cabinet 2", -1),  # looked into before
        ("nonsense", -1),
        ("inventory", -1),
        ("go to cabinet 1", 1),
        ("open cabinet 1", 1),
        ("take apple 1 from cabinet 1", 1),
        ("go to microwave 1", -1),  # not looked into, but the apple has been found
        ("open microwave 1", -1),
        ("go to sinkbasin 1", 1),
        ("clean apple 1 with sinkbasin 1", 1),
        ("go to fridge 1", 1),
        ("open fridge 1", 1),
        ("move apple 1 to fridge 1", 1),
    ]),
    "places passed by": (kitchen(), [
        ("go to fridge 1", 1),
        ("go to microwave 1", 1),
        ("go to fridge 1", -1),  # for the second time, and the apple is not there
        ("look", -1),
        ("examine fridge 1", -1),  # it is closed: nothing is seen
        ("open fridge 1", 1),
    ]),
    "where no apple can be": (no_apple_in(kitchen(), "Microwave", "Cabinet"), [
        ("go to microwave 1", 0),
        ("open microwave 1", 0),
        ("go to cabinet 2", 0),
        ("open cabinet 2", 0),
        ("take cup 1 from cabinet 2", -1),
        ("move cup 1 to cabinet 2", 1),  # the hand is free again
        ("go to microwave 1", -1),
    ]),
    "undone": (kitchen("simple"), [
        ("go to cabinet 1", 1),
        ("open cabinet 1", 1),
        ("take apple 1 from cabinet 1", 1),
        ("move apple 1 to cabinet 1", -1),
        ("take apple 1 from cabinet 1", 1),
        ("go to fridge 1", 1),
        ("open fridge 1", 1),
        ("close fridge 1", -1),
        ("open fridge 1", 1),  # makes good what the step before undid
        ("move apple 1 to fridge 1", 1),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", STORIES)
def test_truth_about_steps(name: str) -> None:
    payload, story = STORIES[name]
    played = play(payload, [command for command, _ in story])
    assert SUPERVISION.true_labels(payload, played) == [label for _, label in story]


def played_by(expert: ExploringExpert, env: gym.Env[str, str], task: Task) -> Trajectory:
    observation, info = env.reset(options={"task": task})
    opening, steps = observation, []
    for _ in range(40):
        move = expert.act(observation, info)
        observation, _, done, _, info = env.step(move.action)
        steps.append(Step(move.thought, move.action, observation))
        if done:
            break
    return episode(opening, steps)


def test_an_expert_without_mistakes_hardly_takes_a_wrong_step(games: Callable[..., list[Task]]) -> None:
    """Of its steps 95 of 100 are 1 or 0, and of none of its common actions more than one in ten is wrong."""
    env, labels = make_env("RLAnything/AlfWorld-v0", "full"), defaultdict[str, list[int]](list)
    for seed, task in enumerate(games(40)):
        played = played_by(ExploringExpert(seed, mistakes=0.0), env, task)
        for step, label in zip(played.steps, SUPERVISION.true_labels(task.payload, played), strict=True):
            labels[step.action.split()[0]].append(label)
    all_labels = [label for found in labels.values() for label in found]
    assert all_labels.count(-1) <= 0.05 * len(all_labels)
    for verb in ("go", "open", "take", "move"):
        assert labels[verb].count(-1) <= 0.1 * len(labels[verb]), verb
    for verb in ("take", "move", "use", "clean", "heat", "cool"):
        assert labels[verb].count(1) >= 0.95 * len(labels[verb]), verb


def test_random_play_is_mostly_wrong(games: Callable[..., list[Task]]) -> None:
    env, labels = make_env("RLAnything/AlfWorld-v0", "full"), list[int]()
    for seed, task in enumerate(games(15)):
        labels += SUPERVISION.true_labels(task.payload, played_by(ExploringExpert(seed, mistakes=1.0), env, task))
    assert labels.count(-1) > 0.5 * len(labels)


def test_truth_and_heuristic_agree_on_what_a_search_is(games: Callable[..., list[Task]]) -> None:
    """A heuristic label knows no scene, so it calls a search good where nothing can be found too; never the reverse."""
    env, searches = make_env("RLAnything/AlfWorld-v0", "full"), 0
    for seed, task in enumerate(games(30)):
        played = played_by(ExploringExpert(seed, mistakes=0.3), env, task)
        truth, labels = SUPERVISION.true_labels(task.payload, played), SUPERVISION.heuristic_labels(played)
        belief = Belief(played.full_opening)
        for step, true, label in zip(played.steps, truth, labels, strict=True):
            sought = belief.sought
            if belief.update(step.full) and sought:
                searches += 1
                assert true >= 0, step.action
                assert label == Judgement("discovery", 1), step.action
            else:
                assert true, f"{step.action}: neither right nor wrong, and no search"
    assert searches > 200


def test_the_potential_is_minus_the_share_of_the_plan_that_remains(games: Callable[..., list[Task]]) -> None:
    for task in games(10):
        plan = list(task.proof)
        wasted = [plan[0], "inventory", *plan[1:]]
        found = SUPERVISION.potentials(task.payload, episode("", [Step("", action, "") for action in wasted]))
        assert len(found) == len(wasted) + 1
        assert (found[0], found[-1]) == (-1.0, 0.0)
        assert found[1] == found[2], "a wasted turn brings the end no nearer"
        without = [*found[:2], *found[3:]]
        assert without == pytest.approx([k / len(plan) - 1 for k in range(len(plan) + 1)])


def test_going_astray_lowers_the_potential() -> None:
    story = ["go to cabinet 1", "open cabinet 1", "take apple 1 from cabinet 1", "move apple 1 to cabinet 1"]
    found = SUPERVISION.potentials(kitchen(), play(kitchen(), story))
    assert found[0] < found[1] < found[2] < found[3]
    assert found[4] < found[3]


def test_following_a_proof_is_always_right(games: Callable[..., list[Task]]) -> None:
    for task in games(40):
        steps = [Step("", action, "") for action in task.proof]
        assert set(SUPERVISION.true_labels(task.payload, episode("", steps))) == {1}, task.goal


def test_heuristic_labels() -> None:
    commands = ["go to cabinet 2", "open cabinet 2", "take cup 1 from cabinet 2", "nonsense", "go to cabinet 1",
                "open cabinet 1", "move cup 1 to cabinet 1", "take apple 1 from cabinet 1", "go to sinkbasin 1",
                "clean apple 1 with sinkbasin 1", "inventory", "go to fridge 1", "open fridge 1",
                "move apple 1 to fridge 1"]  # fmt: skip
    labels = SUPERVISION.heuristic_labels(play(kitchen(), commands))
    judged = dict(zip(commands, labels, strict=True))
    assert judged["go to cabinet 2"] == Judgement("discovery", 1)
    assert judged["take cup 1 from cabinet 2"] == Judgement("useless", -1)
    assert judged["nonsense"] == Judgement("refused", -1)
    assert judged["inventory"] == Judgement("useless", -1)
    for command in ("take apple 1 from cabinet 1", "clean apple 1 with sinkbasin 1", "move apple 1 to fridge 1"):
        assert judged[command] == Judgement("progress", 1)
    again = play(kitchen(), ["go to cabinet 2", "go to cabinet 1", "go to cabinet 2"])
    assert SUPERVISION.heuristic_labels(again)[2] == Judgement("repeated", -1)


def test_a_judge_reads_the_step_and_its_recent_past_only() -> None:
    steps = [Step("find apple", f"go to cabinet {n}", f"You arrive at cabinet {n}. The cabinet {n} is closed.")
             for n in (1, 2, 3, 4, 5, 6, 1)]  # fmt: skip
    texts = SUPERVISION.judge_texts(episode(OPENING, steps))
    assert texts[6] == (
        "clean some apple and put it in fridge "
        + " ".join(f"<act> go to cabinet {n} <obs> closed" for n in (3, 4, 5, 6))
        + " <held> nothing <repeat> 1 <act> find apple go to cabinet 1 <new> <obs> closed"
    )
    assert SUPERVISION.judge_texts(episode(OPENING, steps[:4])) == texts[:4]


def test_a_judge_reads_what_the_task_names_and_what_is_known() -> None:
    commands = ["go to cabinet 1", "open cabinet 1", "take apple 1 from cabinet 1", "go to sinkbasin 1",
                "clean apple 1 with sinkbasin 1", "go to fridge 1", "open fridge 1",
                "move apple 1 to fridge 1"]  # fmt: skip
    texts = SUPERVISION.judge_texts(play(kitchen(), commands))
    assert texts[1].endswith("<held> nothing <repeat> 0 <act> find apple open cabinet 1 <new> <obs> apple <wanted> 1")
    assert "<held> nothing <seen> <repeat> 0 <act>" in texts[2]
    assert "<held> apple <wanted> <repeat> 0 <act>" in texts[4]
    assert texts[7].endswith(
        "<held> apple <wanted> <ready> <repeat> 0 <act> find apple move apple <wanted> 1 to fridge <home> 1 <obs> ok"
    )
