"""Numbers that a page types although the registry holds them.

A number in prose must stand before a reference (see `foretrain.registry.render`) if it equals, at its digits, the measured
value or an end of the interval of a verdict, and

- it has two digits or more, and its paragraph names the sentence: `study/sentence`, or `sentence` on the study's page, or
- it has three digits or more, and stands on the study's page, or
- it stands on the study's page before an interval, ".93 (.91 to .97)", whose ends are those of the same verdict.

A number of verdicts stands before a reference on every page, one of seeds, runs or cells on a study's page, in words, too.

A number that only happens to be equal (the document's, a parameter, derived, of other runs) is marked so:
``.125<!-- elsewhere -->``. Tables of verdicts are rendered whole; other tables and headings are read as prose.
"""

import math
import re
from collections.abc import Iterator, Sequence

from foretrain.registry.record import Record
from foretrain.registry.render import BLOCK

# Code, mathematics, texts of images and targets of links are no prose.
_NO_PROSE = re.compile(
    r"^```.*?^```|\$\$.*?\$\$|\$[^$\n]+\$|!\[[^\]]*\]|\]\([^)]*\)", re.M | re.DOTALL
)
_NUMBER = re.compile(
    r"(?<![\w.^/])([-−]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:e-?\d+)?)((?:\s?%|\s?percent)?)(?!\w|\.\d|[\d%]*<!-- )"
)
_INTERVAL = re.compile(rf"{_NUMBER.pattern}\s+\({_NUMBER.pattern}\s+to\s+{_NUMBER.pattern}\)")
_NAME = re.compile(r"`(?:([\w-]+)/)?([\w.-]+)`")
_WORDS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen twenty thirty forty "
    "fifty sixty hundred"
)
_SPELLED = rf"\b(?i:{_WORDS.replace(' ', '|')})\b(?!<!-- )"
_COUNT = re.compile(
    rf"(?:{_NUMBER.pattern}|{_SPELLED})\s+(?:(?:more|other)\s+)?(?:seeds?|runs?|cells)\b"
)
_VERDICTS = re.compile(
    rf"{_NUMBER.pattern}\s+(?:(?:of\s+)?(?:verdicts|sentences|claims)\b|(?:hold|fail|are\s+inconclusive)s?\b(?!\s*\())"
)
_PERCENT = re.compile(rf"(?:{_NUMBER.pattern})(?<=[%t])(?!\s+intervals?\b)")
_ROUND = 1 + 1e-9  # a value in the middle between two texts may be written as either


def typed(text: str, study: str, records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """Yield each number of a page, of a study or of "", that must stand before a reference, with one that it may have."""
    own = [item for item in records if item.study == study]
    whole = _NO_PROSE.sub(" ", BLOCK.sub(" ", text))
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:- |\* |\d+\. ))", whole):
        named = {(name or study, id) for name, id in _NAME.findall(paragraph)}
        neighbour = [*_values(records, named)]
        everywhere = [*_values(own, None)]
        prose = re.sub(r"`[^`\n]*`", " ", paragraph)
        yield from _intervals(prose, own)
        for number, percent in _NUMBER.findall(prose):
            known = everywhere if _digits(number) > 2 else []
            for reference, value in (*neighbour, *known) if _digits(number) > 1 else ():
                if _is(number, percent, value):
                    yield number + percent, reference
                    break


def counted(text: str, study: str) -> list[str]:
    """Return each number of verdicts, and on a study's page of seeds, runs and cells, that stands before no reference."""
    patterns = [_VERDICTS, *([_COUNT] if study else [])]
    return [result[0] for pattern in patterns for result in pattern.finditer(_prose(text))]


def percentages(text: str) -> list[str]:
    """Return each percentage outside of tables and headings that stands before no reference, but that of an interval."""
    prose = re.sub(r"^\s*[|#][^\n]*$", " ", _prose(text), flags=re.M)
    return [result[0] for result in _PERCENT.finditer(prose)]


def _prose(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "`", _NO_PROSE.sub(" ", BLOCK.sub(" ", text)))


def _intervals(prose: str, own: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """Yield the numbers that stand before the interval of their verdict."""
    values = [*_values(own, None)]
    for result in _INTERVAL.finditer(prose):
        numbers, percents = result.groups()[::2], result.groups()[1::2]
        for three in zip(values, values[1:], values[2:], strict=False):
            whole = three[1][0] == f"{three[0][0]}:low"
            if whole and all(map(_is, numbers, percents, (value for _, value in three))):
                yield numbers[0] + percents[0], three[0][0]


def _values(
    records: Sequence[Record], named: set[tuple[str, str]] | None
) -> Iterator[tuple[str, float]]:
    for item in records:
        for claim in item.claims:
            if named is None or (item.study, claim.id) in named:
                at = "" if item.size == "default" else f"@{item.size}"
                reference = f"{item.study}{at}/{claim.label}"
                ends = claim.uncertainty or ()
                yield reference, claim.measured
                yield from zip((f"{reference}:low", f"{reference}:high"), ends, strict=False)


def _digits(number: str) -> int:
    """Return how many significant digits a text has; whole numbers count those before their last zeros."""
    mantissa = number.lstrip("-−").replace(",", "").partition("e")[0]
    digits = mantissa.replace(".", "").lstrip("0")
    return len(digits) if "." in mantissa else len(digits.rstrip("0"))


def _is(number: str, percent: str, value: float) -> bool:
    """Say if a text may be a value, rounded, with or without its sign."""
    mantissa, _, exponent = number.lstrip("-−").replace(",", "").partition("e")
    power = int(exponent or 0) - (2 if percent else 0)
    last = 10.0 ** (power - len(mantissa.partition(".")[2]))
    return (
        math.isfinite(value)
        and abs(abs(value) - float(mantissa) * 10.0**power) <= last / 2 * _ROUND
    )
