"""The second process of a long explanation, see `foretrain.explain.second_core`; it reads JSON and ends with the first."""

import json
import os
import sys
import threading
from pathlib import Path

from foretrain.engine.cores import pin


def _main() -> None:
    told = json.loads(sys.stdin.readline())
    parent = os.getppid()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    pin(told["core"])  # before JAX starts
    from foretrain.explain.explain import simulator_of
    from foretrain.explain.model_file import described_files
    from foretrain.explain.simulated import corners

    training, _ = described_files(**told["files"])
    simulator = simulator_of(training, told["starts"], Path(told["folder"]))
    for one in reversed(corners(training, from_zero=told["from_zero"])):
        if simulator.take(one, told["substeps"], parent):
            simulator.run(one, told["substeps"])


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    _main()
