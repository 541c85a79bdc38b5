"""The command line: rankers compared, fitted, applied and evaluated, on files.

* ``_parser`` runs a command, and turns the outcome into an exit code;
* ``_options`` says what can be asked of each;
* ``_commands`` sets rankers beside each other: ``demo`` and ``compare``;
* ``_models`` has one ranker and its file: ``fit``, ``predict`` and ``info``;
* ``_evaluate`` measures: ``evaluate``; ``_trec`` knows runs and judgments of TREC;
* ``_readers`` reads ranking data of every format, in chunks of whole queries;
* ``_rankers`` knows rankers by short names, and what they are calibrated for;
* ``_shared`` says which measures and rankers there are, and which fit the labels;
* ``_results`` holds values per query, and says what stands out;
* ``_report`` writes the table and its legend;
* ``_terminal`` has what a person sees while it runs.
"""

from __future__ import annotations

from ._parser import main

__all__ = ["main"]
