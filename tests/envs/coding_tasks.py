"""Hand-written programming tasks, and programs for them."""

from rlanything_task_pools import Task


def make_task(statement="Print the sum of two integers.", hidden=None, **payload):
    """A task to add two numbers, or what is given."""
    return Task(
        domain="coding",
        goal=statement,
        payload={
            "statement": statement,
            "public": [{"stdin": "1 2\n", "stdout": "3\n"}, {"stdin": "5 5\n", "stdout": "10\n"}],
            "hidden": hidden
            or [
                {"stdin": "31337 4\n", "stdout": "31341\n"},
                {"stdin": "-77001 1\n", "stdout": "-77000\n"},
                {"stdin": "2 2\n", "stdout": "4\n"},
                {"stdin": "98765 1\n", "stdout": "98766\n"},
            ],
            **payload,
        },
        proof=(RIGHT,),
    )


RIGHT = "print(sum(map(int, input().split())))\n"
POSITIVE_ONLY = "a, b = map(int, input().split())\nprint(a + b if a > 0 else 0)\n"
WRONG = "print(42)\n"


def act(verb, code, stdin=None):
    """The text of an action."""
    block = "" if stdin is None else f"\n```stdin\n{stdin}\n```"
    return f"{verb}\n```python\n{code}\n```{block}"
