"""The vocabulary of the short view: some 250 words for every task, command and message of the household.

The type names are those of the AI2-THOR objects that ALFRED's rooms hold, in the lower case the game prints.
"""

from __future__ import annotations

__all__ = ["ACT", "GO_TO", "OBS", "PHASES", "REASONS", "REPEAT", "ROOM", "SCORES", "TYPES", "WORDS"]
__all__ += ["HELD", "HOME", "NEW", "READY", "SEEN", "WANTED"]

ROOM = "room"
"""Separator between the task and the receptacles of the room."""

GO_TO = "go to"
"""One word, since neither half of it is ever used alone."""

REPEAT, ACT, OBS = "<repeat>", "<act>", "<obs>"
"""Marks in a judge prompt: earlier uses of the command, the command, and its observation."""

PHASES = ("find", "get", "need", "put", "light", "drop")
"""First word of a thought, the agent's current phase. The second word is the type that the phase is about."""

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

_COMMANDS = "take from move to open close use heat cool clean slice with examine inventory look help"
_MESSAGES = (
    "ok nothing happens closed on off in facing next carrying normal hot cold sliced not special any anything switch"
)
_GOALS = "a an some and it two them under the at"
_NUMBERS = 61
"""Receptacles of one type and copies of one object are numbered from 1; official rooms reach the fifties."""

NOTES = (WANTED, HOME, HELD, READY, SEEN, NEW) = ("<wanted>", "<home>", "<held>", "<ready>", "<seen>", "<new>")
"""Notes in a judge prompt: a thing or a place that the task names, the thing in hand, that it is prepared, that the
wanted thing has been seen, and that a receptacle is looked into for the first time."""

WORDS: tuple[str, ...] = (
    *(ROOM, REPEAT, ACT, OBS, GO_TO),
    *dict.fromkeys((*PHASES, *_COMMANDS.split(), *_MESSAGES.split(), *_GOALS.split())),
    *TYPES,
    *map(str, range(_NUMBERS)),
    *REASONS,
    *SCORES,
    *NOTES,
)
"""All words of observations, answers and judgements."""
