"""Plant errors in studies that are run small here, or in folders of results, and say which are noticed.

``python -m mutations`` (in ``tests``) takes names of studies and folders, such as ``routing runs/a``; none is every study.
"""

import sys
import tempfile
from pathlib import Path

from mutations.notice import of_all, of_study, report, stored

from foretrain.plans import catalogue

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as runs:
        every = [] if sys.argv[1:] else of_all(Path(runs))
        for name in sys.argv[1:]:
            known = name in catalogue.names()
            every += of_study(name, Path(runs)) if known else stored(Path(name))
    print("\n".join(report(every)))
