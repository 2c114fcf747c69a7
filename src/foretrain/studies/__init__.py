"""The studies: a folder each, found by its name (``pathway-race`` is ``studies/pathway_race/``); none imports another."""
