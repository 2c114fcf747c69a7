"""The registry of verdicts: what each study says at each size, written by a command only; pages are rendered from it."""
