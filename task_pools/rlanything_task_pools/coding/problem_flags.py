"""Checkers of problem folders: the default validator with its flags, or the folder's own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlanything_task_pools.coding.draft import ImportFormatError, float_checker
from rlanything_task_pools.coding.problem_files import read_fields
from rlanything_task_pools.coding.problem_validator import validator_of

__all__ = ["checker_of", "flags_of"]

_NAMES = ("validator_flags", "output_validator_flags", "output_validator_args")
_GROUPS = ("data/testdata.yaml", "data/test_group.yaml", "data/secret/testdata.yaml", "data/secret/test_group.yaml")
_SIDES = (("abs", "float_relative_tolerance"), ("rel", "float_absolute_tolerance"))
"""A tolerance, and the flag that does not set it."""


def flags_of(folder: Path, config: Mapping[str, Any]) -> list[str]:
    """The arguments of the output validator: those of ``problem.yaml``, or else of the tests as a whole.

    Raises:
        ImportFormatError: A file of test groups cannot be read.
    """
    groups = (read_fields(folder, name) for name in _GROUPS if (folder / name).is_file())
    for fields in (config, *groups):
        for name in _NAMES:
            value = fields.get(name)
            if value is not None:
                return [str(flag) for flag in value] if isinstance(value, list) else str(value).split()
    return []


def checker_of(folder: Path, config: Mapping[str, Any], flags: Sequence[str]) -> dict[str, Any]:
    """The checker of a folder.

    Raises:
        ImportFormatError: A flag is unknown, or there is a validator that cannot be run.
    """
    validators = [name for name in ("output_validator", "output_validators") if (folder / name).is_dir()]
    if validators or "custom" in str(config.get("validation", "default")).split():
        if not validators:
            raise ImportFormatError("problem.yaml validation", "there is no folder of output validators")
        return validator_of(folder, validators[0], flags)
    return _default(flags)


def _default(flags: Sequence[str]) -> dict[str, Any]:
    """The checker of the flags of the default validator."""
    words = list(flags)
    tolerances: dict[str, float] = {}
    kind, place = "tokens", "output validator flags"
    case: dict[str, Any] = {"ignore_case": True}
    while words:
        word = words.pop(0)
        if word in ("float_tolerance", "float_absolute_tolerance", "float_relative_tolerance"):
            value = float_checker(words.pop(0) if words else None, place)["abs"]
            tolerances |= {side: value for side, other in _SIDES if word != other}
        elif word == "space_change_sensitive":
            kind = "lines"
        elif word == "case_sensitive":
            case = {}
        else:
            raise ImportFormatError(place, f"{word!r:.80} is unknown")
    if tolerances:
        return {"kind": "float", "abs": 0.0, "rel": 0.0, **tolerances, **case}
    return {"kind": kind} if kind == "lines" else {"kind": kind, **case}
