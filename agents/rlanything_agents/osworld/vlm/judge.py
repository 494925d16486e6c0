r"""A vision-language reward model: it sees the screen before and after a step, and writes a reason and a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlanything_agents.osworld.vlm.chat import VisualEpisode, judge_messages
from rlanything_agents.osworld.vlm.player import VisualPlayer
from rlanything_agents.osworld.vlm.transcript import Transcript, VisualSample
from rlanything_agents.reward_model import Vote, parse_score
from rlanything_agents.seeds import seed_of

__all__ = ["VisualJudge", "VisualVotes"]


@dataclass(frozen=True, slots=True, eq=False)
class VisualVotes:
    """All votes on one step, and what they answer."""

    votes: tuple[Vote, ...]
    transcripts: tuple[Transcript, ...]
    """Of each vote: the prompt and what was written."""

    @property
    def scores(self) -> tuple[int, ...]:
        """The score of each vote: 1, -1, or 0 where the text has none."""
        return tuple(vote.score for vote in self.votes)

    def samples(self, advantages: Sequence[float]) -> list[VisualSample]:
        """The votes as training data; those of advantage 0 are left out.

        Args:
            advantages: One per vote.
        """
        return [
            transcript.sample([advantage])
            for transcript, advantage in zip(self.transcripts, advantages, strict=True)
            if advantage
        ]


class VisualJudge:
    """Judges every step of an episode several times over.

    Args:
        player: The model that writes the judgements.
    """

    def __init__(self, player: VisualPlayer) -> None:
        self.player = player

    def judge(self, episode: VisualEpisode, *, votes: int, seed: int) -> list[VisualVotes]:
        """Votes on each step, in order.

        Args:
            episode: What to judge; its outcome is not shown to the judge.
            votes: Samples per step.
            seed: Of the sampling.
        """
        return [self._step(episode, step, votes, seed) for step in range(len(episode.shots))]

    def _step(self, episode: VisualEpisode, step: int, votes: int, seed: int) -> VisualVotes:
        prompt = self.player.transcript()
        prompt.read(judge_messages(episode, step))
        found, transcripts = [], []
        for number in range(votes):
            ids, logprobs = self.player.respond(prompt, seed_of(seed, "vote", step, number))
            transcript = prompt.copy()
            text = transcript.write(ids, logprobs)
            found.append(Vote(text, parse_score(text), ids, logprobs))
            transcripts.append(transcript)
        return VisualVotes(tuple(found), tuple(transcripts))
