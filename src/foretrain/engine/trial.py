"""A worker that tries groups of runs: it opens each as a sweep would and says what that and a step take, and trains nothing.

It reads and answers as `foretrain.engine.session` does. Seconds are those that its core has worked for it.
"""

import time
from typing import Any

from foretrain.engine import session
from foretrain.engine.cache import CompilationCache
from foretrain.engine.capacity import TRIAL_S
from foretrain.engine.cores import device
from foretrain.engine.host import Host, computed
from foretrain.engine.kernel import moves_in_turn
from foretrain.errors import ForetrainError
from foretrain.machine import peak_memory
from foretrain.plans.place import place


def tried(worker: session.Session, opened: list[dict], message: dict) -> dict[str, Any]:
    """Open a group and return what it takes, JSON-ready.

    Args:
        worker: The worker.
        opened: Takes its answers.
        message: A ``group`` message of `foretrain.engine.session`, on trial.

    Raises:
        TooLarge: three lanes of the program do not fit into memory.
        ForetrainError: the study raises; the text has the place.
    """
    opened.clear()
    began = time.process_time()
    worker.handle(message)
    open_s, answer = time.process_time() - began, opened[-1]
    if worker.error is not None:
        raise ForetrainError(place(worker.error))
    if on_host := isinstance(worker.lanes, Host):
        side_by_side, inputs_s = 1, 0.0
    else:
        open_s = max(0.0, open_s - TRIAL_S)
        side_by_side = 1 if moves_in_turn(worker.program) else worker.lanes.lanes
        began = time.process_time()
        worker.passenger(*message["samples"][0][1:4])
        inputs_s = time.process_time() - began
    host_s, host_steps, kept = 0.0, 1.0, answer["bytes"][1]
    if worker.study.computes:
        parameters = worker.run_of(*message["samples"][0][2:4])
        began = time.process_time()
        arrays = computed(worker.study, *parameters)
        host_s = time.process_time() - began
        host_steps = max(1.0, worker.study.estimate(parameters[0]))
        kept += sum(array.nbytes for array in arrays.values())
    return {
        "abreast": side_by_side,
        "step_s": 0.0 if on_host else side_by_side / answer["rate"],
        "host_s": host_s,
        "host_steps": host_steps,
        "inputs_s": inputs_s,
        "open_s": open_s,
        "kept": kept,
        "observed": 2 * answer["lanes"] * kept,
        "peak": peak_memory(),
    }


def _work(setup, inbox, say):
    cache, opened = CompilationCache(), []
    worker = session.Session(setup, opened.append)
    say({"say": "ready", "device": device()})
    try:
        while (message := inbox.get())["do"] != "stop":
            try:
                answer = tried(worker, opened, message)
            except ForetrainError:
                raise
            except (Exception, SystemExit) as error:  # of the author's code
                raise ForetrainError(place(error)) from error
            say({"say": "tried", **answer})
            cache.publish()
    finally:
        cache.close()


if __name__ == "__main__":
    session.main(_work)
