"""A desktop in few words: names of things instead of their places, and commands by number.

::

    in the folder <1> on the desktop , rename <2> to <3> .
    screen files ; 1 ? ; 2 <2> ; 3 ?
        <2> 2 click 2
    same
        <2> <none> press rename
    dialog <2>
        <3> <none> type <3> enter
    files ; 1 <3> ; 2 ?
        <none> <none> done

What comes in are the observations of a desktop with an accessibility tree, and answers; what goes out are observations
in words of `words.WORDS`, and PyAutoGUI code. Strings are not spelled: those of the task are numbered slots.
"""

from rlanything_envs.osworld.short.desktop import VIEW, ShortOSWorld, read, write
from rlanything_envs.osworld.short.words import WORDS

__all__ = ["VIEW", "WORDS", "ShortOSWorld", "read", "write"]
