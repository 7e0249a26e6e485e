"""Training of the judge's weights, and how good they are on databases held out."""
