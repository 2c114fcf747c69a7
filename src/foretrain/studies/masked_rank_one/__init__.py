"""The study ``masked-rank-one``; see ``study.py``."""
