"""Every sentence of ``grokking-phases`` on made-up maps: one on which it holds, one on which it fails."""

from made_phases import STUDY, made
from made_up import check


def test_every_sentence_can_hold_and_fail():
    good = {
        **{said.id: made for said in STUDY.sentences},
        "one-seed": lambda: made(phases="ratio"),
        "one-dimensional": lambda: made(phases="ratio"),
        "adam-is-better": lambda: made(flow=1.5, adam=1.0),
        "boundary-by-adam": lambda: made(adam=1.0),
    }
    spoilt = {
        "one-dimensional": made,
        "one-dimensional.corrected": lambda: made(phases="embedding"),
        "one-seed": lambda: made(phases="seed"),
        "boundary": lambda: made(shift=-1.5),
        "boundary-by-adam": lambda: made(adam=1.0, shift=-1.5),
        "both-causes": lambda: made(rqi=1.0),
        "memorization-is-of-representation": lambda: made(rqi=1.0),
        "data-bound": lambda: made(untold_learn=True),
        "delay-ratio": lambda: made(slower=3.0),
        "delay-order": lambda: made(inverted="cells"),
        "seed-order": lambda: made(inverted="seeds"),
        "better-than-rate": lambda: made(lambda_3=None),
        "better-than-norm": lambda: made(rivals=True),
        "better-than-kernel": lambda: made(rivals=True),
        "better-than-rqi": lambda: made(rivals=True),
        "decoder-orders": lambda: made(lambda_3=None),
        "decoder-counts": lambda: made(lambda_3=None),
        "adam-is-better": made,
    }
    check("grokking-phases", good, spoilt)
