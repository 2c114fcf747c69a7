"""Plans: what is to be run, from parameters and files to a grid of runs."""
