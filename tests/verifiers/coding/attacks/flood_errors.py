# expect: OLE
"""160 megabytes on standard error."""

import sys

for _ in range(160):
    sys.stderr.write("x" * 1_000_000)
