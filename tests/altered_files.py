"""Files that were altered, for the tests of what reads them."""

import copy
import hashlib
import json
import tracemalloc
from contextlib import contextmanager

from hypothesis import strategies as st

from foretrain.errors import StoreError
from foretrain.results import store as store_module

HEADER = {"format": 1, "notes": {"0": "a note"}, "code": "ab12"}
PLAN = {
    "schema": 2,
    "study": "routing",
    "parameters": {"domains": 7, "init_scale": 0.1, "mask": "circulant", "level_weights": [1, 2]},
    "axes": {"init_scale": [0.1, 0.2], "mask": ["band", "circulant"]},
    "seeds": 10,
    "root_seed": 0,
    "where": "./mine.py",
}
MANIFEST = {
    "schema": 2,
    "plan": PLAN,
    "versions": {"python": "3.11"},
    "lanes": {"default": 5},
    "seal": {"predicts": "ab12", "claims": {"a": ["b", "c"]}},
    "looks": [{"seeds": 10, "hash": "0a", "at": "2026-01-01", "seal": {"judges": "b"}}],
    "history": ["2 runs were kept"],
}
DEEP = "<deep>"
VALUES = [
    *(None, True, False, -1, 0, 1, 7, 10**9, 10**12, 10**30, -(10**30), 0.5, 1e308),
    *("", "text", "é\n\0", "1", "a" * 2000, DEEP),
    *([], {}, [[]], [1, 2, 3], {"a": {}}, [{}], {"": 1}),
]
ODD = st.sampled_from(VALUES)


def places(value, path=()):
    """The path of every value within a JSON value."""
    yield path
    inner = enumerate(value) if isinstance(value, list) else ()
    inner = value.items() if isinstance(value, dict) else inner
    for key, item in inner:
        yield from places(item, (*path, key))


@st.composite
def mutated(draw, content):
    """The bytes of a JSON value in which up to three entries are replaced, left out or added, then bits are flipped."""
    whole = [copy.deepcopy(content)]
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from([(0, *path) for path in places(whole[0])]))
        parent = whole
        for key in path[:-1]:
            parent = parent[key]
        change = draw(st.sampled_from(["replace", "leave out", "add"]))
        if change == "replace" or len(path) == 1:
            parent[path[-1]] = copy.deepcopy(draw(ODD))
        elif change == "leave out":
            del parent[path[-1]]
        elif isinstance(parent, dict):
            parent[draw(st.sampled_from(["schema", "plan", "new", "tolerance"]))] = copy.deepcopy(
                draw(ODD)
            )
        else:
            parent.append(copy.deepcopy(draw(ODD)))
    text = json.dumps(whole[0], ensure_ascii=draw(st.booleans()))
    depth = draw(st.sampled_from([10, 5000]))
    text = text.replace(json.dumps(DEEP), "[" * depth + "]" * depth)
    return draw(torn(text.encode()))


@st.composite
def torn(draw, content):
    """The bytes with a few of them flipped, or without their end."""
    result = bytearray(content)
    for _ in range(draw(st.integers(0, 2))):
        if result:
            result[draw(st.integers(0, len(result) - 1))] ^= 1 << draw(st.integers(0, 7))
    if draw(st.integers(0, 9)) == 0:
        del result[draw(st.integers(0, len(result))) :]
    return bytes(result)


def flip(path, position=None):
    """Flip a bit of a file, by default in its middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if position is None else position] ^= 1
    path.write_bytes(content)


@contextmanager
def little_memory(content):
    """Nothing larger than ten times the content may be allocated, but for what any decoding takes."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(content) + 500_000


class Told:
    """Context of a block that ended, or not, in one line of foretrain's that names `name`."""

    def __init__(self, name, kinds=StoreError):
        self.name, self.kinds, self.raised = name, kinds, False

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.raised = isinstance(error, self.kinds)
        if self.raised:
            line = str(error)
            assert self.name in line
            assert "\n" not in line
            assert len(line) < 1000
        return self.raised


def fit(store):
    """Make the checksums of a store fit what somebody has written into its metadata."""
    root = json.loads((store / "zarr.json").read_text())
    seal = root["attributes"]["metadata_sha256"]
    for name in seal:
        seal[name] = hashlib.sha256((store / name).read_bytes()).hexdigest()
    root["attributes"]["root_sha256"] = store_module._digest_of_root(root)
    (store / "zarr.json").write_text(json.dumps(root))
