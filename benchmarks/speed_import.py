"""Time to import skcalrank against that of `sklearn.linear_model` alone.

    python benchmarks/speed_import.py

New processes by turns; the ratio is the median of the ratios round by round, the start of Python
in both. Optional libraries are not imported until they are used.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
from _common import describe_environment, parser, print_table

ASKED = 1.15
# An installed package is compiled.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
MODULES = ("sklearn.linear_model", "skcalrank")


def seconds(module):
    """Of a process that imports a module and ends."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True, env=ENVIRONMENT)
    return time.perf_counter() - start


def main():
    """Run and print."""
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=11)
    args = options.parse_args()
    print(describe_environment("numpy", "scipy", "scikit-learn"))
    # The first round compiles and fills the caches of the system.
    found = np.array([[seconds(m) for m in MODULES] for _ in range(args.rounds + 1)])[1:]
    ratio = found[:, 1] / found[:, 0]
    rows = [[m, f"{1000 * t:.0f}", "", ""] for m, t in zip(MODULES, np.median(found, axis=0))]
    rows[1][2:] = [f"{np.median(ratio):.2f} ({ratio.min():.2f} to {ratio.max():.2f})", f"{ASKED}"]
    print_table(["import", "ms", "ratio", "goal"], rows)


if __name__ == "__main__":
    main()
