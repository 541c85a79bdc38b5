"""The values that trec_eval prints in its own quick test, from files of its rankings."""

import csv
import io
import random

import pytest
import quick_test
from commands import run

from skcalrank._cli._rankers import RUN_MEASURES
from skcalrank.evaluation import evaluate_run, load_qrels, load_run, trec_name

CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
NAMES = ["map", "ndcg", "mrr", "bpref", "r_precision", "precision", "recall", "f1"]
NAMES += [f"{name}@{k}" for name in ("precision", "recall", "ndcg", "map") for k in CUTS]
NAMES += [f"hit@{k}" for k in (1, 5, 10)]

ALL, LEVELS, TRUNCATED = CASES = (
    (quick_test.RETRIEVED, quick_test.JUDGMENTS, quick_test.VALUES, {}),
    (
        quick_test.RETRIEVED_LEVELS,
        quick_test.JUDGMENTS_LEVELS,
        quick_test.VALUES_LEVELS,
        {"relevance_level": 2},
    ),
    (
        quick_test.RETRIEVED_TRUNCATED,
        quick_test.JUDGMENTS,
        quick_test.VALUES_TRUNCATED,
        {"complete": True},
    ),
)


def relevance(character):
    return -1 if character == "." else int(character)


def run_lines(retrieved, apart=0.0):
    """Lines of a run in which documents have equal scores in pairs, or scores slightly apart."""
    for query, ranking in retrieved.items():
        for rank in range(len(ranking)):
            score = -1 - rank // 2 + rank % 2 * apart
            yield f"{query}\tQ0\td{999 - rank:03}\t{rank}\t {score!r}\tSTANDARD"


def qrels_lines(retrieved, judgments):
    for query, counts in judgments.items():
        ranking = retrieved.get(query, "")
        judged = [(f"d{999 - i:03}", c) for i, c in enumerate(ranking) if c != "-"]
        yield from (f"{query} 0 {name} {relevance(c)}" for name, c in judged)
        for level, count in counts.items():
            others = count - sum(relevance(c) == level for _, c in judged)
            yield from (f"{query} 0 other-{level}-{number} {level}" for number in range(others))


def written(folder, retrieved, judgments, **options):
    """Files of a run and of judgments, whose lines are in any order."""
    files = {"run": run_lines(retrieved, **options), "qrels": qrels_lines(retrieved, judgments)}
    for name, lines in files.items():
        shuffled = list(lines)
        random.Random(0).shuffle(shuffled)
        (folder / name).write_text("\n".join(shuffled))
    return [str(folder / name) for name in files]


def printed(values):
    """Values as text by the name of trec_eval: of the queries, and their mean."""
    return {name: texts for name, *texts in map(str.split, values.splitlines())}


def measured(run, qrels, **options):
    """Our values in the form of `printed`; queries without a value are left out."""
    of_queries = evaluate_run(qrels, run, NAMES, average=False, **options)
    means = evaluate_run(qrels, run, NAMES, **options)
    return {
        trec_name(name): [f"{value:.4f}" for value in (*of_queries[name].values(), means[name])]
        for name in NAMES
    }


@pytest.mark.parametrize("ties", ["trec", "trec10"])
@pytest.mark.parametrize("case", CASES, ids=["aq", "aql", "aqc"])
def test_values_are_as_trec_eval_prints_them(tmp_path, case, ties):
    retrieved, judgments, values, options = case
    run, qrels = written(tmp_path, retrieved, judgments)
    run, qrels = load_run(run), load_qrels(qrels)
    # In the order of the topics.
    qrels = dict(sorted(qrels.items()))
    assert measured(run, qrels, ties=ties, **options) == printed(values)


def test_scores_are_equal_in_the_precision_of_the_version(tmp_path):
    run, qrels = written(tmp_path, *ALL[:2], apart=1e-12)
    qrels = dict(sorted(load_qrels(qrels).items()))
    assert measured(run, qrels) == measured(run, qrels, ties="trec") == printed(ALL[2])
    of_10 = measured(run, qrels, ties="trec10")
    assert of_10 == measured(run, qrels, ties="stable") != printed(ALL[2])


def test_comments_and_words_after_the_tag_are_ignored(tmp_path):
    paths = written(tmp_path, *ALL[:2])
    loaded = load_run(paths[0]), load_qrels(paths[1])
    ends = (" more junk at", " end of lines.", "\t# future", "\r", "")
    for path, endings in zip(paths, (ends, ("\r", " \t", ""))):
        with open(path) as file:
            lines = [
                line.replace("other-0-7 ", "other#0-7 ") + random.Random(n).choice(endings)
                for n, line in enumerate(file.read().splitlines())
            ]
        lines[5:5] = ["# comment here", "", "  # 301 Q0 d999 1 1 x", "#", "\t", "#301 0 d999 5"]
        with open(path, "w", newline="") as file:
            file.write("\n".join(lines))
    assert load_run(paths[0]) == loaded[0]
    qrels = load_qrels(paths[1])
    assert qrels["301"].pop("other#0-7") == loaded[1]["301"].pop("other-0-7") == 0
    assert {query: len(of) for query, of in qrels.items()} == {
        query: len(of) for query, of in loaded[1].items()
    }


@pytest.mark.parametrize("case", CASES, ids=["aq", "aql", "aqc"])
def test_commands_print_what_trec_eval_prints(capsys, tmp_path, case):
    retrieved, judgments, values, options = case
    run_file, qrels = written(tmp_path, retrieved, judgments)
    argv = ["--qrels", qrels, "--measures", *NAMES]
    argv += ["--relevance-level", "2"] if "relevance_level" in options else []
    argv += ["--complete"] if "complete" in options else []
    out = run(capsys, "evaluate", "--run", run_file, *argv)
    means = {name: texts[-1] for name, texts in printed(values).items()}
    rows = {row[0]: row[1] for line in out.splitlines() if (row := line.split())[1:]}
    assert {trec_name(name): rows[name] for name in NAMES} == means
    assert "Measured as trec_eval does. " in " ".join(out.split())
    report = tmp_path / "r.csv"
    out = run(capsys, "compare-runs", run_file, *argv, "--report", str(report))
    assert "measured as trec_eval does. The table" in " ".join(out.split())
    rows = list(csv.DictReader(io.StringIO(report.read_text())))
    assert {trec_name(r["measure"]): f"{float(r['mean']):.4f}" for r in rows} == means


def test_other_measures_have_no_name_in_trec_eval():
    names = {trec_name(name) for name in NAMES}
    assert names == set(printed(ALL[2]))
    names = {name for name in RUN_MEASURES if not (trec_name(name) or trec_name(f"{name}@5"))}
    assert names == {"dcg", "err", "eru", "rbp", "judged@k"}
    assert trec_name("mrr@5") is trec_name("f1@5") is trec_name("hit") is None
