"""A program for an interpreter with the package desktop-env: its agent plays a task on our desktop.

The agent's code is that of the package; what calls a language model answers from a script. Libraries of model services,
which the module imports, stand empty.
"""

import json
import sys
import types


class Missing(types.ModuleType):
    """Stands for a library of a model service."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Exception,), {})


def stand_in(*names):
    for name in names:
        sys.modules[name] = Missing(name)


def main():
    stand_in("backoff", "dashscope", "dotenv", "google", "google.generativeai", "google.api_core")
    stand_in("google.api_core.exceptions", "groq", "tiktoken", "openai")
    sys.modules["dotenv"].load_dotenv = lambda *_: None
    sys.modules["backoff"].on_exception = lambda *_, **__: lambda function: function
    sys.modules["backoff"].constant = None
    from mm_agents.agent import PromptAgent

    from rlanything_envs.adapters.osworld import DesktopEnv

    given = json.load(sys.stdin)
    env = DesktopEnv(action_space="pyautogui", screen_size=(1280, 720))

    def play(answers):
        """The loop of OSWorld's quick start: an agent is asked until the episode is over."""
        agent = PromptAgent(action_space="pyautogui", observation_type="screenshot", max_trajectory_length=2)
        asked = []
        waiting = iter(answers)
        agent.call_llm = lambda payload: asked.append(payload) or next(waiting)
        agent.reset()
        obs = env.reset(task_config=given["example"])
        done, turns = False, 0
        while not done and turns < 10:
            _, actions = agent.predict(given["example"]["instruction"], obs)
            for action in actions:
                obs, _, done, _ = env.step(action, 0)
                turns += 1
        images = all("data:image/png;base64," in json.dumps(payload["messages"]) for payload in asked)
        return env.evaluate(), turns, images

    score, turns, images = play([*(f"```python\n{code}\n```" for code in given["code"]), "DONE"])
    idle, _, _ = play(["DONE"])
    env.close()
    print(json.dumps({"score": score, "idle": idle, "turns": turns, "images": images}))


main()
