# expect: MLE
"""Asks for more memory than it was given; being told yes changes nothing."""

import resource

for limit in (resource.RLIMIT_AS, resource.RLIMIT_STACK, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE):
    resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print("ESCAPED", len(bytearray(2 << 30)))
