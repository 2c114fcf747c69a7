"""Claims as labelled data: the group ``/claims`` of a store."""

import json
from collections.abc import Iterable
from dataclasses import fields
from functools import partial

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.errors import StoreError
from foretrain.results import decode
from foretrain.results.labels import annotate
from foretrain.vocabulary import Variable, declare, lookup

_JSON = ("cell", "along", "size")
_KINDS = {"str": "TUO", "float": "f", "int": "iu", "bool": "b"}

_TEXTS = {
    "id": "Short name of the sentence.",
    "statement": "The sentence that is judged.",
    "source": "Document, equation or figure it comes from.",
    "verdict": "holds, fails, inconclusive or not claimed.",
    "cell": "JSON: axis to its value in the cell judged.",
    "reason": "Why the verdict is inconclusive, or the sentence not claimed.",
    "method": "How `uncertainty` was made.",
    "why": "Why just this interval is allowed.",
    "among": "Of which runs the sentence speaks.",
    "corrects": "Id of the sentence it is a corrected form of.",
    "scale": "The preset in which it was judged, or own.",
    "along": "JSON: axis to its ends, for axes it looks along.",
    "unit": "Unit of predicted and measured.",
    "note": "A sentence for the reader.",
    "rank": "headline, detail or control.",
    "reads": "Variables that its quantity reads.",
    "size": "JSON: parameter to its value here and in the document.",
}
_VALUES = {
    "predicted": "The value that theory gives, in `unit`.",
    "measured": "The statistic over seeds, in `unit`.",
}
_BOUNDS = {
    "uncertainty": "95% interval of `measured` over seeds.",
    "allowed": "Interval in which `measured` must lie.",
}
_COUNTS = {"seeds": "Number of seeds that entered.", "left_out": "Number of seeds without a value."}
_FLAGS = {"exact": "An exact fact, which has no uncertainty."}
declare("claim", _TEXTS, kind="str")
declare("claim", _VALUES)
declare("claim bound", _BOUNDS)
declare("claim", _COUNTS, kind="int")
declare("claim", _FLAGS, kind="bool")
_COLUMNS = {name: lookup(name) for name in (*_TEXTS, *_VALUES, *_BOUNDS, *_COUNTS, *_FLAGS)}
# Stores that were written before claims had these take their defaults.
_LATER = ("rank", "reads", "size")


def claims_dataset(claims: Iterable[Claim]) -> xr.Dataset:
    """Return claims along the dim ``claim``; `claims_from_dataset` is the inverse, infinite and undefined numbers included."""
    claims = list(claims)
    columns = {item.name: [getattr(claim, item.name) for claim in claims] for item in fields(Claim)}
    columns["exact"] = [ends is None for ends in columns["uncertainty"]]
    columns["uncertainty"] = [ends or (np.nan, np.nan) for ends in columns["uncertainty"]]
    as_json = partial(json.dumps, default=np.generic.item, ensure_ascii=False)
    columns |= {name: [*map(as_json, columns[name])] for name in _JSON}
    dtypes = {"str": np.dtypes.StringDType(), "float": float, "int": np.int64, "bool": bool}
    variables = {}
    for name, variable in _COLUMNS.items():
        assert variable.dims is not None
        shape = (len(claims), 2)[: len(variable.dims)]
        values = np.array(columns[name], dtypes[variable.kind]).reshape(shape)
        variables[name] = (variable.dims, values)
    bound = np.array(["lower", "upper"], np.dtypes.StringDType())
    return annotate(xr.Dataset(variables, coords={"bound": bound}))


def claims_from_dataset(dataset: xr.Dataset, where: object = "The group /claims") -> list[Claim]:
    """Return the claims in a dataset of `claims_dataset`; raises `StoreError` where it holds what no claim can be."""
    wanted = [name for name in _COLUMNS if name in dataset or name not in _LATER]
    columns = {name: _column(dataset, name, _COLUMNS[name], where) for name in wanted}
    for name in _BOUNDS:
        columns[name] = [tuple(ends) for ends in columns[name]]
    both = zip(columns.pop("exact"), columns["uncertainty"], strict=True)
    columns["uncertainty"] = [None if is_exact else ends for is_exact, ends in both]
    for name in _JSON:
        if name in columns:
            columns[name] = [_mapping(text, name, where) for text in columns[name]]
    rows = zip(*columns.values(), strict=True)
    return list(decode.claims([dict(zip(columns, row, strict=True)) for row in rows], where))


def _column(dataset: xr.Dataset, name: str, variable: Variable, where) -> list:
    if name not in dataset:
        raise _unfit(where, "truncated", f"it has no `{name}`")
    column = dataset[name]
    shape = (dataset.sizes.get("claim", 0), 2)[: len(variable.dims or ())]
    fits = column.dtype.kind in _KINDS[variable.kind]
    if not fits or column.dims != variable.dims or column.shape != shape:
        seen = f"dims {column.dims}, shape {column.shape} and dtype {column.dtype}"
        raise _unfit(where, "altered", f"`{name}` has {seen}")
    return column.values.tolist()


def _mapping(text, name: str, where) -> dict | None:
    try:
        entries = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        entries = None
    if not isinstance(entries, dict) and not (name == "size" and text == "null"):
        raise _unfit(where, "altered", f"`{name}` is {str(text)[:80]!r}")
    return entries


def _unfit(where, how: str, reason: str) -> StoreError:
    return StoreError(f"{where} is {how} or not a table of claims of foretrain: {reason}.")
