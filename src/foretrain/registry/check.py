"""A record of the registry beside a second run of the same."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.claims.claim import Claim
from foretrain.errors import FolderError
from foretrain.laboratory.conduct import conduct
from foretrain.plans.options import Options
from foretrain.registry.measure import measure
from foretrain.registry.present import plan_of
from foretrain.registry.record import OF_SENTENCE, OF_VERDICT, Record, as_stored

# What a record says of its plan, and of runs with the same bits; day, cost and commit are those of one making.
_OF_PLAN = ("study", "document", "command", "seeds", "root_seed", "precision", "plan")
_OF_RUNS = (*_OF_PLAN, "runs")
_ROUNDING = 1e-6  # relative, of theory in float64 on another machine


def compare(record: Record, again: Record) -> tuple[bool, list[str]]:
    """Say if a record agrees with one of a second run, and in lines what was seen: each field that differs is one.

    On the same machine type, and wherever the runs have the same bits, all that the record says of its runs and of every
    verdict is the same, and so are the bits. Elsewhere words, sizes and verdicts are the same, each measured value lies in the
    interval of the other, and what was predicted and allowed has moved by less than the second interval is wide.
    """
    again = as_stored(again)
    same_bits = record.checksums == again.checksums
    same_machine = (record.device, record.versions) == (again.device, again.versions)
    whole = same_bits or same_machine
    lines = [_line("the record", name, record, again) for name in (_OF_RUNS if whole else _OF_PLAN)]
    others = {claim.label: claim for claim in again.claims}
    for claim in record.claims:
        other = others.pop(claim.label, None)
        if other is None:
            lines += [f"{claim.label}: is not judged any more."]
            continue
        names = (*OF_SENTENCE, *OF_VERDICT) if whole else _elsewhere(claim, other)
        lines += [_line(claim.label, name, claim, other) for name in names]
    lines = [*filter(None, lines), *(f"{label}: is not in the record." for label in others)]
    if same_bits and not lines:
        return True, ["It comes out the same, to the bit."]
    where = "the same machine type" if same_machine else "another machine or other packages"
    head = f"On {where} it has {'the same' if same_bits else 'other'} bits"
    if lines:
        return False, [f"{head}, and differs:", *lines]
    return not whole, [f"{head}; every verdict is the same, within the intervals."]


def _line(label: str, name: str, ours: Any, theirs: Any) -> str:
    """Return the line on a field that differs, to the bit; "" where it is the same, also as nan."""
    before, now = getattr(ours, name), getattr(theirs, name)
    if repr(before) == repr(now):
        return ""
    return f"{label}: {name.replace('_', ' ')} is `{before}` in the record, `{now}` now."


def _elsewhere(claim: Claim, other: Claim) -> list[str]:
    """Return the fields of a claim that have to be those of another, of runs with other bits, or are too far from them."""
    names = [*OF_SENTENCE, "verdict", "cell", "along", "size"]
    if claim.seeds + claim.left_out != other.seeds + other.left_out:
        names += ["seeds", "left_out"]
    ours, theirs = claim.uncertainty, other.uncertainty
    if (ours is None) != (theirs is None):
        names += ["uncertainty"]
    elif ours and theirs:
        (low, high), (floor, ceiling) = ours, theirs
        if not (low <= other.measured <= high and floor <= claim.measured <= ceiling):
            names += ["measured"]
    width = np.ptp(theirs) if theirs and np.all(np.isfinite(theirs)) else 0.0
    for name in ("predicted", "allowed"):
        before, now = getattr(claim, name), getattr(other, name)
        if not np.allclose(before, now, rtol=_ROUNDING, atol=width, equal_nan=True):
            names += [name]
    return names


def run_again(record: Record, out: Path | None = None) -> Record:
    """Run what a record stands for again, and return the record of that; cost: what the record says.

    Results go to the folder `out`; by default they are thrown away.
    Raises `FolderError` where the settings of the record now make other runs.
    """
    plan = plan_of(record)
    if plan.hash != record.plan:
        raise FolderError(
            f"The record of `{record.study}` at `{record.size}` was made with parameters that the study has no longer, or "
            "with other defaults. Run it again and add it."
        )
    with tempfile.TemporaryDirectory() as temporary:
        folder = out or Path(temporary) / record.study
        conduct(plan, Options(out=folder, yes=True))
        return measure(folder, record.size)
