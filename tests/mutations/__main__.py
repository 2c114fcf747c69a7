"""Plant mutations in folders of results, and say which are noticed: ``python -m mutations runs/a runs/b``, in ``tests``."""

import sys
from pathlib import Path

from mutations.notice import report, stored

if __name__ == "__main__":
    every = [one for folder in sys.argv[1:] for one in stored(Path(folder))]
    print("\n".join(report(every)))
