"""A record of the registry beside a second run of the same, and the cost of runs at its document's size."""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from foretrain.claims.claim import Claim
from foretrain.errors import FolderError
from foretrain.laboratory.conduct import conduct
from foretrain.plans.options import Options
from foretrain.plans.plan import grid, make_plan, variants
from foretrain.plans.size import PAPER
from foretrain.registry.measure import measure
from foretrain.registry.present import plan_of
from foretrain.registry.record import Record
from foretrain.words import duration, number


def compare(record: Record, again: Record) -> tuple[bool, list[str]]:
    """Say if a record agrees with one of a second run, and in lines what was seen, sentence by sentence.

    They agree if they do to the bit on the same machine type, and within the record's intervals elsewhere.
    """
    others = {claim.label: claim for claim in again.claims}
    lines = [_difference(claim, others.pop(claim.label, None)) for claim in record.claims]
    lines = [*filter(None, lines), *(f"{label}: is not in the record." for label in others)]
    same_bits = record.checksums == again.checksums
    if same_bits and not lines:
        return True, ["It comes out the same, to the bit."]
    same_machine = (record.device, record.versions) == (again.device, again.versions)
    where = "the same machine type" if same_machine else "another machine or other packages"
    head = f"On {where} it has {'the same' if same_bits else 'other'} bits"
    agree = same_bits if same_machine else not lines
    if not lines:
        return agree, [f"{head}; every verdict is the same, within the record's intervals."]
    return agree, [f"{head}, and differs:", *lines]


def _difference(claim: Claim, other: Claim | None) -> str:
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

    Results go to the folder `out`; by default they are thrown away.
    Raises `FolderError` where the settings of the record now make other runs.
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


def paper_cost(known: Sequence[Record]) -> str:
    """Return the cost of runs at a document's size beside that of the known runs, in words; "" if they were made.

    Cost: the study is loaded and its runs are counted, up to some seconds.
    """
    smaller = [record for record in known if record.differs]
    if not smaller or any(record.differs == {} for record in known):
        return ""
    record = min(smaller, key=lambda record: len(record.differs or ()))
    paper = make_plan(record.study, {}, preset=PAPER, yes=True)
    few, many = (
        [plan.study.estimate(r.parameters) for name in variants(plan) for _, r in grid(plan, name)]
        for plan in (plan_of(record), paper)
    )
    ratio = sum(many) / sum(few)
    return (
        f"{len(many)} runs (here {len(few)}), {number(ratio, 2)} times as many steps: about {duration(record.cost * ratio)} "
        f"where this took {duration(record.cost)}, more where networks are larger"
    )
