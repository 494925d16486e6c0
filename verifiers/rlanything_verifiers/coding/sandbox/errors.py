"""What may go wrong with the sandbox itself, as opposed to a program in it."""


class SandboxError(RuntimeError):
    """The sandbox cannot do its work here; the message says why and what to do."""


class UnsafeSandbox(SandboxError):
    """The best protection this machine offers leaves the machine's files open to a program."""


class InteractionUnsupported(SandboxError):
    """Programs of this sandbox cannot be connected with an interactor; the message names what can."""


class MissingLanguage(SandboxError):
    """Programs in a language cannot run here; the message names what to install."""


class PackageError(SandboxError):
    """A package that programs are to import is not there, or cannot be shown alone; the message names it."""


class WorkerLost(Exception):
    """A worker died or broke the protocol; what it was doing says nothing of the program."""
