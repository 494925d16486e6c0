"""Desktops for vision-language models: chat messages with screenshots, append-only transcripts, votes, updates.

Everything takes a ``transformers`` model and processor of the Qwen3-VL kind. `tiny_vlm` makes a pair of random weights.
"""

from rlanything_agents.osworld.vlm.chat import Shot, VisualEpisode, judge_messages, policy_messages
from rlanything_agents.osworld.vlm.judge import VisualJudge, VisualVotes
from rlanything_agents.osworld.vlm.player import VisualPlayer, play_visual
from rlanything_agents.osworld.vlm.tiny import tiny_vlm
from rlanything_agents.osworld.vlm.trainer import VisualTrainer
from rlanything_agents.osworld.vlm.transcript import TemplateError, Transcript, VisualSample

__all__ = [
    "Shot",
    "TemplateError",
    "Transcript",
    "VisualEpisode",
    "VisualJudge",
    "VisualPlayer",
    "VisualSample",
    "VisualTrainer",
    "VisualVotes",
    "judge_messages",
    "play_visual",
    "policy_messages",
    "tiny_vlm",
]
