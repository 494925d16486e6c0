# expect: OLE
"""160 megabytes of output."""

import sys

for _ in range(160):
    sys.stdout.write("x" * 1_000_000)
