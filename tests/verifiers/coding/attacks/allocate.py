# expect: MLE
"""Ten gigabytes at once."""

block = bytearray(10 << 30)
print("ESCAPED", len(block))
