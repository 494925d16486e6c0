# expect: TLE
"""No end."""

while True:
    pass
