"""Free directions and their costs, counted."""
