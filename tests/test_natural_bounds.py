import tomllib
from pathlib import Path

import numpy as np
import pytest

from foretrain.plans import catalogue
from foretrain.registry.sizes import shipped

BOUNDS = Path(__file__).with_name("natural_bounds.toml")


@pytest.mark.parametrize("name", catalogue.names())
def test_what_predicts_a_number_allows_two_ends_or_one_up_to_a_bound_of_its_value(name):
    known, sentences = tomllib.loads(BOUNDS.read_text("utf-8")), catalogue.load(name).sentences
    ids = {f"{name}/{row.id}" for row in sentences}
    assert {id for id in known if id.startswith(f"{name}/")} <= ids, f"mend {BOUNDS.name}"
    judged = [claim for record in shipped(name) for claim in record.claims]
    for row in sentences:
        seen = [claim for claim in judged if claim.id == row.id]
        allowed = [claim.allowed for claim in seen] if callable(row.inside) else [row.inside]
        predicts = callable(row.near) or np.isfinite(row.near)
        within = row.within or row.statistic == "fraction"
        lacks = bool(predicts and not within and np.isinf(allowed).any())
        bound = known.get(f"{name}/{row.id}")
        assert lacks == (bound is not None), f"`{row.id}` lacks an end, or {BOUNDS.name} its line"
        for claim in seen if isinstance(bound, int) else ():
            side = 1 if claim.allowed[1] == np.inf else -1
            assert not side * (claim.measured - bound) > 1e-6, f"{bound} is no bound"
