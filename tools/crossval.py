"""Measure the built-in judge by cross-validation over databases; write nothing.

    python tools/crossval.py [--data DIR] [--small] [--judged N] [--worst SET K N]

Strict table recall at k (every needed table among the first k; table names without regard to
case), and what the adaptive cut keeps for a recall of 0.95 and 0.99; with --judged, what `link`
keeps of N questions a set, tables and columns. A database that is measured was in no training
set; those of spider-dev, which spider-union joins, are in one fold.
"""

from __future__ import annotations

import sys

from train import main

if __name__ == "__main__":
    sys.argv.append("--folds-only")
    main()
