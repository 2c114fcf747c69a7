"""The size of a run beside that of its document: in which parameters a claim was judged at other values than there.

The preset ``paper`` of a study says the size of its document, and ``paper-x`` that of its preset ``x``: a claim is laid beside
the one from which it differs least. Fewer seeds are no smaller size, since the interval of a claim knows them, and neither are
other steps of observation or more steps of training.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from foretrain.claims.claim import Claim, Size
from foretrain.plans.parameters import rules
from foretrain.plans.plan import laid_out
from foretrain.plans.study import Study
from foretrain.words import span

PAPER = "paper"
_STEPS, _OBSERVED = "steps", "observe_every"
Values = Mapping[str, tuple[Any, ...]]
_LISTED = 6  # texts, at most, that are listed one by one


def document_values(study: Study) -> list[Values]:
    """Return for each size of the document the values of every parameter, those that the preset names first, steps last."""
    names = [*(f"{PAPER}-{name}" for name in study.presets), PAPER]
    return [_values(study, study.presets[name]) for name in names if name in study.presets]


def _values(study: Study, preset: dict[str, Any]) -> Values:
    p, axes, _ = laid_out(study, preset)
    values = {name: axes.get(name, (getattr(p, name),)) for name in rules(type(p))}
    known = dict.fromkeys(name for name in (*preset, *values) if name in values)
    order = sorted(known, key=lambda name: name == _STEPS)
    return {name: values[name] for name in order if name != _OBSERVED}


def size_of(claim: Claim, here: Values, documents: Sequence[Values]) -> Size:
    """Return in which parameters a claim was judged at another size than its document's.

    Args:
        claim: The claim, with its cell and the axes along which its sentence looks.
        here: Parameter to its values in the run, of an axis several.
        documents: The same at each size of the document, see `document_values`.

    Returns:
        Parameter to its value here and in the document, in words, the second "" where the first says both; None where the
        document's size is not known. A cell has the document's size where its value is one of the document's, a sentence
        that looks along an axis where all of the document's values are there.
    """
    return min((_differences(claim, here, values) for values in documents), key=len, default=None)


def _differences(claim: Claim, here: Values, document: Values) -> dict[str, tuple[str, str]]:
    differences = {}
    for name, theirs in document.items():
        ours = (claim.cell[name],) if name in claim.cell else here[name]
        same = set(ours) >= set(theirs) if name in claim.along else set(ours) <= set(theirs)
        if not same and not (name == _STEPS and min(ours) >= max(theirs)):
            differences[name] = _in_words(ours, theirs)
    return dict(sorted(differences.items(), key=lambda item: len(here[item[0]]) > 1))


def _in_words(ours: Sequence, theirs: Sequence) -> tuple[str, str]:
    """Return the values here and in the document as texts; where a long list is a part of another, how long both are."""
    texts = any(isinstance(value, str) for value in theirs)
    if texts and len(theirs) > _LISTED and set(ours) <= set(theirs):
        return f"{len(set(ours))} of the document's {len(set(theirs))} values", ""
    return span(ours), span(theirs)
