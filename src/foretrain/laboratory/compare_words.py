"""A `Comparison` of two results in sentences, tables, numbers, a picture, and sections of a page."""

import math
from functools import partial

from foretrain.claims import markup
from foretrain.claims.cells import gather
from foretrain.claims.claim import HEADLINE
from foretrain.claims.rows import alike, by_rank, named, open_reasons, rows
from foretrain.figures import Drawing, finished
from foretrain.figures.live import live
from foretrain.figures.overlaid import overlaid
from foretrain.figures.style import PALETTE, panels, style
from foretrain.laboratory.compare import ABSENT, Comparison, verdict_words
from foretrain.laboratory.opened import opened
from foretrain.report.answer import Answer, Table
from foretrain.report.forest import forest
from foretrain.report.sections import curves, verdicts
from foretrain.words import count

_SIDES = ("first", "second")


def answer(comparison: Comparison) -> Answer:
    """Return what is said of two results; of the claims those whose verdicts differ, and the headlines of either."""
    changed, shown = comparison.changed, _shown(comparison)
    left = len(comparison.claims) - len(shown)
    differ = f"{count(len(changed), 'verdict')} of {len(comparison.claims)} {'differs' if len(changed) == 1 else 'differ'}"
    head = [differ + (f"; {left} more claims have the same verdict in both." if left else ".")]
    head += [f"{side}: {folder}" for side, folder in zip(_SIDES, comparison.folders, strict=True)]
    first, second = (open_reasons(alike(rows(s.claims))[1]) for s in comparison.summaries)
    sides = {"both": first} if first == second else {"first": first, "second": second}
    for side, reasons in sides.items():
        head += [f"{side}: inconclusive ({named(reasons[why])}): {why}." for why in reasons]
    if not comparison.differences:
        head.append("Nothing was asked differently.")
    lines = [
        (
            ("* " if name in changed else "  ") + name,
            *map(verdict_words, comparison.claims[name]),
            *(ABSENT if row is None else row.measured for row in comparison.claims[name]),
        )
        for name in shown
    ]
    columns = ("claim", *_SIDES, "value first", "value second")
    judged = [{g.id: g.claims for g in gather(s.claims)} for s in comparison.summaries]
    return Answer(
        name="comparison",
        title=" and ".join(_names(comparison)),
        head=head,
        tables=[
            Table("What differs", ("item", *_SIDES), comparison.differences),
            Table("Claims (* another verdict)", columns, (), lines),
        ],
        drawings={"verdicts": partial(_draw, judged, shown)},
        doubts=comparison.doubts,
        numbers=_numbers(comparison),
        sections=partial(_sections, comparison, judged),
    )


def _names(comparison):
    """Names of both results: of their folders, or the paths of these where the names are equal."""
    names = [folder.resolve().name for folder in comparison.folders]
    return names if names[0] != names[1] else [str(folder) for folder in comparison.folders]


def _shown(comparison):
    """Ids of the sentences whose verdicts differ, then of the headlines of either result."""
    headlines = {
        row.id
        for side in zip(*comparison.claims.values(), strict=True)
        for row in by_rank([row for row in side if row is not None]).get(HEADLINE, ())
    }
    return comparison.changed + [
        name for name in comparison.claims if name in headlines and name not in comparison.changed
    ]


def _numbers(comparison):
    items = ("item", *_SIDES)
    return {
        "folders": list(comparison.folders),
        "differences": [dict(zip(items, line, strict=True)) for line in comparison.differences],
        "claims": {
            name: [row and {"verdict": row.verdict, "measured": row.measured} for row in pair]
            for name, pair in comparison.claims.items()
        },
        "changed": comparison.changed,
        "doubts": comparison.doubts,
    }


@style()
def _draw(judged, shown) -> Drawing:
    """Draw what was measured in both results for each sentence, on the scale of what it allows."""
    plots = {name: forest([c for side in judged for c in side.get(name, ())]) for name in shown}
    colours = dict(zip(_SIDES, (PALETTE["blue"], PALETTE["vermillion"]), strict=True))
    figure, ax = panels(height=1.2 + 0.4 * max(len(shown), 1))
    for y, (name, plot) in enumerate(plots.items()):
        if plot is None:
            continue
        if plot.allowed is not None:
            ax.barh(y, plot.allowed[1] - plot.allowed[0], 0.8, plot.allowed[0], color="0.9")
        finite = sum(math.isfinite(claim.measured) for claim in judged[0].get(name, ()))
        for place, mark in enumerate(plot.marks):
            side = _SIDES[place >= finite]
            height = y + (0.15 if place >= finite else -0.15)
            ax.plot([mark.low, mark.high], [height] * 2, color=colours[side], linewidth=1.5)
            ax.plot(mark.at, height, "o", color=colours[side], label=side)
    ax.set_yticks(range(len(shown)), shown)
    ax.set(xlim=(0, 100), ylim=(max(len(shown), 1) - 0.5, -0.5), xticks=[], xlabel="Measured")
    return finished(
        figure,
        "Measured in both",
        "Measured values with their intervals, of each sentence on a scale of its own, in all its cells; grey is what it "
        "allows.",
    )


def _sections(comparison, judged) -> str:
    """Verdicts of all claims side by side, and the curves of both over each other, as HTML."""
    names = _names(comparison)
    first, second = (live(opened(folder).stored_grid) for folder in comparison.folders)
    both = overlaid(first, second, names) if first and second else None
    claims = [
        {
            "id": name,
            "statement": next(row.statement for row in pair if row is not None),
            "pair": [
                None if row is None else (row, forest(side[name]))
                for row, side in zip(pair, judged, strict=True)
            ],
            "changed": name in comparison.changed,
        }
        for name, pair in comparison.claims.items()
    ]
    return markup.render(
        "report/comparison.html",
        names=names,
        strips=zip(
            names, (verdicts({"claims": s.claims}) for s in comparison.summaries), strict=True
        ),
        claims=claims,
        curves=curves(both) if both else None,
    )
