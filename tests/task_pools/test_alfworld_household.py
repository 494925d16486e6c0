"""The household facts agree with their source, and with themselves."""

import pytest

from rlanything_task_pools.alfworld.household import FLOOR, household


@pytest.mark.textworld
def test_against_the_alfworld_package() -> None:
    from alfworld.gen import constants

    facts = household()
    assert facts.contains == {kind: frozenset(held) for kind, held in constants.VAL_RECEPTACLE_OBJECTS.items()}
    for name, kinds in constants.VAL_ACTION_OBJECTS.items():
        assert facts.affordances[name.lower()] == kinds
    assert facts.affordances["receptacle_object"] == set(constants.MOVABLE_RECEPTACLES)
    assert facts.openable == set(constants.OPENABLE_CLASS_LIST)
    for room in facts.rooms.values():
        assert set(room.objects) | set(room.props) <= set(constants.OBJECTS)
        assert set(room.receptacles) <= set(constants.RECEPTACLES)


def test_the_numbers_make_sense() -> None:
    facts = household()
    assert set(facts.rooms) == {"Kitchen", "LivingRoom", "Bedroom", "Bathroom"}
    for room in facts.rooms.values():
        assert not set(room.objects) & set(room.props)
        assert 0 < room.openable_rate <= 1
        for stats in room.receptacles.values():
            assert 0 < stats.present <= 1
            assert list(stats.quantiles) == sorted(stats.quantiles)
            assert len(stats.quantiles) == 5
            assert stats.quantiles[0] >= 1
        for kind, thing in (room.objects | room.props).items():
            assert 0 < thing.present <= 1, kind
            assert thing.copies >= 1
            assert all(n > 0 for n in thing.places.values())
            assert set(thing.places) <= {FLOOR, *facts.contains}
        for kind, thing in room.objects.items():
            for place in set(thing.places) - {FLOOR}:
                assert place in room.receptacles, (kind, place)
