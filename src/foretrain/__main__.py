"""``python -m foretrain`` is the command line."""

import sys

if not sys.flags.safe_path:
    del sys.path[
        0
    ]  # the current folder, whose files would stand for modules of Python and of packages

from foretrain.cli import main

sys.exit(main())
