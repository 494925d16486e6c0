"""verl: any text environment as an agent loop, and the rows of verl's data sets.

An agent loop is named in a YAML file, which ``actor_rollout_ref.rollout.agent.agent_loop_config_path`` points to::

    - name: alfworld
      _target_: rlanything_envs.adapters.verl.EnvAgentLoop
      env_id: RLAnything/AlfWorld-v0
      arguments: {max_episode_steps: 30}
      pool: pool.sqlite   # tasks that adapt, for the rows of `group_rows`
      rollouts: 8         # actor_rollout_ref.rollout.n

```python
from rlanything_envs.adapters import verl

rows = verl.rows(tasks, "alfworld")  # datasets.Dataset.from_list(rows).to_parquet("train.parquet")
```
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any
from uuid import uuid4

from rlanything_envs.adapters import rows as plain_rows
from rlanything_envs.adapters.rows import task_rows
from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.curriculum import CurriculumSource, Group
from rlanything_envs.errors import MissingExtra, SettingError
from rlanything_envs.message import images_of
from rlanything_task_pools import Task

try:
    from omegaconf import OmegaConf
    from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput
    from verl.utils.profiler import simple_timer
except ImportError as error:
    raise MissingExtra(f"rlanything_envs.adapters.verl needs verl ({error}): pip install verl") from error

__all__ = ["EnvAgentLoop", "group_rows", "rows", "source"]


class EnvAgentLoop(AgentLoopBase):  # type: ignore[misc]
    """Plays one episode of a text environment with verl's language model server.

    The answers are what the model sampled, by token id; the environment's messages are tokens that are not learnt
    (``response_mask`` 0). The reward is the environment's, at the end of the episode. An episode that outgrows
    ``rollout.response_length`` is cut off and has the reward 0. Screens go to the server and into ``multi_modal_data``,
    which needs a model with verl's processor.

    Args:
        env_id: Id of the environment, as `gymnasium.make` takes it.
        arguments: Arguments of `gymnasium.make`.
        pool: Path of the pool whose curriculum deals the tasks of rows with a group. Each of verl's processes opens it.
        rollouts: Episodes in a group: ``actor_rollout_ref.rollout.n``.
        curriculum: Other arguments of `CurriculumSource`.
        given: Arguments of verl.
    """

    def __init__(
        self,
        *,
        env_id: str,
        arguments: Mapping[str, Any] | None = None,
        pool: str | None = None,
        rollouts: int = 8,
        curriculum: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> None:
        super().__init__(**given)
        self._env_id, self._arguments = env_id, _plain(arguments)
        self._source = None if pool is None else source(str(pool), rollouts, json.dumps(_plain(curriculum)))

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Play the task of a row.

        Args:
            sampling_params: For the server.
            row: Fields of the data set: ``raw_prompt``, messages before the environment's first one; and ``task``
                (JSON, or an id that the environment knows), ``seed`` or ``group``.

        Raises:
            ValueError: The row has neither task nor seed nor group; verl compares episodes of one row, so it must name
                a task.
            SettingError: The row has a group, and there is no pool.
            InfrastructureError: The machinery failed. verl has no episodes without a reward, so its generation ends.
        """
        task, seed, name = row.get("task"), row.get("seed"), row.get("group")
        if task is None and seed is None and name is None:
            raise ValueError("EnvAgentLoop: the row has neither 'task' nor 'seed' nor 'group': make it by `verl.rows`")
        if name is not None and self._source is None:
            raise SettingError(f"the row has the group {name!r}: give the agent loop a pool")
        group: Group | None = None if self._source is None or name is None else self._source.join(str(name))
        success, score, steps = None, None, 0
        conversation = await self._aside(lambda: Conversation(self._env_id, **self._arguments))
        try:
            chosen = task if group is None else group.task
            turn = await self._aside(lambda: conversation.start(chosen, seed=None if seed is None else int(seed)))
            output = await self._played(conversation, turn, list(row["raw_prompt"]), sampling_params)
            success = bool(output.extra_fields["reward_extra_info"]["success"])
            score, steps = output.reward_score, (output.num_turns - 1) // 2
            return output
        finally:
            conversation.close()
            if self._source is not None and group is not None:
                self._source.end(group, success, score=score, steps=steps)

    async def _played(
        self, conversation: Conversation, turn: Turn, messages: list[dict[str, Any]], sampling_params: dict[str, Any]
    ) -> AgentLoopOutput:
        longest = self.rollout_config.response_length
        messages = _with_user(messages, turn)
        images = [image.pillow for image in images_of(turn.parts)]
        self._assert_mm_supported(bool(images))
        tokens = await self.ct_build_initial_tokens(messages, **({"images": images} if images else {}))
        mask: list[int] = []
        logprobs: list[float] | None = None
        metrics: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        answers, request = 0, uuid4().hex
        while True:
            timed: dict[str, float] = {}
            with simple_timer("generate_sequences", timed):
                output = await self.server_manager.generate(
                    request_id=request,
                    prompt_ids=tokens,
                    sampling_params=sampling_params,
                    **({"image_data": images} if images else {}),
                )
            metrics["generate_sequences"] = metrics.get("generate_sequences", 0.0) + timed["generate_sequences"]
            extra = {**extra, **output.extra_fields}
            merged, mask, logprobs = await self.ct_merge_assistant_token(
                tokens,
                output.token_ids,
                mask,
                logprobs if logprobs or not output.log_probs else [],
                assistant_logprobs=output.log_probs or None,
            )
            tokens, answers = merged.token_ids, answers + 1
            if len(mask) >= longest:
                break
            answer = self.tokenizer.decode(output.token_ids, skip_special_tokens=True)
            with simple_timer("tool_calls", timed):
                turn = await self._aside(partial(conversation.answer, answer))
            metrics["tool_calls"] = metrics.get("tool_calls", 0.0) + timed["tool_calls"]
            if turn.done:
                break
            before = [*messages, {"role": "assistant", "content": answer}]
            messages = [*before, _message(turn)]
            merged, longer, more = await self.ct_merge_context_msg(before, messages, tokens, mask, logprobs)
            if len(longer) >= longest and turn.screen is not None:
                break  # an image cannot be cut
            tokens, mask, logprobs = merged.token_ids, longer, more
            images += [image.pillow for image in images_of(turn.parts)]
            if len(mask) >= longest:
                break
        return AgentLoopOutput(
            prompt_ids=tokens[: len(tokens) - len(mask)],
            response_ids=tokens[len(tokens) - len(mask) :][:longest],
            response_mask=mask[:longest],
            response_logprobs=logprobs[:longest] if logprobs else None,
            reward_score=turn.reward if turn.done else 0.0,
            num_turns=2 * answers + 1,
            multi_modal_data={"images": images} if images else None,
            metrics=AgentLoopMetrics(**metrics),
            extra_fields={
                **extra,
                "turn_scores": [],
                "tool_rewards": [],
                "reward_extra_info": {"success": float(turn.won), "finished": float(turn.done)},
            },
        )

    async def _aside(self, work: Callable[[], Any]) -> Any:
        """Run what blocks in another thread: verl plays many episodes in one."""
        return await asyncio.get_running_loop().run_in_executor(None, work)


@cache
def source(pool: str, rollouts: int = 8, settings: str = "{}") -> CurriculumSource:
    """The source of this process: verl makes an agent loop for each episode."""
    return CurriculumSource(pool, rollouts=rollouts, **json.loads(settings))


def _plain(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    plain = OmegaConf.to_container(settings, resolve=True) if OmegaConf.is_config(settings) else settings
    return dict(plain or {})


def _with_user(messages: list[dict[str, Any]], turn: Turn) -> list[dict[str, Any]]:
    """The row's messages and the environment's first one, joined with a last one of the user's."""
    if messages and messages[-1]["role"] == "user":
        turn = replace(turn, text=f"{messages[-1]['content']}\n\n{turn.text}".strip())
        messages = messages[:-1]
    return [*messages, _message(turn)]


def _message(turn: Turn) -> dict[str, Any]:
    if turn.screen is None:
        return {"role": "user", "content": turn.text}
    parts = [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "image": part.pillow}
        for part in turn.parts
    ]
    return {"role": "user", "content": parts}


def rows(tasks: Iterable[Task], name: str, prompt: str = "") -> list[dict[str, Any]]:
    """Rows of a data set for verl, one a task.

    Args:
        tasks: The tasks.
        name: Name of the agent loop in the YAML file.
        prompt: User's text before the environment's opening message.
    """
    return _rows(task_rows(tasks, prompt), name)


def group_rows(count: int, name: str, prompt: str = "") -> list[dict[str, Any]]:
    """Rows whose tasks the curriculum of the agent loop's pool deals, one a group; arguments as for `rows`."""
    return _rows(plain_rows.group_rows(count, prompt=prompt, name=name), name)


def _rows(rows: Iterable[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [
        {
            **row,
            "agent_name": name,
            "data_source": name,
            "reward_model": {"style": "rule", "ground_truth": ""},
            "extra_info": {"index": number},
        }
        for number, row in enumerate(rows)
    ]
