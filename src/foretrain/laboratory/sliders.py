"""The table of sliders, kept beside the results as long as all that it is made of stays as it is."""

import contextlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from foretrain.plans.plan import Plan
from foretrain.provenance.objects import hashed
from foretrain.provenance.reading import MOST_TEXT, read_file
from foretrain.provenance.sources import PACKAGE, WHOLE, reached
from foretrain.results.files import write_atomic
from foretrain.results.root import digest
from foretrain.results.summary import versions

FILE = "sliders.json"


def kept(folder: Path, plan: Plan, board: Mapping[str, Any], make: Callable[[], Any]) -> Any:
    """Return what `make` makes of a board: from the folder where it was made of the same code, plan, data and board."""
    study = plan.study
    own = [Path(file) for file in study.files.values()] if study.is_own else []
    reads = reached([(file, WHOLE) for file in own], [file.parent for file in own])[1]
    code = [f.read_text("utf-8", "replace") for f in sorted({*PACKAGE.rglob("*.py"), *reads})]
    values = {} if study.files else study.part("study") or {}
    code += [hashed(values[name]) for name in sorted(values)]
    of = digest([code, versions(), plan.hash, plan.data, board])
    with contextlib.suppress(OSError, ValueError, TypeError, LookupError):
        known = json.loads(read_file(folder / FILE, MOST_TEXT))
        if known["of"] == of:
            return known["made"]
    table = make()
    write_atomic(folder / FILE, json.dumps({"of": of, "made": table}).encode())
    return table
