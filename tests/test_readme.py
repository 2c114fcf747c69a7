"""Numbers and commands of the README, and the run that the tutorial shows, are as they say."""

import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_digits

from foretrain.cli import _parse, main
from foretrain.plans import catalogue

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
(PYTHON,) = re.findall(r"^```python\n(import foretrain\n.*?)^```", README, re.M | re.DOTALL)
VERDICTS = re.compile(r"^(?:holds|fails|inconclusive) +[\w.-]+", re.M)
# In their order: the comments beside what is printed.
GAPS = re.findall(r"print\(gap\(.*# ([\d.e-]+): ", PYTHON)


def test_every_command_of_the_readme_and_for_agents_is_understood(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "mine.py"]) == 0
    lines = re.findall(r"^foretrain .*$", README + (ROOT / "SKILL.md").read_text("utf-8"), re.M)
    assert len(lines) >= 22
    for line in lines:
        words = shlex.split(re.split(r"\s{3,}", line)[0], comments=True)
        assert _parse(words[1:], {}).name == words[1], line


def test_what_the_pages_count_is_as_many():
    assert f"{len(load_digits().data):,} real digits" in README
    words = " ".join(re.sub("<!--.*?-->", "", TUTORIAL).split())
    message = catalogue.load("routing").sentences
    # Those of the default tasks.
    claims = [item for item in message if item.id != "half-times-digits"]
    for item in claims:
        if item.rank == "headline":
            assert item.statement.rstrip(".").replace("sqrt(M)", "√M") in words
    shown, rest = len(VERDICTS.findall(TUTORIAL)), re.search(r"^(\d+) more: ", TUTORIAL, re.M)
    assert shown + int(rest[1]) == len({item.corrects or item.id for item in claims})
    assert f"judges {len(claims)} sentences" in words
    seconds, unit = catalogue.card("routing").cost.split()
    assert unit == "s"
    assert int(seconds) < 60
    assert "under a minute" in README


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_run_of_the_readme_gives_its_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "foretrain", "run", "routing"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert used.ru_utime + used.ru_stime < 60  # "under a minute", of one core
    for lines in re.findall(r"^34 runs .*\n((?:.*\n)*?)(?:\.\.\.|Page: )", README + TUTORIAL, re.M):
        assert {*lines.splitlines()} <= {*done.stdout.splitlines()}

    message: list = []
    names: dict = {"print": message.append}
    exec(compile(PYTHON, "README.md", "exec"), names)
    result = names["result"]
    assert (result.simulation.sizes["seed"], names["decoupled"].sizes["seed"]) == (10, 1)
    first = float(result.simulation["loss"].isel(step=0).mean())
    assert f"begins at {first:.1f}" in PYTHON
    random, alike, other = message[1:4]
    assert GAPS == [f"{random:.2g}", "1e-14", f"{other:.2g}"]
    assert alike < 1e-13
    assert "learning-curve" in message[4]
    assert result.claims["decoupled"].allowed[1] == 1e-12
    assert result.claims["decoupled"].verdict == "holds"
