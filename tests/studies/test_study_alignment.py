"""Directions of updates against a gradient that is known, and the study of them end to end."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from studies.__main__ import app
from studies.aligning import SOURCES, cut
from studies.alignment import write_alignment
from studies.gradients import BUCKETS, Sketch, directions, pairs_mean
from studies.plan import StudyError
from studies.updates import GROUPS, OUTCOME, PLAIN, Group, Kind, factors, kinds_of, success_factors

share = st.floats(0.05, 0.95)


def group(outcomes: list[int], votes: list[list[float]] | None = None, steps: int = 1) -> Group:
    """Episodes of equally many steps, of one token each."""
    found = [np.array(v, dtype=float)[:, None] for v in votes or [[0.0] * steps] * len(outcomes)]
    return Group(outcomes, {"judge": found}, [np.ones(len(v)) for v in found])


def test_an_update_is_aligned_with_itself() -> None:
    gradient = np.random.default_rng(0).normal(size=(1, 50))
    found = directions(np.repeat(gradient, 3, axis=0), np.repeat(gradient, 4, axis=0))
    assert found.cosines == pytest.approx([1, 1, 1])
    assert found.bias == pytest.approx(1)
    assert found.noise == pytest.approx(0, abs=1e-9)
    assert found.empty == 0


def test_noise_lowers_the_cosine_of_batches_and_not_that_of_their_mean() -> None:
    """The noise of the reference lowers neither."""
    rng, size = np.random.default_rng(0), 4000
    gradient = rng.normal(size=size) / np.sqrt(size)
    reference = gradient + 0.7 * rng.normal(size=(8, size)) / np.sqrt(size)
    batches = gradient + 3 * rng.normal(size=(200, size)) / np.sqrt(size)
    found = directions(batches, reference)
    assert np.mean(found.cosines) == pytest.approx(1 / np.sqrt(10), abs=0.02)
    assert found.bias == pytest.approx(1, abs=0.05)
    assert found.noise == pytest.approx(9, rel=0.1)


def test_a_bias_is_told_from_noise() -> None:
    rng, size = np.random.default_rng(1), 4000
    gradient, aside = np.zeros(size), np.zeros(size)
    gradient[0], aside[1] = 1, 1
    found = directions(gradient + aside + rng.normal(size=(200, size)) / np.sqrt(size), np.stack([gradient] * 2))
    assert found.bias == pytest.approx(1 / np.sqrt(2), abs=0.02)
    assert found.noise == pytest.approx(0.5, rel=0.1)


def test_a_batch_without_an_update_counts_zero() -> None:
    gradient = np.array([1.0, 0.0])
    found = directions(np.stack([gradient, 0 * gradient]), np.stack([gradient] * 2))
    assert found.cosines.tolist() == [1, 0]
    assert found.empty == 0.5


def test_a_reference_of_noise_is_refused() -> None:
    with pytest.raises(ValueError, match="more episodes"):
        directions(np.ones((2, 2)), np.array([[1.0, 0.0], [-1.0, 0.0]]))


def test_the_mean_of_pairs_estimates_the_square_of_the_mean() -> None:
    rows = np.random.default_rng(2).normal(size=(5, 7))
    pairs = [a @ b for a, b in itertools.permutations(rows, 2)]
    assert pairs_mean(rows) == pytest.approx(np.mean(pairs))


def test_a_sketch_keeps_inner_products_and_is_linear() -> None:
    rng = torch.Generator().manual_seed(0)
    one, other = torch.randn(2, 100_000, generator=rng)
    other = other + one
    sketch = Sketch(100_000)
    short = sketch(torch.stack([one, other, one + other]))
    assert short.shape == (3, BUCKETS)
    assert torch.allclose(short[0] + short[1], short[2], atol=1e-3)
    error = 5 * float(one.norm() * other.norm()) / BUCKETS**0.5
    assert float(short[0] @ short[1]) == pytest.approx(float(one @ other), abs=error)


@given(share, share, share)
def test_the_reference_is_unbiased_in_a_game_of_two_arms(choice: float, first: float, second: float) -> None:
    """A policy chooses one of two arms; the mean of the estimate over all outcomes is the gradient."""
    wins, groups = (first, second), []
    expected = np.zeros(1)
    for arms in itertools.product((0, 1), repeat=3):
        for solved in itertools.product((1, -1), repeat=3):
            chance = np.prod([choice if arm else 1 - choice for arm in arms])
            chance *= np.prod([wins[arm] if o == 1 else 1 - wins[arm] for arm, o in zip(arms, solved, strict=True)])
            (found,) = success_factors([group(list(solved))])
            scores = [(1 - choice) if arm else -choice for arm in arms]  # of log p(arm), by the logit of the choice
            expected += chance * sum(f * score for f, score in zip(found, scores, strict=True))
            groups.append(chance)
    assert sum(groups) == pytest.approx(1)
    assert expected == pytest.approx(choice * (1 - choice) * (second - first), abs=1e-9)


def test_groups_of_one_outcome_teach_by_votes_or_not_at_all() -> None:
    lost = [group([-1, -1], [[1, 1], [-1, -1]], 2)]
    (dropped,), (included,), (masked,) = (factors(Kind("judge", 1.0, silent), lost) for silent in GROUPS)
    assert not np.any(dropped)
    assert not np.any(masked)
    assert included[0].tolist() == [0.25, 0.25]
    assert included[1].tolist() == [-0.25, -0.25]
    assert not np.any(factors(Kind(OUTCOME), lost))


def test_outcomes_alone_are_the_update_of_no_step_rewards() -> None:
    mixed = [group([1, -1, -1, -1], [[1, 0], [-1, 1], [0, 0], [0, 1]], 2)]
    alone, plain = factors(Kind(OUTCOME), mixed)[0], factors(Kind(PLAIN), mixed)[0]
    assert np.sign(alone).tolist() == np.sign(plain).tolist() == [[1, 1], [-1, -1], [-1, -1], [-1, -1]]
    assert np.sign(factors(Kind("judge", 1.0, "dropped"), mixed)[0]).tolist() != np.sign(alone).tolist()


def test_every_kind_is_another_formula() -> None:
    kinds = kinds_of(["judge"], [0.2, 1.0])
    assert len(kinds) == len(set(kinds)) == 2 + 2 * len(GROUPS)
    assert {kind.feedback.lam for kind in kinds} == {0.0, 0.2, 1.0}


@pytest.mark.parametrize("size", [2, 4, 8])
def test_batches_of_a_block_hold_every_episode_once(size: int) -> None:
    batches = cut(64, 8, size, 128)
    assert [sum(len(members) for _, members in batch) for batch in batches] == [128] * 4
    episodes = [(task, member) for batch in batches for task, members in batch for member in members]
    assert sorted(episodes) == list(itertools.product(range(64), range(8)))
    assert all(len({task for task, _ in batch}) == 128 // size for batch in batches)


@pytest.mark.parametrize(("tasks", "size"), [(64, 3), (60, 8)])
def test_what_does_not_divide_is_refused(tasks: int, size: int) -> None:
    with pytest.raises(StudyError, match="choose numbers that divide"):
        cut(tasks, 8, size, 128)


def test_a_folder_without_results_says_so(tmp_path: Path) -> None:
    assert "No seed" in write_alignment(tmp_path).read_text()


def test_the_page_of_two_seeds(tmp_path: Path) -> None:
    """A kind that is about .1 ahead of outcomes on every batch, and one that is no update at all."""
    rng = np.random.default_rng(0)
    for seed in (0, 1):
        outcome = 0.4 + 0.1 * rng.normal(size=8)
        cosines = {OUTCOME: outcome, PLAIN: outcome, "ahead": outcome + np.tile([0.09, 0.11], 4), "none": np.zeros(8)}
        rows = [
            {"source": source, "lam": lam, "silent": silent, "size": 4, "cosines": values.tolist()}
            | {"empty": float(source == "none"), "bias": None if source == "none" else 1.0, "noise": 2.0}
            for source, values in cosines.items()
            for lam, silent in ([(0.0, "")] if source in (OUTCOME, PLAIN) else [(0.2, silent) for silent in GROUPS])
        ]
        folder = tmp_path / "align" / f"seed-{seed}"
        folder.mkdir(parents=True)
        result = {"note": "", "success": 0.1, "played": 5120, "halves": 0.9, "rows": rows}
        (folder / "result.json").write_text(json.dumps(result))
    text = write_alignment(tmp_path).read_text()
    assert "What would refute it" in text
    assert "| ahead | 0.2 | dropped | +0.100 [+0.094, +0.106]* |" in text
    assert "| none | 0.2 | dropped | –, 2.00, 100 % |" in text
    assert "5,120 episodes, 10.0 % solved" in text
    assert (tmp_path / "figures" / "alignment.png").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_a_policy_that_solves_nothing_has_no_gradient_of_success(micro_file: Path, tmp_path: Path) -> None:
    """Two steps are too few for any of the tasks. What was played is kept: a second call plays nothing again."""
    study = yaml.safe_load(micro_file.read_text())
    study["config"]["rollout"]["max_steps"] = 2
    study |= {"arms": ["before", "full"], "regimes": {"small": study["regimes"]["small"]}}
    sizes = {"folds": 2, "blocks": 1, "episodes": 4, "batch": 8, "sizes": [2, 4], "lams": [0.2]}
    file = tmp_path / "judge.yaml"
    file.write_text(yaml.safe_dump({"study": study, "alignment": sizes}))
    folder = tmp_path / "out"
    arguments = ["alignment", "--file", str(file), "--out", str(folder), "--seeds", "1", "--workers", "1"]
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 2, refused.output
    assert "give it more episodes" in refused.output
    place = folder / "align" / "seed-0"
    played = {path.name: path.stat().st_mtime_ns for path in place.glob("*.npz")}
    assert sorted(played) == ["block-1.npz", "reference-1.npz", "reference-2.npz"]
    block = np.load(place / "block-1.npz")
    assert (int(block["solved"]), int(block["played"])) == (0, 24)
    updates = block["size-4"]
    kinds = kinds_of(SOURCES, [0.2])
    assert updates.shape == (len(kinds), 3, BUCKETS)
    moved = {kind for kind, rows in zip(kinds, updates, strict=True) if np.any(rows)}
    assert moved <= {kind for kind in kinds if kind.silent == "included"}
    assert Kind("trained judge", 0.2, "included") in moved
    assert CliRunner().invoke(app, arguments).exit_code == 2
    assert played == {path.name: path.stat().st_mtime_ns for path in place.glob("*.npz")}
    other = [*arguments[:3], "--out", str(tmp_path / "two"), "--seeds", "1", "--warm"]
    assert "no warm start" in CliRunner().invoke(app, [*other, str(tmp_path)]).output
    judged = [*other[:-1], "--judge", "full"]
    assert "name its folder with --warm" in CliRunner().invoke(app, judged).output
    CliRunner().invoke(app, [*judged, "--warm", str(folder)])
    assert json.loads((tmp_path / "two" / "align.json").read_text())["judge"] == "full"
    unknown = [*other[:3], "--out", str(tmp_path / "three"), "--warm", str(folder), "--judge", "nobody"]
    assert "no finished run" in CliRunner().invoke(app, unknown).output
