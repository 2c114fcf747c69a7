"""Options of the small routing run that many tests look at."""

SMALL_ROUTING = "--domains 3 --trained-outputs 2 --hidden-width 8 --steps 400 --learning-rate 0.1 --seeds 3".split()
