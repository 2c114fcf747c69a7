"""The study ``sampled-parameters``; see ``study.py``."""
