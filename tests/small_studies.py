"""For every study of the catalogue the smallest run that still has its axes, its variants and all of its figures."""

import tomllib
from pathlib import Path

import foretrain
from foretrain.results.result import Result

PRESETS = {
    name: {key: tuple(value) if isinstance(value, list) else value for key, value in preset.items()}
    for name, preset in tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).items()
}
SMALL = {name: preset for name, preset in PRESETS.items() if "." not in name}


def small_run(study: str, out: Path) -> Result:
    """Run it with three seeds in this process."""
    return foretrain.run(study, **SMALL[study], seeds=3, out=out, workers=0, quiet=True)
