"""ALFWorld in words: transcripts, the expert, the rule of thumb, and the truth about steps."""

import json
from collections.abc import Callable

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlanything_agents.domains.alfworld.dialect import AlfWorldDialect
from rlanything_agents.domains.alfworld.words import TYPES, WORDS
from rlanything_agents.rollout.dialect import Judgement, Step, UnknownDialect, get_dialect

from rlanything_agents.config import RunConfig
from rlanything_agents.domains.alfworld.belief import Belief, TaskWords, parse_task
from rlanything_agents.domains.alfworld.expert import ExploringExpert
from rlanything_agents.runs.parts import make_envs
from rlanything_task_pools import Task
from rlanything_verifiers.alfworld import GOAL_KINDS, Game, Goal, Receptacle, Scene, Thing, World

NAMES = frozenset(TYPES)
OPENING = (
    "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see a "
    "cabinet 2, a cabinet 1, a fridge 1, and a sinkbasin 1.\n\nYour task is to: clean some apple and put it in fridge."
)


def kitchen(kind: str = "clean") -> dict[str, object]:
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


def play(payload: dict[str, object], commands: list[str]) -> tuple[str, list[Step]]:
    world = World(Game(Scene.from_dict(payload["scene"]), Goal.from_dict(payload["goal"])))
    opening = world.reset()
    steps = []
    for command in commands:
        assert command == "nonsense" or command in world.admissible_commands, (command, world.admissible_commands)
        steps.append(Step("find apple", command, world.step(command)))
    return opening, steps


def test_opening_is_task_and_room(dialect: AlfWorldDialect) -> None:
    text = dialect.tokenizer.decode(dialect.opening(OPENING))
    assert text == ("<bos> clean some apple and put it in fridge <room> cabinet 2 fridge 1 sinkbasin 1 <act>")


@pytest.mark.parametrize(
    ("message", "short"),
    [
        ("You arrive at cabinet 2. On the cabinet 2, you see a cup 1, and a apple 12.", "cup 1 apple 12"),
        ("You arrive at cabinet 2. On the cabinet 2, you see nothing.", "nothing"),
        ("You arrive at drawer 1. The drawer 1 is closed.", "closed"),
        ("You open the drawer 1. The drawer 1 is open. In it, you see a pen 1.", "pen 1"),
        ("You pick up the apple 1 from the cabinet 2.", "ok"),
        ("You move the apple 1 to the fridge 1.", "ok"),
        ("You heat the apple 1 using the microwave 1.", "ok"),
        ("You turn on the desklamp 1.", "ok"),
        ("You close the fridge 1.", "ok"),
        ("Nothing happens.", "nothing happens"),
        ("You are carrying: a apple 1.", "carrying apple 1"),
        ("This is a hot and clean apple 1.", "hot and clean apple 1"),
        ("", ""),
    ],
)
def test_messages_in_short(dialect: AlfWorldDialect, message: str, short: str) -> None:
    assert dialect.tokenizer.decode(dialect.message(message)).split() == ["<obs>", *short.split(), "<act>"]


@given(st.text(max_size=2000))
@settings(max_examples=100)
def test_any_message_gives_a_bounded_run_of_known_ids(text: str) -> None:
    dialect = get_dialect("alfworld")
    for ids in (dialect.message(text), dialect.opening(text), *dialect.judge_prompts(text, [Step(text, text, text)])):
        assert all(0 <= i < len(dialect.tokenizer) for i in ids)
    assert len(dialect.message(text)) <= 66


def test_a_list_of_commands_in_the_observations_changes_nothing(
    dialect: AlfWorldDialect, games: Callable[..., list[Task]]
) -> None:
    config = RunConfig.model_validate({"name": "x", "environment": {"admissible": "list"}})
    (listing,) = make_envs(config, dialect, 1)
    plain = gym.make("RLAnything/AlfWorld-v0")
    (task,) = games(1)
    (told, _), (first, _) = listing.reset(options={"task": task}), plain.reset(options={"task": task})
    assert told.startswith(f"{first}\n\nAdmissible commands: ")
    assert dialect.opening(told) == dialect.opening(first)
    expert, other = ExploringExpert(NAMES, seed=1), ExploringExpert(NAMES, seed=1)
    done = False
    while not done:
        commands = plain.get_wrapper_attr("_world").admissible_commands
        move = expert.act(told, commands)
        assert move == other.act(first, commands)
        told, _, done, cut, _ = listing.step(move.action)
        first, *_ = plain.step(move.action)
        done = done or cut
        assert told.startswith(first)
        assert dialect.message(told) == dialect.message(first)


def test_turns_can_be_read_back(dialect: AlfWorldDialect, games: Callable[..., list[Task]]) -> None:
    env = gym.make("RLAnything/AlfWorld-v0")
    seen = set()
    for task in games(12):
        _, info = env.reset(options={"task": task})
        for action in task.proof:
            seen.update(info["admissible_commands"])
            *_, info = env.step(action)
    assert len(seen) > 150
    for command in seen:
        ids = [*dialect.thought("find apple"), *dialect.command(command)]
        assert dialect.tokenizer.unk_token_id not in ids
        assert dialect.read_turn(ids) == ("find apple", command)


def test_every_household_type_has_a_word(games: Callable[..., list[Task]]) -> None:
    types = set()
    for task in games(60) + games(30, split="valid_unseen"):
        scene = task.payload["scene"]
        types |= {
            entry.type for part in (Scene.from_dict(scene).receptacles, Scene.from_dict(scene).things) for entry in part
        }
    assert len(types) > 60
    assert {name.lower() for name in types} <= NAMES
    assert len(WORDS) == len(set(WORDS))


@pytest.mark.parametrize("kind", GOAL_KINDS)
@pytest.mark.parametrize("variant", [0, 1])
def test_task_sentences_are_understood(kind: str, variant: int) -> None:
    place = "DeskLamp" if kind == "look" else "CounterTop"
    sentence = Goal(kind, "Mug", place).sentence(variant)
    assert parse_task(f"You are here.\n\nYour task is to: {sentence}", NAMES) == (
        sentence.rstrip("."),
        TaskWords(kind, "mug", place.lower()),
    )


def test_belief_follows_the_messages() -> None:
    commands = ["go to cabinet 1", "open cabinet 1", "take apple 1 from cabinet 1", "go to fridge 1", "open fridge 1",
                "move apple 1 to fridge 1"]  # fmt: skip
    opening, steps = play(kitchen("heat"), commands)
    belief = Belief(opening, NAMES)
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


def test_expert_wins_most_games_without_knowing_places(
    dialect: AlfWorldDialect, games: Callable[..., list[Task]]
) -> None:
    env, won, steps, mistakes, moves = gym.make("RLAnything/AlfWorld-v0"), 0, 0, 0, 0
    tasks = games(120)
    for seed, task in enumerate(tasks):
        expert = dialect.expert(seed)
        observation, info = env.reset(options={"task": task})
        for _ in range(40):
            move = expert.act(observation, info["admissible_commands"])
            assert move.action in info["admissible_commands"]
            assert dialect.tokenizer.unk_token_id not in dialect.thought(move.thought)
            mistakes, moves = mistakes + (not move.exemplary), moves + 1
            observation, _, done, _, info = env.step(move.action)
            steps += 1
            if done:
                won += 1
                break
    assert won / len(tasks) > 0.8
    assert steps / len(tasks) > 2 * sum(len(task.proof) for task in tasks) / len(tasks), "it must have to search"
    assert 0.06 < mistakes / moves < 0.2


def test_expert_is_deterministic(games: Callable[..., list[Task]]) -> None:
    env = gym.make("RLAnything/AlfWorld-v0")

    def commands(seed: int) -> list[str]:
        expert = ExploringExpert(NAMES, seed)
        observation, info = env.reset(options={"task": games(1)[0]})
        given = []
        for _ in range(10):
            given.append(expert.act(observation, info["admissible_commands"]).action)
            observation, _, done, _, info = env.step(given[-1])
            if done:
                break
        return given

    assert commands(1) == commands(1)
    assert commands(1) != commands(2)


def test_truth_about_steps(dialect: AlfWorldDialect) -> None:
    story = [
        ("go to cabinet 2", -1),  # it is closed: nothing seen, no nearer
        ("open cabinet 2", 1),  # first look into a place that could hold an apple
        ("close cabinet 2", -1),
        ("open cabinet 2", -1),  # not the first look
        ("nonsense", -1),
        ("go to cabinet 1", 1),  # shortens the plan
        ("open cabinet 1", 1),
        ("take apple 1 from cabinet 1", 1),
        ("go to microwave 1", -1),  # a look, but the apple has been found
        ("open microwave 1", -1),
        ("go to sinkbasin 1", 1),
        ("clean apple 1 with sinkbasin 1", 1),
        ("go to fridge 1", 1),
        ("open fridge 1", 1),
        ("move apple 1 to fridge 1", 1),
    ]
    payload = kitchen()
    _, steps = play(payload, [command for command, _ in story])
    assert dialect.true_labels(payload, steps) == [label for _, label in story]


def test_following_a_proof_is_always_right(dialect: AlfWorldDialect, games: Callable[..., list[Task]]) -> None:
    for task in games(40):
        steps = [Step("", action, "") for action in task.proof]
        assert set(dialect.true_labels(task.payload, steps)) == {1}, task.goal


def test_rule_of_thumb(dialect: AlfWorldDialect) -> None:
    commands = ["go to cabinet 2", "open cabinet 2", "take cup 1 from cabinet 2", "nonsense", "go to cabinet 1",
                "open cabinet 1", "move cup 1 to cabinet 1", "take apple 1 from cabinet 1", "go to sinkbasin 1",
                "clean apple 1 with sinkbasin 1", "inventory", "go to fridge 1", "open fridge 1",
                "move apple 1 to fridge 1"]  # fmt: skip
    opening, steps = play(kitchen(), commands)
    judged = dict(zip(commands, dialect.opinions(opening, steps), strict=True))
    assert judged["go to cabinet 2"] == Judgement("discovery", 1)
    assert judged["take cup 1 from cabinet 2"] == Judgement("useless", -1)
    assert judged["nonsense"] == Judgement("refused", -1)
    assert judged["inventory"] == Judgement("useless", -1)
    for command in ("take apple 1 from cabinet 1", "clean apple 1 with sinkbasin 1", "move apple 1 to fridge 1"):
        assert judged[command] == Judgement("progress", 1)
    again, repeats = play(kitchen(), ["go to cabinet 2", "go to cabinet 1", "go to cabinet 2"])
    assert dialect.opinions(again, repeats)[2] == Judgement("repeated", -1)


def test_judge_reads_the_step_and_its_recent_past_only(dialect: AlfWorldDialect) -> None:
    steps = [Step("find apple", f"go to cabinet {n}", f"You arrive at cabinet {n}. The cabinet {n} is closed.")
             for n in (1, 2, 3, 4, 5, 6, 1)]  # fmt: skip
    prompts = dialect.judge_prompts(OPENING, steps)
    assert dialect.tokenizer.decode(prompts[6]) == (
        "<bos> clean some apple and put it in fridge "
        + " ".join(f"<act> goto cabinet {n} <obs> closed" for n in (3, 4, 5, 6))
        + " <held> nothing <repeat> 1 <act> find apple goto cabinet 1 <new> <obs> closed <answer>"
    )
    assert dialect.judge_prompts(OPENING, steps[:4]) == prompts[:4]
    assert dialect.tokenizer.decode(dialect.judgement(Judgement("useless", -1))) == r"useless \boxed{-1} <eos>"


def test_judge_is_shown_what_the_task_names_and_what_is_known(dialect: AlfWorldDialect) -> None:
    commands = ["go to cabinet 1", "open cabinet 1", "take apple 1 from cabinet 1", "go to sinkbasin 1",
                "clean apple 1 with sinkbasin 1", "go to fridge 1", "open fridge 1",
                "move apple 1 to fridge 1"]  # fmt: skip
    prompts = [dialect.tokenizer.decode(ids) for ids in dialect.judge_prompts(*play(kitchen(), commands))]
    assert prompts[1].endswith(
        "<held> nothing <repeat> 0 <act> find apple open cabinet 1 <new> <obs> apple <wanted> 1 <answer>"
    )
    assert "<held> nothing <seen> <repeat> 0 <act>" in prompts[2]
    assert "<held> apple <wanted> <repeat> 0 <act>" in prompts[4]
    assert prompts[7].endswith(
        "<held> apple <wanted> <ready> <repeat> 0 <act> find apple move apple <wanted> 1 to fridge <home> 1"
        " <obs> ok <answer>"
    )


def test_domains_without_a_dialect_are_named() -> None:
    with pytest.raises(UnknownDialect, match="'chess'"):
        get_dialect("chess")
