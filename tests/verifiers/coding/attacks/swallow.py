# expect: TLE
"""Catches everything, for ever."""


def again():
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue


again()
