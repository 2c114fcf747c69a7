"""The study ``interaction-basis``; see ``study.py``."""
