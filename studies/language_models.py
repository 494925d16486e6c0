"""A language model in this process, with its engine and its chat template."""

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.engines.chat import ChatGenerator
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.pretrained import load_model, load_template
from rlanything_agents.reward_models.judge_model import JudgeModel

__all__ = ["opened"]


def opened(config: CheckpointConfig) -> JudgeModel:
    """Load a checkpoint; it reads chats, and writes in forms."""
    template = load_template(config)
    model = load_model(config, template.tokenizer, seed=0).eval()
    return JudgeModel(ChatGenerator(TransformersGenerator(model, template.tokenizer), template), template, config)
