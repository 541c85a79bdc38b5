"""The command line: a table of measures by rankers, on embedded data or on files.

* ``_parser`` says what can be asked, and turns the outcome into an exit code;
* ``_commands`` fits and measures;
* ``_rankers`` knows rankers by short names, and what they are calibrated for;
* ``_results`` holds values per query, and says what stands out;
* ``_report`` writes the table and its legend.
"""

from __future__ import annotations

from ._parser import main

__all__ = ["main"]
