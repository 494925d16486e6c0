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


# A number from 1 to 8 is to be found with three questions "? k", whether it is at least k; the answer is "! number".
INTERACTOR = """
import json, sys
secret = int(json.loads(sys.stdin.readline())["stdin"])
for turn in range(4):
    words = sys.stdin.readline()[:20].split()
    if len(words) == 2 and words[0] == "!":
        print("AC" if words[1] == str(secret) else "WA", file=sys.stderr)
        sys.exit()
    if turn == 3 or len(words) != 2 or words[0] != "?" or words[1] not in set("12345678"):
        break
    print("yes" if secret >= int(words[1]) else "no", flush=True)
print("WA\\nno answer after three questions", file=sys.stderr)
"""
ASKS = """
low, high = 1, 8
while low < high:
    middle = (low + high + 1) // 2
    print("?", middle, flush=True)
    if input() == "yes":
        low = middle
    else:
        high = middle - 1
print("!", low)
"""
GUESSES = "print('! 3')\n"


def make_interactive_task():
    """A task to find a number that the judge thinks of."""
    conversation = "> ? 5\n< no\n> ? 3\n< yes\n> ? 4\n< no\n> ! 3\n"
    return make_task(
        "Find the number from 1 to 8 that the judge thinks of.",
        hidden=[{"stdin": f"{number}\n", "stdout": ""} for number in (1, 4, 8)],
        public=[{"stdin": "3\n", "stdout": conversation}],
        checker={"kind": "interactor", "source": INTERACTOR},
    )
