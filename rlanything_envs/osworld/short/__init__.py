"""The short view of desktops: names instead of pixels, and commands by number.

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

The view turns observations of a desktop with an accessibility tree into words of `words.WORDS`, and answers into
PyAutoGUI code. Strings are not spelled: those of the task are numbered slots. The full view and the desktops are in the
packages above.
"""

from rlanything_envs.osworld.short.desktop import VIEW, ShortOSWorld, read, write
from rlanything_envs.osworld.short.words import WORDS

__all__ = ["VIEW", "WORDS", "ShortOSWorld", "read", "write"]
