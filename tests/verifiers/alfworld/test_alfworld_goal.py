"""Goals: wording, recognition in PDDL, refusal of everything else."""

import pytest
from alfworld_scenes import bedroom, kitchen

from rlanything_verifiers.alfworld import (
    GOAL_KINDS,
    TASK_TYPES,
    Game,
    GameFormatError,
    Goal,
    GoalKind,
    dump_game,
    load_game,
)
from rlanything_verifiers.alfworld.problem import goal_text


@pytest.mark.parametrize(
    ("kind", "task_type", "sentences"),
    [
        ("simple", "pick_and_place_simple", ["put a mug in shelf.", "put some mug on shelf."]),
        (
            "clean",
            "pick_clean_then_place_in_recep",
            ["put a clean mug in shelf.", "clean some mug and put it in shelf."],
        ),
        ("heat", "pick_heat_then_place_in_recep", ["put a hot mug in shelf.", "heat some mug and put it in shelf."]),
        ("cool", "pick_cool_then_place_in_recep", ["put a cool mug in shelf.", "cool some mug and put it in shelf."]),
        ("two", "pick_two_obj_and_place", ["put two mug in shelf.", "find two mug and put them in shelf."]),
        ("look", "look_at_obj_in_light", ["look at mug under the shelf.", "examine the mug with the shelf."]),
    ],
)
def test_wording(kind: GoalKind, task_type: str, sentences: list[str]) -> None:
    goal = Goal(kind, "Mug", "Shelf")
    assert TASK_TYPES[goal.kind] == task_type
    assert [goal.sentence(0), goal.sentence(1)] == sentences
    assert Goal.from_dict(goal.to_dict()) == goal


@pytest.mark.parametrize(
    "args", [("fly", "Mug", "Shelf"), ("simple", "Mu g", "Shelf"), ("simple", "Mug", ""), ("two", 3, "A")]
)
def test_bad_goals_are_refused(args: tuple[GoalKind, str, str]) -> None:
    with pytest.raises(GameFormatError):
        Goal(*args)


def with_goal(goal: str) -> dict[str, str]:
    game = dump_game(Game(kitchen(), Goal("simple", "Apple", "Drawer")))
    problem = str(game["pddl_problem"])
    return {**game, "pddl_problem": problem[: problem.index("(:goal")] + f"(:goal {goal}))"}


@pytest.mark.parametrize("kind", GOAL_KINDS)
def test_written_goals_are_read_back(kind: GoalKind) -> None:
    scene = bedroom() if kind == "look" else kitchen()
    goal = Goal(kind, "Pen", "DeskLamp") if kind == "look" else Goal(kind, "Mug", "StoveBurner")
    assert load_game(dump_game(Game(scene, goal))).goal == goal


def test_order_nesting_and_variable_names_do_not_matter() -> None:
    text = """(exists (?a ?b - object ?c - receptacle) (and (and (inReceptacle ?a ?c) (not (= ?b ?a)))
              (receptacleType ?c DrawerType) (objectType ?b SpoonType) (inReceptacle ?b ?c)
              (OBJECTTYPE ?a SpoonType)))"""
    assert load_game(with_goal(text)).goal == Goal("two", "Spoon", "Drawer")


@pytest.mark.parametrize(
    ("goal", "named"),
    [
        (
            "(exists (?r - receptacle ?o - object) (or (and (inReceptacle ?o ?r) (objectType ?o AppleType)"
            " (receptacleType ?r FridgeType)) (and (inReceptacle ?o ?r) (objectType ?o MugType))))",
            "'or'",
        ),
        ("(forall (?o - object) (isClean ?o))", "'forall'"),
        ("(exists (?o - object) (isSliced ?o))", "issliced"),
        (
            "(exists (?r - receptacle ?o - object) (and (inReceptacle ?o ?r) (isSliced ?o)"
            " (objectType ?o AppleType) (receptacleType ?r FridgeType)))",
            "issliced",
        ),
        ("(inReceptacle Apple_bar_1 Drawer_bar_1)", "inreceptacle"),
        ("(not (exists (?o - object) (isClean ?o)))", "'not'"),
        ("(exists (?x - otype) (objectType Apple_bar_1 ?x))", "otype"),
        (
            "(exists (?r - receptacle ?o - object) (and (inReceptacle ?o ?r) (objectType ?o AppleType)"
            " (receptacleType ?r FridgeType) (cleanable ?o) (isHot ?o)))",
            "cleanable",
        ),
        (  # two objects, but each in a receptacle of its own
            "(exists (?r ?s - receptacle ?o ?p - object) (and (inReceptacle ?o ?r) (inReceptacle ?p ?s)"
            " (objectType ?o MugType) (objectType ?p MugType) (not (= ?o ?p)) (receptacleType ?r FridgeType)"
            " (receptacleType ?s FridgeType)))",
            "2 receptacles",
        ),
        ("(and)", "nothing"),
        ("(and" * 40 + ")" * 40, "deep"),
    ],
)
def test_other_goals_are_unsupported(goal: str, named: str) -> None:
    with pytest.raises(GameFormatError, match="(?s).*" + named.replace("(", r"\(")):
        load_game(with_goal(goal))


def test_goal_with_two_conditions_for_two_types_is_unsupported() -> None:
    simple = [goal_text(Goal("simple", name, "Fridge")) for name in ("Apple", "Mug")]
    with pytest.raises(GameFormatError):
        load_game(with_goal(f"(and {' '.join(simple)})"))
