"""Numbers that a page types although the registry holds them.

A number in prose must stand before a reference (see `foretrain.registry.render`) if it equals, at its digits, the measured
value or an end of the interval of a verdict, and

- it has two digits or more, and its paragraph names the sentence: `study/sentence`, or `sentence` on the study's page, or
- it has three digits or more, and stands on the study's page, or
- it stands on the study's page before an interval, ".93 (.91 to .97)", whose ends are those of the same verdict.

A number of verdicts, "n of m" and a percentage stand before a reference on every page, a number of seeds, runs, networks or
draws and a mean or median on a study's page; in words, too.

A number that only happens to be equal (the document's, a parameter, derived, of other runs) is marked so:
``.125<!-- elsewhere -->``, of "n of m" the first, of a table its first row for all. Tables of verdicts are rendered whole.
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
    r"(?<![\w.^/])([-−]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:e-?\d+)?)((?:\s?%|\s?per\s?cent)?)(?!\w|\.\d|[\d%]*<!-- )"
)
_INTERVAL = re.compile(rf"{_NUMBER.pattern}\s+\({_NUMBER.pattern}\s+to\s+{_NUMBER.pattern}\)")
_NAME = re.compile(r"`(?:([\w-]+)/)?([\w.-]+)`")
_UNITS = "two|three|four|five|six|seven|eight|nine"
_WORDS = (
    rf"(?i:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-(?:one|{_UNITS}))?|{_UNITS}|ten|eleven|twelve|"
    r"thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|hundred|dozen)\b(?!-)"
)
_ANY = rf"(?<!= )(?:{_NUMBER.pattern}|(?<![\w-]){_WORDS}(?!<!-- ))"
_COUNT = re.compile(
    rf"{_ANY}\s+(?:(?:more|other|fresh|further)\s+)?(?:seeds?|runs?|cells|networks|trainings|starts|draws)\b"
    rf"|\b(?:means?|medians?)\s+of\s+{_NUMBER.pattern}"
)
_VERDICTS = re.compile(
    rf"{_NUMBER.pattern}\s+(?:of\s+)?(?:verdicts|sentences|claims)\b|(?<!of ){_ANY}\s+(?:(?:verdicts|sentences|claims)\s+)?"
    r"(?:holds?|held|fail(?:s|ed)?|(?:are|were)\s+inconclusive)\b(?![\s-]*(?:\(|out))"
)
_SHARE = re.compile(  # but of parts of a setting
    rf"{_ANY}\s+of\s+(?:the\s+)?(?:[\d.,]*\d\b|{_WORDS})(?!\s+(?:directions|numbers|outputs|products|samples|scales|sums)\b)"
)
_PERCENT = re.compile(rf"(?:{_NUMBER.pattern})(?<=[%t])(?!\s+intervals?\b)")
_MARKED = re.compile(r"(?<=\n\n)\|[^\n]*<!-- elsewhere -->[^\n]*(?:\n\|[^\n]*)*")  # tables
_ROUND = 1 + 1e-9  # a value in the middle between two texts may be written as either


def typed(text: str, study: str, records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """Yield each number of a page, of a study or of "", that must stand before a reference, with one that it may have."""
    everywhere = [*_values([item for item in records if item.study == study], None)]
    whole = _NO_PROSE.sub(" ", BLOCK.sub(" ", text))
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:- |\* |\d+\. ))", whole):
        named = {(name or study, id) for name, id in _NAME.findall(paragraph)}
        neighbour = [*_values(records, named)]
        prose = re.sub(r"`[^`\n]*`", " ", paragraph)
        yield from _intervals(prose, everywhere)
        for number, percent in _NUMBER.findall(prose):
            known = everywhere if _digits(number) > 2 else []
            for reference, value in (*neighbour, *known) if _digits(number) > 1 else ():
                if _is(number, percent, value):
                    yield number + percent, reference
                    break


def counted(text: str, study: str) -> list[str]:
    """Return each count and percentage of a page, of a study or of "", that stands before no reference."""
    prose = _MARKED.sub(" ", _NO_PROSE.sub(" ", BLOCK.sub(" ", text)))
    prose = re.sub(r"`[^`\n]*`", "`", prose)
    patterns = [_VERDICTS, _SHARE, _PERCENT, *([_COUNT] if study else [])]
    return [result[0] for pattern in patterns for result in pattern.finditer(prose)]


def _intervals(prose: str, values: list[tuple[str, float]]) -> Iterator[tuple[str, str]]:
    """Yield the numbers that stand before the interval of their verdict."""
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
