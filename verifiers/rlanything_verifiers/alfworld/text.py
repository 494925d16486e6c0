"""Messages of the game, word for word."""

NOTHING_HAPPENS = "Nothing happens."

HELP = """\
Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""


def listing(names: list[str]) -> str:
    """Join names the way the game does: ``"a b 2, a b 1, and a c 1"``, or ``"nothing"``."""
    if not names:
        return "nothing"
    if len(names) == 1:
        return f"a {names[0]}"
    return ", ".join([f"a {name}" for name in names[:-1]]) + f", and a {names[-1]}"


def facing(names: list[str], beside: str) -> str:
    """The message of ``look`` at a place with receptacles; ``beside`` lists the things next to them."""
    head = names[0] if len(names) == 1 else ", ".join(names[:-1]) + f", and {names[-1]}"
    return f"You are facing the {head}. Next to it, you see {beside}."


def middle_of_room(around: str) -> str:
    """The message of ``look`` away from receptacles; ``around`` lists the visible things."""
    return f"You are in the middle of a room. Looking quickly around you, you see {around}."


def carrying(name: str | None) -> str:
    """The message of ``inventory``; part of the intro where the game begins with a thing in hand."""
    return "You are not carrying anything." if name is None else f"You are carrying: a {name}."


def thing_condition(name: str, *, hot: bool, cool: bool, clean: bool, sliced: bool) -> str:
    """The examination of a thing that holds nothing. A cool thing that is nothing else is called cold."""
    words = ["hot"] if hot else ["cool"] if cool else []
    if clean:
        words.append("clean")
    if sliced:
        return f"This is a {' and '.join(words)} sliced {name}." if words else f"This is a sliced {name}."
    if not words:
        return f"There's nothing special about {name}."
    return f"This is a {'cold' if words == ['cool'] else ' and '.join(words)} {name}."
