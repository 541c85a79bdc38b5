"""Run the benchmarks whose results are of another version, one after the other.

    python benchmarks --data DIR --cells DIR --list
    python benchmarks --data DIR --cells DIR --commit
    python benchmarks --data DIR --cells DIR quality_letor speed_fit
    python benchmarks --data DIR --cells DIR quality_tables --ranker module:Class

A file of ``doc/benchmark_results`` is up to date if this version of the package wrote it with the
command below. A run that is interrupted goes on where it stopped: what is up to date is not run
again, a file is replaced only by a script that ended well, and finished cells stay in ``--cells``.
Options of a script, as in the last line, run that script alone with them, and write no file.
Scripts whose names begin with ``speed`` or ``scaling`` come last; they need an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

from _common import RESULTS, VARIABLE

from skcalrank import __version__

HERE = Path(__file__).resolve().parent
# Commands by the name of their results; the last of several writes these. All options that are
# not defaults are here, so what a command leaves out is left out for everybody to see.
COMMANDS = {
    "consistency": ["consistency"],
    "error_rates": ["error_rates"],
    "f_measure": ["f_measure"],
    "later_comparisons": ["later_comparisons"],
    "map_pairwise": ["map_pairwise"],
    "hosts": ["hosts"],
    "leaderboards": ["leaderboards --cells DIR"],
    "leaderboards_ranks": ["leaderboards --cells DIR --part ranks"],
    "leaderboards_large": ["leaderboards --cells DIR --part large"],
    "leaderboards_speed": ["leaderboards --cells DIR --part speed"],
    "leaderboards_tables": ["leaderboards --cells DIR --part tables"],
    "runs_agreement": ["runs_agreement"],
    "trec_eval_agreement": ["trec_eval_agreement"],
    "aggregation": ["aggregation --cells DIR"],
    "aggregation_made": [
        "aggregation --cells DIR --sets made --minutes 125 --jobs 2 --runs 50 --sgd-runs 20"
    ],
    "movielens": ["movielens --cells DIR --jobs 1"],
    "label_ranking": ["label_ranking --cells DIR --jobs 1"],
    "label_ranking_kernels": [
        "label_ranking --cells DIR --jobs 1 --kernels --only "
        "authorship glass housing iris segment stock vehicle wine"
    ],
    "label_ranking_missing": ["label_ranking_missing"],
    "quality_letor": ["quality_letor --cells DIR"],
    "quality_text": ["quality_text"],
    "quality_boosting": ["quality_boosting --cells DIR"],
    "quality_defaults_boosted": ["quality_defaults --cells DIR --tables boosted --seeds 2"],
    "quality_defaults_features": ["quality_defaults --cells DIR --tables features"],
    "quality_defaults_lists": [
        "quality_defaults --cells DIR --tables lists --only MQ2008 MSLR-sample lightgbm-lambdarank "
        "MovieLens-100K made made-noisy"
    ],
    "quality_defaults_objectives": ["quality_defaults --cells DIR --tables objectives --seeds 3"],
    "quality_defaults_penalties": ["quality_defaults --cells DIR --tables penalties"],
    "quality_defaults_trees": ["quality_defaults --cells DIR --tables trees"],
    "quality_tuning": ["quality_tuning --cells DIR"],
    "quality_tables": [
        f"quality_tables --cells DIR --half reported --tag {__version__}",
        f"quality_tables --cells DIR --few --tag {__version__}",
        f"quality_tables --cells DIR --summary --few --tag {__version__}",
    ],
    "quality_tables_come": [f"quality_tables --cells DIR --come --tag {__version__}"],
    "quality_tables_later": [
        f"quality_tables --cells DIR --half later --tag {__version__}",
        f"quality_tables --cells DIR --summary --half later --tag {__version__}",
    ],
    "quality_members": ["quality_members --cells DIR"],
    "quality_members_few": ["quality_members --cells DIR --part few"],
    "quality_members_laws": ["quality_members --cells DIR --part laws"],
    "learning_curves": ["learning_curves --cells DIR"],
    "reliability": ["reliability --cells DIR"],
    "clicks": ["clicks --cells DIR --seeds 5 --only rankers"],
    "clicks_intervals": ["clicks --cells DIR --only intervals"],
    "clicks_errors": ["clicks --cells DIR --only errors"],
    "clicks_fits": ["clicks --cells DIR --only fits"],
    "judges": ["judges --cells DIR"],
    "judges_undefined": ["judges --cells DIR --part undefined --only MQ2008 LightGBM"],
    "judges_documents": ["judges --cells DIR --part documents"],
    "judges_ppi": ["judges --cells DIR --part ppi --only MQ2008 --draws 300"],
    "judges_training": ["judges --cells DIR --part training --draws 20 --only MQ2008"],
    "dask_boosting": ["dask_boosting"],
    "dask_boosting_xgboost": ["dask_boosting --engine xgboost"],
    "prediction_maps": ["prediction_maps --cells DIR"],
    "prediction_maps_map": ["prediction_maps --cells DIR --map"],
    "prediction_maps_proofs": ["prediction_maps --cells DIR --proofs"],
    "the_way": ["the_way"],
    "size_models": ["size_models"],
    "pairs_fit": ["pairs_fit"],
    "streaming": ["streaming"],
    "speed_import": ["speed_import"],
    "speed_latency": ["speed_latency"],
    "speed_tables": ["speed_tables"],
    "speed_views": ["speed_views"],
    "speed_metrics": ["speed_metrics"],
    "speed_compare": ["speed_compare"],
    "speed_losses": ["speed_losses"],
    "speed_aggregation": ["speed_aggregation"],
    "speed_cv": ["speed_cv"],
    "speed_files": ["speed_files --threads 2"],
    "speed_fit": ["speed_fit"],
    "speed_training": ["speed_training --queries 1000 --threads 2"],
    "speed_training_noise": [
        "speed_training --queries 1000 --threads 2 --noise --only NDCG LightGBM"
    ],
    "scaling": ["scaling"],
    "scaling_memory": ["scaling_memory"],
}


def is_up_to_date(name):
    """Whether this version of the package wrote the results, with the command of today."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return False
    found = json.loads(path.read_text(encoding="utf-8"))
    named = f"skcalrank {__version__}" in found["environment"].split(";")[0].split(", ")
    script, *options = COMMANDS[name][-1].replace(" --cells DIR", "").split()
    words = shlex.split(re.sub(" --(data|cells) DIR", "", found["command"]))
    return named and words == ["python", f"benchmarks/{script}.py", *options]


def run(name, cells):
    """Run the commands of one file of results, and replace the file if they end well."""
    *first, last = COMMANDS[name]
    part = f"{name}.part"
    written = RESULTS / f"{part}.json"
    for command in [*first, f"{last} --save {part}"]:
        script, *options = shlex.split(command)
        options = [cells if word == "DIR" else word for word in options]
        done = subprocess.run([sys.executable, HERE / f"{script}.py", *options], check=False)
        if done.returncode:
            written.unlink(missing_ok=True)
            return False
    written.replace(RESULTS / f"{name}.json")
    return True


def commit(name):
    """Commit one file of results."""
    path = RESULTS / f"{name}.json"
    subject = f"Measure {name} with {__version__}"
    subprocess.run(["git", "add", path], check=True, cwd=HERE)
    subprocess.run(["git", "commit", "-q", "-m", subject, "--", path], check=True, cwd=HERE)


def main():
    """Run what is not up to date, and say what failed."""
    options = argparse.ArgumentParser(
        prog="python benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("names", nargs="*", metavar="NAME", help="results to write (default: all)")
    options.add_argument("--data", metavar="DIR", help=f"folder of data (default ${VARIABLE})")
    options.add_argument("--cells", metavar="DIR", default="cells", help="folder of finished cells")
    options.add_argument("--list", action="store_true", help="print what is not up to date")
    options.add_argument("--commit", action="store_true", help="commit each file that is written")
    given, of_script = options.parse_known_args()
    unknown = sorted(set(given.names) - set(COMMANDS))
    if unknown:
        options.error(f"NAME must be one of {', '.join(COMMANDS)}, got {', '.join(unknown)}")
    if given.data:
        os.environ[VARIABLE] = given.data
    if of_script:
        if len(given.names) != 1:
            options.error(f"{' '.join(of_script)} must follow the NAME of one script")
        script, *more = COMMANDS[given.names[0]][-1].split()
        cells = ["--cells", given.cells] if "--cells" in more else []
        sys.exit(subprocess.call([sys.executable, HERE / f"{script}.py", *cells, *of_script]))
    names = [name for name in given.names or COMMANDS if not is_up_to_date(name)]
    if given.list:
        print(*names, sep="\n")
        return
    failed = []
    for number, name in enumerate(names, 1):
        print(f"[{number}/{len(names)}] {name}: {'; '.join(COMMANDS[name])}", flush=True)
        begin = time.perf_counter()
        if not run(name, given.cells):
            failed.append(name)
        elif given.commit:
            commit(name)
        print(f"{name}: {(time.perf_counter() - begin) / 60:.1f} minutes", flush=True)
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}.")


if __name__ == "__main__":
    main()
