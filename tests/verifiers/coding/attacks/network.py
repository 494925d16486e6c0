# expect: OK
# control: escapes
"""Sockets. Input: the port of a listening socket of the judge."""

import socket
import sys

port = int(sys.stdin.readline())
tries = {
    "connect": lambda: socket.create_connection(("127.0.0.1", port), 1),
    "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "tcp6": lambda: socket.socket(socket.AF_INET6, socket.SOCK_STREAM),
    "unix": lambda: socket.socket(socket.AF_UNIX),
    "pair": socket.socketpair,
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "alg": lambda: socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET),
}
for name, attempt in tries.items():
    try:
        attempt()
        print("ESCAPED", name)
    except OSError:
        pass
print("done")
