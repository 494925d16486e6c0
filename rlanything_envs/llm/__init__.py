"""Text generators: the interface, OpenAI-compatible services over HTTP, replayed logs and scripted answers.

The package also holds what they share: forms of answers, budgets, prompt logs, retries and errors. Engines that load
model weights into this process are in `rlanything_agents`.

>>> from rlanything_envs.llm import (SamplingParams, ScriptedGenerator)
>>> generator = ScriptedGenerator(["First.", "Second."])
>>> [[c.text for c in samples] for samples in generator.generate([[{"role": "user", "content": "?"}]] * 2,
...                                                              SamplingParams(max_tokens=8))]
[['First.'], ['Second.']]
"""

from rlanything_envs.llm.budget import Budget, Price, Usage
from rlanything_envs.llm.endpoint import Endpoint, Retries
from rlanything_envs.llm.errors import (
    BudgetExceeded,
    EndpointRefused,
    GenerationStopped,
    GeneratorError,
    MissingKey,
    RunMustStop,
)
from rlanything_envs.llm.generator import Completion, Messages, Prompt, SamplingParams, TextGenerator
from rlanything_envs.llm.log import PromptLog, Record, read_log, usage_of
from rlanything_envs.llm.openai import OpenAIGenerator
from rlanything_envs.llm.patience import PatientGenerator
from rlanything_envs.llm.replay import RecordedAnswers, ReplayGenerator, ScriptedGenerator

__all__ = [
    "Budget",
    "BudgetExceeded",
    "Completion",
    "Endpoint",
    "EndpointRefused",
    "GenerationStopped",
    "GeneratorError",
    "Messages",
    "MissingKey",
    "OpenAIGenerator",
    "PatientGenerator",
    "Price",
    "Prompt",
    "PromptLog",
    "Record",
    "RecordedAnswers",
    "ReplayGenerator",
    "Retries",
    "RunMustStop",
    "SamplingParams",
    "ScriptedGenerator",
    "TextGenerator",
    "Usage",
    "read_log",
    "usage_of",
]
