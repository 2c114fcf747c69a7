"""The literature that foretrain rests on, as BibTeX, by key."""

from foretrain.errors import argument_error, nearest

_ENTRIES = {
    "foretrain": """@software{foretrain,
  title = {foretrain: a laboratory for theories of learning},
  author = {{The foretrain developers}},
  year = {2026},
  version = {0.1.0}
}""",
    "saxe2022": """@inproceedings{saxe2022,
  title = {The Neural Race Reduction: Dynamics of Abstraction in Gated Networks},
  author = {Saxe, Andrew M. and Sodhani, Shagun and Lewallen, Sam Jay},
  booktitle = {Proceedings of the 39th International Conference on Machine Learning},
  series = {PMLR},
  volume = {162},
  year = {2022}
}""",
    "saxe2014": """@inproceedings{saxe2014,
  title = {Exact solutions to the nonlinear dynamics of learning in deep linear neural networks},
  author = {Saxe, Andrew M. and McClelland, James L. and Ganguli, Surya},
  booktitle = {International Conference on Learning Representations},
  year = {2014},
  eprint = {1312.6120},
  archiveprefix = {arXiv}
}""",
    "fukumizu1998": """@inproceedings{fukumizu1998,
  title = {Effect of batch learning in multilayer neural networks},
  author = {Fukumizu, Kenji},
  booktitle = {Proceedings of the 5th International Conference on Neural Information Processing},
  year = {1998}
}""",
    "braun2022": """@inproceedings{braun2022,
  title = {Exact learning dynamics of deep linear networks with prior knowledge},
  author = {Braun, Lukas and Domin\\'e, Cl\\'ementine and Fitzgerald, James and Saxe, Andrew},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2022}
}""",
    "jacot2018": """@inproceedings{jacot2018,
  title = {Neural tangent kernel: Convergence and generalization in neural networks},
  author = {Jacot, Arthur and Gabriel, Franck and Hongler, Cl\\'ement},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {31},
  year = {2018}
}""",
    "chizat2019": """@inproceedings{chizat2019,
  title = {On lazy training in differentiable programming},
  author = {Chizat, L\\'ena{\\"i}c and Oyallon, Edouard and Bach, Francis},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {32},
  year = {2019}
}""",
    "jermyn2022": """@misc{jermyn2022,
  title = {Multi-Component Learning and S-Curves},
  author = {Jermyn, Adam and Shlegeris, Buck},
  howpublished = {AI Alignment Forum, with the comments below it},
  year = {2022}
}""",
    "benaych2012": """@article{benaych2012,
  title = {The singular values and vectors of low rank perturbations of large rectangular random matrices},
  author = {Benaych-Georges, Florent and Nadakuditi, Raj Rao},
  journal = {Journal of Multivariate Analysis},
  volume = {111},
  pages = {120--135},
  year = {2012}
}""",
    "johnstone2001": """@article{johnstone2001,
  title = {On the distribution of the largest eigenvalue in principal components analysis},
  author = {Johnstone, Iain M.},
  journal = {The Annals of Statistics},
  volume = {29},
  number = {2},
  pages = {295--327},
  year = {2001}
}""",
    "sommeijer1998": """@article{sommeijer1998,
  title = {RKC: An explicit solver for parabolic PDEs},
  author = {Sommeijer, B. P. and Shampine, L. F. and Verwer, J. G.},
  journal = {Journal of Computational and Applied Mathematics},
  volume = {88},
  number = {2},
  pages = {315--326},
  year = {1998}
}""",
    "flesch2022": """@article{flesch2022,
  title = {Orthogonal representations for robust context-dependent task performance in brains and neural networks},
  author = {Flesch, Timo and Juechems, Keno and Dumbalska, Tsvetomira and Saxe, Andrew and Summerfield, Christopher},
  journal = {Neuron},
  year = {2022},
  doi = {10.1016/j.neuron.2022.01.005}
}""",
}


def bibtex(keys: tuple[str, ...]) -> str:
    """BibTeX of foretrain itself and of the entries named; raises `ArgumentError` for an unknown key."""
    for key in keys:
        if key not in _ENTRIES:
            raise argument_error("key", "name a reference", f"is `{key}`", nearest(key, _ENTRIES))
    return "\n\n".join(_ENTRIES[key] for key in ("foretrain", *keys))
