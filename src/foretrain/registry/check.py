"""Is a record of the registry still what the present code gives: by its hashes at once, by running it again for sure."""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from foretrain.claims.claim import Claim
from foretrain.errors import FolderError
from foretrain.laboratory.conduct import conduct
from foretrain.plans.options import Options
from foretrain.plans.plan import Plan, grid, make_plan, variants
from foretrain.plans.size import PAPER
from foretrain.registry.measure import measure
from foretrain.registry.present import plan_of
from foretrain.registry.record import Record
from foretrain.words import duration, number


@dataclass(frozen=True)
class Comparison:
    """A record beside a second run of the same."""

    same_bits: bool  # whether every array is the same to the bit
    same_machine: bool  # whether device and packages are the same, where equal bits are asked for
    differing: tuple[
        str, ...
    ]  # a line for each sentence outside the record's interval, or with another verdict

    @property
    def agrees(self) -> bool:
        """Whether the run came out the same: to the bit on the same machine type, within the intervals elsewhere."""
        return self.same_bits if self.same_machine else not self.differing

    def lines(self) -> list[str]:
        """Return what was seen, in sentences."""
        if self.same_bits and not self.differing:
            return ["It comes out the same, to the bit."]
        where = (
            "the same machine type" if self.same_machine else "another machine or other packages"
        )
        bits = "the same bits" if self.same_bits else "other bits"
        if not self.differing:
            return [
                f"On {where} it has {bits}; every verdict is the same, within the record's intervals."
            ]
        return [f"On {where} it has {bits}, and differs:", *self.differing]


def compare(record: Record, again: Record) -> Comparison:
    """Compare a record with one of a second run, sentence by sentence."""
    theirs = {claim.label: claim for claim in again.claims}
    differing = [
        line for claim in record.claims if (line := _differs(claim, theirs.pop(claim.label, None)))
    ]
    differing += [f"{label}: is not in the record." for label in theirs]
    return Comparison(
        record.checksums == again.checksums,
        (record.device, record.versions) == (again.device, again.versions),
        tuple(differing),
    )


def _differs(claim: Claim, other: Claim | None) -> str:
    if other is None:
        return f"{claim.label}: is not judged any more."
    low, high = claim.uncertainty or claim.allowed
    inside = low <= other.measured <= high or repr(other.measured) == repr(claim.measured)  # nan
    if inside and other.verdict == claim.verdict:
        return ""
    both = f"{claim.measured:.4g} in the record, {other.measured:.4g} now"
    return f"{claim.label}: {claim.verdict} in the record, {other.verdict} now; {both}."


def run_again(record: Record, out: Path | None = None, *, quiet: bool = True) -> Record:
    """Run what a record stands for again, and return the record of that; cost: what the record says.

    Args:
        record: The record.
        out: Folder of the results; by default they are thrown away.
        quiet: Show no progress.

    Raises:
        FolderError: the settings of the record now make other runs.
    """
    plan = plan_of(record)
    if plan.hash != record.plan:
        raise FolderError(
            f"The record of `{record.study}` at `{record.size}` was made with parameters that the study has no longer, or "
            "with other defaults. Run it again and add it."
        )
    with ExitStack() as stack:
        folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory())) / record.study
        conduct(plan, Options(out=folder, yes=True, quiet=quiet))
        return measure(folder, record.size)


def paper_cost(some: Sequence[Record]) -> str:
    """Return what runs at the document's size would cost beside those of a record, in words; "" if they were made.

    Cost: the study is loaded and its runs are counted, up to some seconds.
    """
    differs = [one.differs for one in some]
    if {} in differs or not any(differs):
        return ""
    record = min((one for one in some if one.differs), key=lambda one: len(one.differs or ()))
    there = make_plan(record.study, {}, preset=PAPER, yes=True)
    (few, steps), (many, more) = _work(plan_of(record)), _work(there)
    ratio = more / steps
    return (
        f"{many} runs (here {few}), {number(ratio, 2)} times as many steps: about {duration(record.cost * ratio)} where this "
        f"took {duration(record.cost)}, more where networks are larger"
    )


def _work(plan: Plan) -> tuple[int, float]:
    """Return the number of runs and of their steps."""
    each = [
        plan.study.estimate(run.parameters)
        for variant in variants(plan)
        for _, run in grid(plan, variant)
    ]
    return len(each), sum(each)
