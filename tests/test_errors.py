import os

import numpy as np
import pytest

from foretrain import errors
from foretrain.errors import ArgumentError


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: errors.integer("k", 9, minimum=1, maximum=7),
            "Argument `k` must be between 1 and 7, but is 9.",
        ),
        (lambda: errors.integer("k", 0, minimum=1), "Argument `k` must be at least 1, but is 0."),
        (lambda: errors.integer("k", 1.5), "Argument `k` must be a whole number, but is 1.5."),
        (lambda: errors.integer("k", True), "Argument `k` must be a whole number, but is True."),
        (lambda: errors.real("s", float("nan")), "Argument `s` must be finite, but is nan."),
        (lambda: errors.real("s", "a"), "Argument `s` must be a number, but is 'a'."),
        (lambda: errors.real("s", 0, above=0), "Argument `s` must be greater than 0, but is 0."),
        (lambda: errors.real("s", 2, maximum=1), "Argument `s` must be at most 1, but is 2."),
        (
            lambda: errors.one_of("law", "xaver", ("xavier", "gaussian")),
            "Argument `law` must be one of `xavier`, `gaussian`, but is 'xaver'. Did you mean `xavier`?",
        ),
        (
            lambda: errors.finite_array("x", [1.0, np.inf]),
            "Argument `x` must hold finite numbers, but has 1 that are not, the first at (1,).",
        ),
        (
            lambda: errors.finite_array("x", ["a"]),
            "Argument `x` must hold real numbers, but has dtype <U1.",
        ),
        (
            lambda: errors.finite_array("x", [1], ndim=2),
            "Argument `x` must have 2 axes, but has shape (1,).",
        ),
        (
            lambda: errors.file_argument("x", os.devnull),
            f"Argument `x` must be a regular file, but `{os.devnull}` is a pipe or a device. Put a file in its place.",
        ),
        (
            lambda: errors.same_length(x=[1, 2], y=[1]),
            "Argument `y` must be as long as `x` (2), but has length 1.",
        ),
    ],
)
def test_every_guard_speaks_the_one_grammar(call, message):
    with pytest.raises(ArgumentError) as raised:
        call()
    assert str(raised.value) == message


def test_guards_return_the_cleaned_value():
    assert errors.integer("k", np.int64(3)) == 3
    assert errors.integer("k", 3.0) == 3
    assert errors.real("s", 1) == 1.0
    assert errors.same_length(x=[1, 2], y=(3, 4)) == 2
