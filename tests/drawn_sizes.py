"""Studies at sizes that nobody chose: drawn by a public seed, run with few seeds, and judged.

``python drawn_sizes.py OUT [STUDY ...]`` in ``tests`` runs three draws of each study of ``drawn_sizes.toml`` into folders
below OUT (finished ones are only read), and prints of the derived sentences how many hold, and which do not.
"""

import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import foretrain
from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE, Claim

SEED = 20261123  # the day on which the ranges were fixed
DRAWS = 3
SIZES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())


def draws(study: str) -> Iterator[dict[str, Any]]:
    """Yield the parameters of each draw of a study, the same on every machine."""
    random = np.random.default_rng([SEED, *study.encode()])
    for _ in range(DRAWS):
        yield {name: drawn(random, *ends) for name, ends in SIZES[study]["ranges"].items()}


def drawn(random: np.random.Generator, low: float, high: float) -> float:
    if isinstance(low, int):
        return int(random.integers(low, high + 1))
    return float(f"{np.exp(random.uniform(np.log(low), np.log(high))):.2g}")


def derived(claim: Claim, corrected: set[str]) -> bool:
    """Return True where a sentence was derived here, or is an exact fact, and has no corrected form."""
    ours = bool(claim.corrects) or claim.source.startswith("docs/") or claim.uncertainty is None
    return ours and claim.id not in corrected


def judged(study: str, out: Path) -> list[tuple[dict[str, Any], Claim]]:
    """Return the derived sentences of a study at all its draws, with the parameters; runs what is not there."""
    claims = []
    for number, parameters in enumerate(draws(study)):
        place = out / f"{study}-{number}"
        options = {**SIZES[study].get("fixed", {}), **parameters, "seeds": SIZES[study]["seeds"]}
        result = foretrain.run(study.split()[0], **options, out=place, workers=0, quiet=True)
        corrected = {claim.corrects for claim in result.claims}
        claims += [(parameters, item) for item in result.claims if derived(item, corrected)]
    return claims


def summary(study: str, claims: list[tuple[dict[str, Any], Claim]]) -> list[str]:
    """Return the counts of verdicts in a line, and a line for each sentence that is claimed and does not hold."""
    counts = Counter(claim.verdict for _, claim in claims)
    lines = [f"{study}: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items())]
    for parameters, claim in claims:
        if claim.verdict in (FAILS, INCONCLUSIVE):
            text = f"{claim.measured:.4g} {claim.uncertainty}, in {claim.allowed}? {claim.reason}"
            lines.append(f"  {claim.verdict} {claim.label} at {parameters}: {text}")
    return lines


def share(claims: list[tuple[dict[str, Any], Claim]], wrong: Sequence[str] = ()) -> float:
    """Return the share of sentences that hold, of those with a verdict that are not known to be wrong; 1 of none."""
    verdicts = Counter(claim.verdict for _, claim in claims if claim.id not in wrong)
    return 1 - verdicts[FAILS] / max(verdicts[HOLDS] + verdicts[FAILS], 1)


def main(out: str, *studies: str) -> None:
    """Print what holds of each study, and of all together."""
    whole = []
    for study in studies or SIZES:
        claims = judged(study, Path(out))
        print("\n".join(summary(study, claims)), flush=True)
        whole += claims
    verdicts = Counter(claim.verdict for _, claim in whole)
    print(f"All: {dict(verdicts)}; {share(whole):.1%} of those with a verdict hold.")


if __name__ == "__main__":
    main(*sys.argv[1:])
