"""The study ``entangled-networks``; see ``study.py``."""
