"""Time to import skcalrank in a program that has imported what it needs of scikit-learn.

    python benchmarks/speed_import.py

New processes by turns, and the CPU time of one statement in each, after scikit-learn's
`linear_model`, `metrics`, `model_selection` and `pipeline`. Rooms and optional libraries are not
imported until they are used.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
from _common import describe_environment, parser, print_table

# An installed package is compiled.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
CODE = """
import sys, time
import sklearn.linear_model, sklearn.metrics, sklearn.model_selection, sklearn.pipeline
before, start = set(sys.modules), time.process_time()
{}
print(time.process_time() - start, len(set(sys.modules) - before))
"""
GOALS = {
    "import skcalrank": "120 ms, 80 modules",
    "from skcalrank import NDCGRanker": "120 ms, 80 modules",
    "from skcalrank import BoostedRanker": "",
    "from skcalrank import *": "",
}


def cost(statement):
    """CPU seconds and number of modules of a statement in a process of its own."""
    command = [sys.executable, "-c", CODE.format(statement)]
    done = subprocess.run(command, check=True, env=ENVIRONMENT, capture_output=True, text=True)
    return [float(number) for number in done.stdout.split()]


def main():
    """Run and print."""
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=11)
    args = options.parse_args()
    print(describe_environment("numpy", "scipy", "scikit-learn"))
    # The first round compiles and fills the caches of the system.
    costs = [[cost(statement) for statement in GOALS] for _ in range(args.rounds + 1)][1:]
    rows = []
    for (statement, goal), (seconds, modules) in zip(GOALS.items(), np.moveaxis(costs, 0, 2)):
        low, middle, high = 1000 * np.quantile(seconds, [0, 0.5, 1])
        spent = f"{middle:.0f} ({low:.0f} to {high:.0f})"
        rows.append([statement, spent, f"{modules[0]:.0f}", goal])
    print_table(["after scikit-learn", "CPU ms", "modules", "goal"], rows)


if __name__ == "__main__":
    main()
