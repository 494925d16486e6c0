"""Exceptions of the sandbox itself, as opposed to failures of a program in it."""


class SandboxError(RuntimeError):
    """The sandbox does not work on this machine; the message gives the reason and the remedy."""


class UnsafeSandbox(SandboxError):
    """The best tier of this machine leaves its files readable to a program."""


class InteractionUnsupported(SandboxError):
    """The backend cannot connect programs with an interactor; the message names one that can."""


class MissingLanguage(SandboxError):
    """Programs in a language cannot run on this machine; the message names the package to install."""


class PackageError(SandboxError):
    """A package for programs is not installed, or cannot be made visible alone; the message names it."""


class WorkerLost(Exception):
    """A worker died or broke the protocol; this is no evidence about the program."""
