"""The check of annotations that the tests switch on holds functions, methods, fields and shapes of arrays."""

import importlib.util
import inspect
import sys

import annotated
import pytest

SOURCE = """
from dataclasses import dataclass
from functools import cache
from jaxtyping import Float
import numpy as np

@cache
def half(number: float) -> float:
    return number / 2

def wrong() -> int:
    return "no number"

def outer(x):
    def inner(y: int):
        return y
    return inner(x)

if True:
    @dataclass(frozen=True)
    class Pair:
        one: int
        two: tuple[str, ...] = ()

        def times(self, factor: int) -> int:
            return self.one * factor

        @property
        def named(self) -> str:
            return self.one

def square(matrix: Float[np.ndarray, "n n"]) -> int:
    return len(matrix)
"""


@pytest.fixture
def module(tmp_path):
    """A file of its own, loaded as the files of foretrain are in the tests."""
    path = tmp_path / "small.py"
    path.write_text(SOURCE)
    loader = annotated._Loader("small", str(path))
    spec = importlib.util.spec_from_loader("small", loader)
    made = sys.modules["small"] = importlib.util.module_from_spec(spec)
    loader.exec_module(made)
    yield made
    del sys.modules["small"]


def test_what_breaks_an_annotation_is_refused_wherever_it_stands(module):
    import numpy as np

    pair = module.Pair(3, ("a",))
    assert (module.half(3), module.outer("x"), pair.times(2)) == (1.5, "x", 6)
    assert module.square(np.zeros((2, 2))) == 2
    breaks = (
        lambda: module.half("x"),
        lambda: module.wrong(),
        lambda: module.Pair("x"),
        lambda: module.Pair(1, (2,)),
        lambda: pair.times("x"),
        lambda: pair.named,
        lambda: module.square(np.zeros((2, 3))),
        lambda: module.square(np.zeros((2, 2), int)),
    )
    for number, wrong in enumerate(breaks):
        with pytest.raises(Exception, match=r"violates|Type-check") as raised:
            wrong()
        assert "eartype" in str(raised.type) or "jaxtyping" in str(raised.type), number


def test_a_checked_function_has_its_signature_and_no_file_stands_before_its_caller(module):
    assert inspect.getsource(module.wrong).startswith("def wrong() -> int:")
    assert list(inspect.signature(module.Pair.times).parameters) == ["self", "factor"]
    assert module.half.__wrapped__.__code__.co_filename.startswith("<")  # below the cache
