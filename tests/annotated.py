"""The run-time check of annotations that the tests switch on: whole numbers pass for floats, as everywhere in Python."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
