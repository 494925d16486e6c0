"""Exceptions of the sandbox itself, as opposed to failures of a program in it."""


class SandboxError(RuntimeError):
    """The sandbox does not work on this machine; the message gives the reason and the remedy."""


class UnsafeSandbox(SandboxError):
    """The best tier of this machine leaves its files readable to a program."""


class SandboxUnsupported(SandboxError):
    """The sandbox lacks what a program needs: a language, a package, a conversation; the message names the remedy."""


class WorkerLost(Exception):
    """A worker died or broke the protocol; this is no evidence about the program."""
