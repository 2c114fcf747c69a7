"""``python -m foretrain`` is the command line."""

import sys

from foretrain.cli import main

sys.exit(main())
