"""The words of ALFWorld: some 250 tokens say every task, command and message of the household.

The type names are those of the AI2-THOR objects that ALFRED's rooms hold, in the lower case the game prints.
"""

from __future__ import annotations

__all__ = ["ACT", "ANSWER", "END", "OBS", "PHASES", "REASONS", "REPEAT", "ROOM", "SCORES", "TYPES", "WORDS"]
__all__ += ["HELD", "HOME", "NEW", "READY", "SEEN", "WANTED"]

ROOM, OBS, ACT, END = "<room>", "<obs>", "<act>", "<end>"
"""Marks of a transcript: the room's receptacles, a message, a turn of the agent, the end of its command."""

REPEAT, ANSWER = "<repeat>", "<answer>"
"""Marks of a judge's prompt: how often the command was given before, and where the judgement starts."""

PHASES = ("find", "get", "prep", "put", "light", "idle")
"""First word of a thought: what the agent is about. The second word is a type: what it is about it."""

REASONS = ("progress", "discovery", "useless", "repeated", "refused")
"""First word of a judgement."""

SCORES = {r"\boxed{1}": 1, r"\boxed{-1}": -1}
"""Second word of a judgement."""

_TYPES = """
    alarmclock apple armchair baseballbat basketball bathtub bathtubbasin bed blinds book boots bowl box bread
    butterknife cabinet candle cart cd cellphone chair cloth coffeemachine coffeetable countertop creditcard cup
    curtains desk desklamp diningtable dishsponge drawer dresser egg faucet floorlamp footstool fork fridge
    garbagecan glassbottle handtowel handtowelholder houseplant kettle keychain knife ladle laptop laundryhamper
    laundryhamperlid lettuce lightswitch microwave mirror mug newspaper ottoman painting pan papertowel
    papertowelroll pen pencil peppershaker pillow plate plunger poster pot potato remotecontrol safe saltshaker
    scrubbrush shelf showerdoor showerglass sidetable sink sinkbasin soapbar soapbottle sofa spatula spoon
    spraybottle statue stoveburner stoveknob teddybear television tennisracket tissuebox toaster toilet
    toiletpaper toiletpaperhanger toiletpaperroll tomato towel towelholder tvstand vase watch wateringcan window
    winebottle
"""

TYPES = tuple(_TYPES.split())
"""Types of things and receptacles; a box, and a few more, can be either."""

_COMMANDS = "goto take from move to open close use heat cool clean slice with examine inventory look help"
_MESSAGES = (
    "ok nothing happens closed on off in facing next carrying normal hot cold sliced not special any anything switch"
)
_GOALS = "a an some and it two them under the at"
_NUMBERS = 61
"""Receptacles of one type and copies of one object are numbered from 1; official rooms reach the fifties."""

NOTES = (WANTED, HOME, HELD, READY, SEEN, NEW) = ("<wanted>", "<home>", "<held>", "<ready>", "<seen>", "<new>")
"""What a judge's case file points out: a thing or a place that the task names, what is in hand, that it is
prepared, that what is sought has been seen, that a receptacle is looked into for the first time."""

WORDS: tuple[str, ...] = (
    *(ROOM, OBS, ACT, END, REPEAT, ANSWER),
    *dict.fromkeys((*PHASES, *_COMMANDS.split(), *_MESSAGES.split(), *_GOALS.split())),
    *TYPES,
    *map(str, range(_NUMBERS)),
    *REASONS,
    *SCORES,
    *NOTES,
)
"""The vocabulary in the order of its ids."""
