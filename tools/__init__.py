"""Tools of the checkout: what trains the judge, what measures, what makes files."""
