"""Difficulty of the families of generated coding problems: for the brute force, for wrong programs, for a model.

``python -m benchmarks.coding_difficulty --seeds 4 --out difficulty.jsonl`` makes problems of each family, with all
knobs drawn evenly, and judges their own programs on the hidden tests, within the limits of a submission:

- the **brute force** of the gate: right on small inputs, mostly too slow at full size;
- the **wrong programs** of the gate, of which the best one counts: a task exists only if each of them fails a hidden
  test, so they solve nothing, and the share of the tests that they pass says how near they come.

``--model CHECKPOINT`` adds a causal language model (any name of a checkpoint): one turn of the environment, greedy
decoding, at most ``--tokens`` new tokens.

Each line of the file is a result; what is there is not computed again, so that the work can be done in pieces
(``--pieces N``: stop after so many new results). ``--table`` prints the file as the table of the documentation: shares
with 95 % Wilson intervals. The models' results depend on nothing but the model; those of programs that are ended by a
time limit depend on the machine.
"""

import argparse
import json
from collections.abc import Container, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import gymnasium as gym
from scipy.stats import binomtest

import rlanything_envs  # noqa: F401 - registers the environments
from rlanything_envs.llm.generator import SamplingParams
from rlanything_task_pools import Task
from rlanything_task_pools.coding import FAMILIES, generate, read_payload
from rlanything_task_pools.coding.generate import families_of, problem_of
from rlanything_verifiers.coding import Job, judge_many

FIRST_SEED = 50_000_000
"""Far from the seeds of training and of the panels."""
BATCH = 14
"""Prompts that a model answers at once."""


def tasks(seeds: int, known: Container[tuple[str, int]]) -> Iterator[tuple[str, int, Task]]:
    """Family, number and task: `seeds` tasks of each family, without those that are known."""
    for number in range(seeds):
        for name in FAMILIES:
            if (name, number) not in known:
                split = "train" if name in families_of("train") else "valid_unseen"
                yield name, number, generate(FIRST_SEED + number, split, families=name)


def programs(task: Task) -> dict[str, Any]:
    """Scores of the brute force and of the wrong programs of a task on its hidden tests."""
    payload = read_payload(task.payload)
    hidden = payload.judge_tests()[len(payload.public) :]
    problem = problem_of(task)
    if problem is None:
        raise RuntimeError(f"task {task.id}: the generator makes another one of its traits")
    sources = (problem.brute, *payload.wrong)
    jobs = [Job(source, hidden, payload.checker, payload.judge_limits(), stop_after_tle=1) for source in sources]
    brute, *wrong = judge_many(jobs, cache=False)
    if errors := [judgement.error for judgement in (brute, *wrong) if judgement.error]:
        raise RuntimeError(f"task {task.id}: the judge failed: {errors[0]}")
    return {
        "brute": [int(brute.passed), brute.fraction],
        "wrong": [int(any(judgement.passed for judgement in wrong)), max(judgement.fraction for judgement in wrong)],
    }


def answers(checkpoint: str, prompts: Sequence[str], tokens: int) -> list[str]:
    """A model's answers to prompts, greedily decoded."""
    from rlanything_agents.config import CheckpointConfig
    from rlanything_agents.engines.chat import ChatGenerator
    from rlanything_agents.engines.transformers import TransformersGenerator
    from rlanything_agents.models.pretrained import load_model, load_template

    config = CheckpointConfig(checkpoint=checkpoint, dtype="float32", max_tokens=tokens, context=tokens + 1)
    template = load_template(config)
    model = load_model(config, template.tokenizer, seed=0)
    generator = ChatGenerator(TransformersGenerator(model, template.tokenizer), template)
    chats = [[{"role": "user", "content": prompt}] for prompt in prompts]
    made = generator.generate(chats, SamplingParams(tokens, top_k=1, seed=0))
    return [answer.text for (answer,) in made]


def played(batch: Sequence[Task], checkpoint: str, tokens: int) -> list[dict[str, Any]]:
    """Scores of a model with one turn on each task."""
    envs = [gym.make("RLAnything/Coding-v0", tasks=[task], max_turns=1, reward="fraction") for task in batch]
    prompts = [str(env.reset(seed=0)[0]) for env in envs]
    results = []
    for env, answer in zip(envs, answers(checkpoint, prompts, tokens), strict=True):
        _, reward, _, truncated, info = env.step(answer)
        if truncated:
            raise RuntimeError(f"task {info['task_id']}: the judge failed")
        results.append({"model": [int(info["outcome"] == 1), float(reward)], "readable": info["action"] == "SUBMIT"})
    return results


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The results as a Markdown table: share of problems solved with its interval, and share of hidden tests passed."""
    lines = [
        "| family | problems | brute force: solved | tests | best wrong program: tests | model: solved | tests |",
        "|---|---|---|---|---|---|---|",
    ]
    names = [*FAMILIES, "all"]
    for name in names:
        own = [row for row in rows if name in (row["family"], "all")]
        cells = [name, str(len({(row["family"], row["number"]) for row in own}))]
        cells += [_solved(own, "brute"), _tests(own, "brute"), _tests(own, "wrong")]
        cells += [_solved(own, "model"), _tests(own, "model")]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _solved(rows: Sequence[dict[str, Any]], who: str) -> str:
    found = [row[who][0] for row in rows if who in row]
    if not found:
        return "–"
    low, high = binomtest(sum(found), len(found)).proportion_ci(method="wilson")
    return f"{sum(found)} of {len(found)} [{100 * low:.0f}, {100 * high:.0f}] %"


def _tests(rows: Sequence[dict[str, Any]], who: str) -> str:
    found = [row[who][1] for row in rows if who in row]
    return f"{100 * sum(found) / len(found):.0f} %" if found else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4, help="problems of each family")
    parser.add_argument("--out", type=Path, default=Path("coding-difficulty.jsonl"))
    parser.add_argument("--model", help="checkpoint of a causal language model")
    parser.add_argument("--tokens", type=int, default=300, help="most new tokens of an answer")
    parser.add_argument("--pieces", type=int, help="stop after so many new results")
    parser.add_argument("--table", action="store_true", help="print what the file holds, and compute nothing")
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.exists() else []
    if args.table:
        print(table(rows))
        return
    who = "model" if args.model else "brute"
    todo = tasks(args.seeds, {(row["family"], row["number"]) for row in rows if who in row})
    size = BATCH if args.model else 1
    done = 0
    with args.out.open("a") as file:
        while (args.pieces is None or done < args.pieces) and (batch := list(islice(todo, size))):
            own = [task for _, _, task in batch]
            found = played(own, args.model, args.tokens) if args.model else [programs(task) for task in own]
            for (family, number, task), result in zip(batch, found, strict=True):
                file.write(json.dumps({"family": family, "number": number, "task": task.id, **result}) + "\n")
            file.flush()
            done += len(batch)
            print(f"{done} new results", flush=True)


if __name__ == "__main__":
    main()
