"""Sources of the programs that run in the sandbox around a submission; `asserts` combines them.

``VALUES`` is the beginning of both programs and converts plain values to JSON and back. ``ANSWER`` runs a submission on
calls, ``CHECK`` runs asserts with the answers, which `answers` has checked. The constants before them are the lists of
`answers`, ``EXCEPTIONS`` and ``TYPES``, and those that `asserts` adds.
"""

__all__ = ["ANSWER", "CHECK", "VALUES"]

VALUES = '''\
import builtins
import collections
import decimal
import fractions
import json
import os
import sys


class Opaque:
    """A value that stays in the other process; it equals itself only."""

    def __init__(self, number):
        self.number = number


_objects = []  # of the submission, which the asserts know by their numbers
_TYPES = {name: getattr(builtins, name) for name in TYPES}
_LISTS = {"l": list, "t": tuple, "s": set, "f": frozenset, "i": iter, "q": collections.deque}


def encode(value):
    """JSON of a value; a list in it is a pair of a kind and its content."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Opaque):
        return ["o", value.number]
    for kind, made in (("l", list), ("t", tuple), ("s", set), ("f", frozenset), ("q", collections.deque)):
        if isinstance(value, made):
            return [kind, [encode(item) for item in value]]
    if isinstance(value, dict):
        return ["d", [[encode(key), encode(item)] for key, item in value.items()]]
    if isinstance(value, (bytes, bytearray)):
        return ["b" if isinstance(value, bytes) else "B", value.hex()]
    if isinstance(value, complex):
        return ["c", [value.real, value.imag]]
    if isinstance(value, range):
        return ["r", [value.start, value.stop, value.step]]
    if isinstance(value, fractions.Fraction):
        return ["F", [value.numerator, value.denominator]]
    if isinstance(value, decimal.Decimal):
        return ["D", str(value)]
    if isinstance(value, type) and _TYPES.get(value.__name__) is value:
        return ["T", value.__name__]
    if type(value) in (type({}.keys()), type({}.items())):
        return ["s", [encode(item) for item in value]]
    if type(value) is type({}.values()):
        return ["l", [encode(item) for item in value]]
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        return encode(value.item())
    return ["i", [encode(item) for item in value]] if hasattr(type(value), "__next__") else opaque(value)


def decode(data):
    """The value of JSON that `encode` made."""
    if not isinstance(data, list):
        return data
    kind, content = data
    if kind in _LISTS:
        return _LISTS[kind]([decode(item) for item in content])
    if kind == "d":
        return {decode(key): decode(item) for key, item in content}
    if kind in "bB":
        return (bytes if kind == "b" else bytearray).fromhex(content)
    if kind == "o":
        return known(content)
    if kind == "T":
        return _TYPES[content]
    make = {"c": complex, "r": range, "F": fractions.Fraction}
    return decimal.Decimal(content) if kind == "D" else make[kind](*content)


def report(mark, kind, text=""):
    """Print a line that the judge looks for, after everything else."""
    data = b"\\n" + mark + (kind + " " + " ".join(text.splitlines())).encode(errors="replace") + b"\\n"
    while data:
        data = data[os.write(1, data) :]
'''

ANSWER = """\
import builtins
import types

_dumps, _decode, _encode = json.dumps, decode, encode


def opaque(value):
    _objects.append(value)
    return ["o", len(_objects) - 1]


def known(number):
    return _objects[number]


def _answer(module, call):
    name, args, kwargs = call
    try:
        function = module.__dict__.get(name)
        if not callable(function):
            raise NameError("the program defines no function " + name)
        result = function(*[_decode(arg) for arg in args], **{key: _decode(arg) for key, arg in kwargs.items()})
        return ["=", _encode(result)]
    except Exception as error:
        names = [c.__name__ for c in type(error).__mro__ if getattr(builtins, c.__name__, None) is c]
        known_as = next(name for name in names if name in EXCEPTIONS)
        return ["!", known_as, type(error).__name__ + ": " + str(error)[:200]]


def _main():
    calls = json.loads(sys.stdin.buffer.read())
    module = types.ModuleType("submission")
    sys.modules["submission"] = module
    try:
        code = compile(SOURCE, "<submission>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError) as error:
        return report(MARK, "CE", type(error).__name__ + ": " + str(error))
    exec(GIVEN, module.__dict__)
    exec(code, module.__dict__)
    answers = [_answer(module, call) for call in calls]
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    report(MARK, "OK", _dumps(answers))


_main()
"""

CHECK = '''\
import ast
import builtins
import random


_EXCEPTIONS = {name: getattr(builtins, name) for name in EXCEPTIONS.values()}


class Stop(BaseException):
    """The asserts need an answer that is not there yet."""


class Unknown:
    """A result that is not there yet: it may be computed with and compared, but not looked at."""

    def _unknown(self, *_):
        return Unknown()

    def _stop(self, *_):
        raise Stop

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _unknown
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _unknown
    __abs__ = __neg__ = __round__ = _unknown
    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __hash__ = __int__ = __float__ = __index__ = _stop
    __getattr__ = __str__ = __repr__ = __format__ = __call__ = __next__ = __complex__ = _stop


def opaque(value):
    if isinstance(value, Unknown):
        raise Stop
    raise TypeError("a value of the type " + type(value).__name__ + " cannot be given to the function")


def known(number):
    return Opaque(number)


class Calls:
    """The calls so far, and what they returned."""

    def __init__(self, asked, answers):
        self.asked, self.answers = asked, answers
        self.number = 0
        self.ahead = False  # beyond the answers
        self.patient = True  # may go on without an answer
        self.raised = ""  # by the submission, last

    def call(self, name, args, kwargs):
        call = [name, [encode(arg) for arg in args], {key: encode(arg) for key, arg in kwargs.items()}]
        call = json.loads(json.dumps(call))
        number, self.number = self.number, self.number + 1
        if not self.ahead:
            # Compared as texts, since NaN differs from itself.
            if number < len(self.answers) and json.dumps(self.asked[number]) == json.dumps(call):
                return self._result(self.answers[number])
            self.ahead = True
            del self.asked[number:]
        self.asked.append(call)
        if not self.patient:
            raise Stop
        return Unknown()

    def skip(self):
        """Leave an assert out that needs an answer, to see which calls come after it."""
        if not self.patient:
            raise Stop

    def _result(self, answer):
        if answer[0] == "=":
            return decode(answer[1])
        _, name, self.raised = answer
        raise _EXCEPTIONS[name](self.raised)


class Remote:
    """A function or class of the submission."""

    def __init__(self, calls, name):
        self._calls, self.__name__ = calls, name

    def __call__(self, *args, **kwargs):
        return self._calls.call(self.__name__, args, kwargs)


class Nowhere:
    """Where the asserts print to."""

    encoding, errors = "utf-8", "strict"

    def write(self, text):
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return False


class Tolerant(ast.NodeTransformer):
    """Asserts that pass over results that are not there yet."""

    def visit_Assert(self, node):
        test = ast.Call(ast.Name("__holds__", ast.Load()), [node.test], [])
        error = ast.Call(ast.Name("AssertionError", ast.Load()), [ast.Constant(node.lineno)], [])
        new = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Raise(error)], [])
        skip = ast.Expr(ast.Call(ast.Name("__skip__", ast.Load()), [], []))
        later = ast.ExceptHandler(ast.Name("__Stop__", ast.Load()), None, [skip])
        return ast.copy_location(ast.Try([new], [later], [], []), node)


def _tree(source):
    tree = Tolerant().visit(ast.parse(source))
    return ast.fix_missing_locations(tree)


def _namespace(calls, *trees):
    """What the asserts may name: what they do not define themselves belongs to the submission."""
    space = {"__name__": "asserts", "__builtins__": builtins, "__holds__": _holds}
    space.update(__Stop__=Stop, __skip__=calls.skip)
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                name = node.value.id  # a module that the asserts take from the submission's imports
                if name in sys.stdlib_module_names:
                    space.setdefault(name, __import__(name))
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and not hasattr(builtins, node.id):
                space.setdefault(node.id, Remote(calls, node.id))
    return space


def _holds(value):
    return isinstance(value, Unknown) or bool(value)


def _plain(value):
    """A value as JSON gives it back: tuples as lists, and keys of objects as texts."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key if isinstance(key, str) else json.dumps(key): _plain(item) for key, item in value.items()}
    return value


def _run_call(calls, arguments, result):
    arguments = json.loads(arguments)
    args, kwargs = (arguments, {}) if isinstance(arguments, list) else ([], arguments)
    found = calls.call(ENTRY, args, kwargs)
    if not isinstance(found, Unknown) and _plain(found) != json.loads(result):
        raise AssertionError(0)


def _run_asserts(calls, source):
    setup, tree = _tree(SETUP), _tree(source)
    calls.patient = not any(isinstance(node, ast.Try) for node in ast.walk(ast.parse(source)))
    space = _namespace(calls, setup, tree)
    exec(compile(setup, "<setup>", "exec"), space)
    space[ENTRY] = space["candidate"] = Remote(calls, ENTRY)
    random.seed(0)
    exec(compile(tree, "<asserts>", "exec"), space)


def _main():
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 3000))
    mark, test, asked, answers = sys.stdin.buffer.read().split(b"\\n")
    source, result = json.loads(test)
    calls = Calls(json.loads(asked), json.loads(answers))
    sys.stdout = sys.stderr = Nowhere()
    said = "AC", ""
    try:
        if result.strip():
            _run_call(calls, source, result)
        else:
            _run_asserts(calls, source)
    except AssertionError as error:
        line = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        lines = source.splitlines()
        said = "WA", "it does not hold: " + (lines[line - 1].strip() if 0 < line <= len(lines) else str(error))[:300]
    except (Exception, Stop) as error:
        text = type(error).__name__ + ": " + str(error)[:300]
        said = ("RE", calls.raised) if calls.raised and calls.raised in text else ("WA", text)
    if calls.ahead:
        return report(mark, "MORE", json.dumps(calls.asked))
    report(mark, *said)


_main()
'''
