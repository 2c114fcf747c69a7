"""The studies: a folder each, found by its name (``pathway-race`` is ``studies/pathway_race/``); none imports another.

What a study defines, and in which of its files, is said in `foretrain.plans.study`.
"""
