"""``python -m foretrain`` is the command line."""

import sys

if not sys.flags.safe_path:
    # The current folder, whose files would stand for modules of Python and of packages.
    del sys.path[0]

from foretrain.cli import main

sys.exit(main())
