"""A record made up for tests of the registry, and those that the registry holds."""

from functools import cache
from pathlib import Path

from made_claims import sample

from foretrain.registry.record import Record, records

SIZE = {"symbols": ("19", "53")}
CLAIMS = (
    sample("far", [2.0, 2.1, 2.05], allowed=(0, 1), size=SIZE, cell={"rank": 1}),
    sample("far", [0.5, 0.51, 0.52], allowed=(0, 1), size=SIZE, cell={"rank": 2.5}),
    sample("exact", 1e-12, why='Because of "rounding" | so.', rank="control", size={}),
    sample("open", [float("nan")] * 2, allowed=(float("-inf"), 1), among="runs that learn"),
)
RECORD = Record(
    study="made-up",
    size="default",
    document="A document",
    command="foretrain run made-up",
    seeds=3,
    root_seed=0,
    cost=1.5,
    day="2026-01-01",
    device="cpu",
    precision="float32",
    commit="abc",
    plan="0" * 12,
    makes="1" * 12,
    predicts="2" * 12,
    judges="3" * 12,
    settings={"rank": [1, 2.5], "data": "digits"},
    versions={"numpy": "2"},
    checksums={"simulation": "f" * 16},
    claims=CLAIMS,
)


@cache
def stored_records() -> list[Record]:
    """Read the registry beside the tests, once in a process."""
    return records(Path(__file__).parents[1] / "registry")
