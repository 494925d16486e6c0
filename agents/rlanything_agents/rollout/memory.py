"""Memory of the turns that have left the window of a prompt: one short line for each."""

from __future__ import annotations

from transformers import PreTrainedTokenizerBase

from rlanything_agents.rollout.trajectory import Step
from rlanything_envs.curriculum.prompting import plain
from rlanything_envs.views import View

__all__ = ["memory_line"]

MAX_ACTION, MAX_RESULT = 120, 80
"""Maximum characters of the action, and of its result, in a line."""
CHARACTERS = 5
"""Characters of a word, by which the limits count in a view of a closed vocabulary."""


def memory_line(view: View, tokenizer: PreTrainedTokenizerBase, step: Step) -> str:
    """Describe a turn by its action and the first line of the message after it; without the thought.

    In the views of all domains the first line is the result of the action, unless it is a heading.

    Args:
        view: View of the environment.
        tokenizer: Tokenizer of the model; with a view of a closed vocabulary the line consists of words that it knows.
        step: The turn.

    Returns:
        One line; empty where there is neither an action nor a result.
    """

    def cut(text: str, limit: int) -> str:
        if not view.words:
            return plain(text, limit)
        ids = tokenizer(text, add_special_tokens=False)["input_ids"][: limit // CHARACTERS]
        return str(tokenizer.decode(ids, skip_special_tokens=True))  # a word that is not known is a special token

    action = cut(view.brief(step.action), MAX_ACTION)
    if step.command == "unreadable":  # the text may be nothing but thoughts
        action = "" if view.words else "(unreadable)"
    result = step.observation.strip().partition("\n")[0]
    result = "" if result.endswith(":") else cut(result, MAX_RESULT)
    return ": ".join(part for part in (action, result) if part)
