"""A vision-language model plays: it sees screenshots, and writes its thoughts and actions."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from transformers import PreTrainedModel, ProcessorMixin

from rlanything_agents.chat import ChatTemplate
from rlanything_agents.osworld.vlm.chat import Shot, VisualEpisode, policy_messages
from rlanything_agents.osworld.vlm.transcript import Transcript
from rlanything_agents.seeds import seed_of
from rlanything_agents.trajectory import outcome_of

__all__ = ["VisualPlayer", "play_visual"]


class VisualPlayer:
    """Samples responses.

    Args:
        model: A vision-language model; it may be trained in between.
        processor: Of that model.
        max_tokens: Most tokens of a response.
        temperature: Divides the logits before sampling; log-probabilities are those at temperature 1.
        thinking: Whether the template is to let the model think, where it has a switch for that.

    Raises:
        TemplateError: The processor has no template that can be used.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        processor: ProcessorMixin,
        *,
        max_tokens: int = 512,
        temperature: float = 1.0,
        thinking: bool = False,
    ) -> None:
        self.model, self.processor = model, processor
        self.max_tokens, self.temperature = max_tokens, temperature
        tokenizer = processor.tokenizer
        self.template = ChatTemplate(tokenizer, thinking=thinking, processor=processor)
        # An image mark in a response would stand for an image that is not there.
        self._barred = sorted(set(tokenizer.all_special_ids) - {self.template.end_id})

    def transcript(self) -> Transcript:
        """An empty one."""
        return Transcript(self.processor, self.template)

    @torch.no_grad()
    def respond(self, transcript: Transcript, seed: int) -> tuple[list[int], list[float]]:
        """Ids of a response to what the transcript holds, end of turn included where it came, and log-probabilities."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            found = self.model.generate(
                **transcript.inputs(self.model.device),
                max_new_tokens=self.max_tokens,
                do_sample=True,
                temperature=self.temperature,
                top_k=0,
                top_p=1.0,
                suppress_tokens=self._barred,
                eos_token_id=self.template.end_id,
                pad_token_id=self.processor.tokenizer.pad_token_id,
                output_logits=True,
                return_dict_in_generate=True,
            )
        ids = found.sequences[0, len(transcript.ids) :]
        logits = torch.stack(found.logits)[:, 0].float()
        logprobs = logits.log_softmax(-1).gather(1, ids[:, None])[:, 0]
        return ids.tolist(), logprobs.tolist()


def play_visual(
    player: VisualPlayer, env: gym.Env[Any, Any], task: Any, *, max_steps: int, seed: int, scale: float = 0
) -> tuple[VisualEpisode, Transcript]:
    """One episode.

    Args:
        player: Who plays.
        env: Its observations have ``screenshot``, ``instruction`` and ``message``.
        task: What ``reset(options={"task": ...})`` takes.
        max_steps: An episode that has not ended by then is lost.
        seed: Of the sampling.
        scale: What stands for the whole width or height in coordinates, as the environment has it; 0 for pixels.
    """
    seen, info = env.reset(options={"task": task})
    transcript, shots, score = player.transcript(), list[Shot](), 0.0
    instruction = str(seen["instruction"])
    for number in range(max_steps):
        screenshot = np.asarray(seen["screenshot"])
        transcript.read(policy_messages(instruction, shots, screenshot, scale=scale))
        response = transcript.write(*player.respond(transcript, seed_of(seed, "response", number)))
        seen, reward, terminated, truncated, info = env.step(response)
        shots.append(Shot(screenshot, response, str(seen["message"])))
        score = float(reward)
        if terminated or truncated:
            break
    end = np.asarray(seen["screenshot"])
    return VisualEpisode(instruction, tuple(shots), end, outcome_of(info)[0], score), transcript
