"""Configuration of Sphinx."""

project = "foretrain"
author = "The foretrain developers"
copyright = "2026, The foretrain developers"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
nb_execution_mode = "off"
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "foretrain"
