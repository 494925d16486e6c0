"""Chats for pretrained models: templates with exact boundaries, prompts, and a dialect made of both."""

from rlanything_agents.chat.dialect import ChatDialect, StepChatDialect, chat_dialect
from rlanything_agents.chat.generator import ChatGenerator
from rlanything_agents.chat.template import ChatTemplate, Message, TemplateError

__all__ = [
    "ChatDialect",
    "ChatGenerator",
    "ChatTemplate",
    "Message",
    "StepChatDialect",
    "TemplateError",
    "chat_dialect",
]
