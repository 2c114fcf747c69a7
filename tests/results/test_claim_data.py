import dataclasses
import math

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from made_claims import sample

from foretrain.claims.claim import RANKS, VERDICTS, Claim, as_it_follows
from foretrain.errors import StoreError
from foretrain.results.claim_data import claims_dataset, claims_from_dataset
from foretrain.results.result import make_tree
from foretrain.results.store import begin_tree, open_tree

CLAIMS = [
    sample("ratio", [2.6, 2.7, 2.65], (2, 3), along={"rate": (0.1, 0.4)}, scale="paper", why="So."),
    sample("slow", [1.0, 5.0], (4, math.inf), predicted=9.0, unit="step", cell={"init_scale": 0.1}),
    sample("alone", [1.0], (-math.inf, 0), note="A <note> & more.", reason="one seed"),
    sample("never", [math.nan, math.inf], (-math.inf, 1), among="those that learn"),
    sample("conserved", 2e-12, (0, 1e-10), cell={"rank": 2, "bias": True, "mask": "dense"}),
    sample("conserved.corrected", 2e-12, (0, 1e-10), corrects="conserved"),
]


def same(claims, others):
    """Claims are equal, where nan equals nan."""
    assert repr([*map(dataclasses.astuple, claims)]) == repr([*map(dataclasses.astuple, others)])


reals = st.floats()
words = st.text(max_size=4)
scalars = (
    st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
)
claims = st.builds(
    Claim,
    id=st.text(min_size=1, max_size=4),
    statement=st.text(max_size=9),
    source=words,
    predicted=reals,
    measured=reals,
    uncertainty=st.none() | st.tuples(reals, reals),
    allowed=st.tuples(reals, reals),
    verdict=st.sampled_from(VERDICTS),
    seeds=st.integers(0, 10**7),
    cell=st.dictionaries(st.text(min_size=1, max_size=3), scalars, max_size=2),
    left_out=st.integers(0, 10**7),
    **dict.fromkeys("reason method why among corrects scale unit note".split(), words),
    rank=st.sampled_from(RANKS),
    along=st.dictionaries(st.text(min_size=1, max_size=3), st.tuples(scalars, scalars), max_size=2),
).map(as_it_follows)


@given(st.lists(claims, max_size=3))
def test_claims_survive_becoming_a_dataset(many):
    same(claims_from_dataset(claims_dataset(many)), many)


@pytest.mark.parametrize("many", [CLAIMS, []], ids=["some", "none"])
def test_claims_survive_the_disk_infinities_included(tmp_path, many):
    tree = open_tree(begin_tree(tmp_path, make_tree(claims=many))())
    same(claims_from_dataset(tree["claims"].to_dataset()), many)


def test_a_store_from_before_claims_had_a_rank_is_read():
    options = sample("a", rank="headline", cell={"rate": np.float64(0.1), "rank": np.int64(3)})
    (claim,) = claims_from_dataset(claims_dataset([options]).drop_vars(["rank", "reads"]))
    assert claim.rank == "detail"
    assert repr(claim.cell) == "{'rate': 0.1, 'rank': 3}"  # numbers of NumPy become plain


def _texts(*values):
    return ("claim", np.array(values, np.dtypes.StringDType()))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("cell", _texts("[1]")),
        ("cell", _texts("{")),
        ("cell", _texts('{"a": [1]}')),
        ("cell", _texts("[" * 100_000)),
        ("cell", _texts('{"a": null}')),
        ("along", _texts('{"a": 1}')),
        ("along", _texts('{"a": [1, 2, 3]}')),
        ("verdict", _texts("certain")),
        ("id", _texts("")),
        ("id", ("claim", [3])),
        ("seeds", ("claim", [-1])),
        ("seeds", ("claim", [1.5])),
        ("predicted", _texts("many")),
        ("exact", ("claim", [1.0])),
        ("allowed", (("bound", "claim"), [[1.0], [2.0]])),
        ("uncertainty", ((), 3.0)),
        ("statement", None),
        ("exact", None),
    ],
)
def test_a_table_that_holds_what_no_claim_can_be_is_refused_in_one_line(name, change):
    dataset = claims_dataset([sample("a")]).drop_vars([name, "bound"])
    if change is not None:
        dataset = dataset.assign({name: change})
    with pytest.raises(StoreError) as caught:
        claims_from_dataset(dataset, where="here")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("here is ")
    assert len(str(caught.value)) < 500


def test_a_table_without_columns_or_with_bounds_of_three_ends_is_refused():
    with pytest.raises(StoreError, match="it has no `id`"):
        claims_from_dataset(xr.Dataset())
    with pytest.raises(StoreError, match=r"altered .* `uncertainty` has dims"):
        claims_from_dataset(claims_dataset([sample("a")]).isel(bound=[0, 1, 1]))
