"""Plant errors in studies that are run small here, and say which are noticed.

``python -m mutations`` (in ``tests``) takes names of studies, such as ``routing``; none is every study.
"""

import sys
import tempfile
from pathlib import Path

from mutations.notice import of_all, report

from foretrain.plans import catalogue

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as runs:
        every = of_all(sys.argv[1:] or catalogue.names(), Path(runs))
    print("\n".join(report(every)))
