"""Run rankers in other programs, beside the same rankers without them.

    python benchmarks/hosts.py
    python benchmarks/hosts.py pyterrier skrub

Each host gets a virtual environment of its own, in a folder of temporary files, with this package
and the host from the registry of packages: some want older versions of numpy. What is run there is
what the page "In other programs" shows. A host that passes the queries must not change NDCG@10 of
the test queries. PyTerrier is run without its search engine, whose Java archives are in another
registry: its pipelines rank frames of candidates.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from _common import describe_environment, parser, print_table, say
from sklearn.base import clone

from skcalrank import ExternalRanker, NDCGRanker, QueryKFold, RankingTarget, TabularRanker
from skcalrank.datasets import load_digits_queries, make_offers
from skcalrank.metrics import get_scorer, ndcg_score
from skcalrank.pipeline import HostedRanker, make_query_pipeline
from skcalrank.preprocessing import QueryScaler

ROOT = Path(__file__).resolve().parents[1]
# Packages of each host; the first one is the host.
PACKAGES = {
    "pyterrier": ["python-terrier", "lightgbm"],
    "rectools": ["rectools"],
    "mlflow": ["mlflow", "skops"],
    "skore": ["skore"],
    "optuna": ["optuna"],
    "skrub": ["skrub", "lightgbm"],
}
INSIDE = "SKCALRANK_HOST"  # set where a host is installed


def digits():
    """Digits as documents: an array, labels, queries, and which rows are for training."""
    X, y, qid = load_digits_queries(n_queries=60)
    return np.asarray(X), np.asarray(y), np.asarray(qid), np.asarray(qid) < 40


def offers():
    """A frame with text, dates and categories."""
    X, y, qid = make_offers(n_queries=120, random_state=0)
    qid = np.unique(qid, return_inverse=True)[1]
    return X, np.asarray(y), qid, qid < 80


def ndcg(y, scores, qid):
    """NDCG@10 of scores."""
    return float(ndcg_score(y, np.asarray(scores), qid=qid, k=10))


# -- each host yields what was run, and NDCG with the host and without it ---------------------


def pyterrier():
    """Learned models of pipelines over frames of candidates."""
    import pandas as pd
    import pyterrier as pt

    X, y, qid, train = digits()
    names = {"qid": qid.astype(str), "docno": np.arange(len(y)).astype(str)}
    found = pd.DataFrame({**names, "query": "digits", "score": 0.0, "rank": 0})
    found["features"] = list(X)
    qrels = pd.DataFrame({**names, "label": y.astype(int)})
    topics = found[["qid", "query"]].drop_duplicates()
    numbers = topics.qid.astype(int)
    parts = topics[numbers < 30], topics[numbers.between(30, 39)], topics[numbers >= 40]
    fits = qid < 30

    class QueryRanker(pt.Estimator):
        def __init__(self, ranker):
            self.ranker = ranker

        def fit(self, found, qrels, *validation):
            found = found.merge(qrels, how="left", on=["qid", "docno"]).fillna({"label": 0})
            self.ranker.fit(np.stack(found.features), found.label, found.qid)
            return self

        def transform(self, found):
            scores = self.ranker.predict(np.stack(found.features), found.qid)
            return pt.model.add_ranks(found.assign(score=scores))

    scaled = make_query_pipeline(QueryScaler(), NDCGRanker())
    for name, learned, alone in (
        (
            'apply_learned_model(HostedRanker(NDCGRanker()), form="ltr")',
            pt.ltr.apply_learned_model(HostedRanker(NDCGRanker()), form="ltr"),
            NDCGRanker(),
        ),
        (
            "a transformer of ours around TabularRanker",
            QueryRanker(TabularRanker(n_jobs=1)),
            TabularRanker(n_jobs=1),
        ),
        ("the same around QueryScaler and NDCGRanker", QueryRanker(scaled), scaled),
    ):
        pipeline = pt.Transformer.from_df(found) >> learned
        pipeline.fit(parts[0], qrels, parts[1], qrels)
        ranked = pipeline.transform(parts[2]).set_index("docno")
        scores = ranked.score[names["docno"][~train]]
        alone.fit(X[fits], y[fits], names["qid"][fits])
        expected = alone.predict(X[~train], names["qid"][~train])
        yield name, ndcg(y[~train], scores, qid[~train]), ndcg(y[~train], expected, qid[~train])


def rectools():
    """Two stages on interactions that are made."""
    import pandas as pd
    from rectools.dataset import Dataset
    from rectools.metrics import NDCG
    from rectools.model_selection import TimeRangeSplitter
    from rectools.models import PopularModel
    from rectools.models import ranking as stages

    rng = np.random.default_rng(0)
    users = pd.DataFrame(rng.normal(size=(300, 3)), columns=["t0", "t1", "t2"])
    items = pd.DataFrame(rng.normal(size=(60, 3)), columns=["k0", "k1", "k2"])
    likes = np.exp(users.to_numpy() @ items.to_numpy().T + rng.normal(size=60))
    likes /= likes.sum(axis=1, keepdims=True)
    rows = [(u, i, 1.0) for u in range(300) for i in rng.choice(60, 25, replace=False, p=likes[u])]
    log = pd.DataFrame(rows, columns=["user_id", "item_id", "weight"])
    days = pd.to_timedelta(rng.integers(0, 30, len(log)), unit="D")
    log["datetime"] = pd.Timestamp("2024-01-01") + days
    later = log.datetime >= pd.Timestamp("2024-01-24")
    users, items = users.rename_axis("user_id"), items.rename_axis("item_id")

    class Features(stages.CandidateFeatureCollector):
        def _get_user_features(self, ids, dataset, fold):
            return users.loc[ids].reset_index().assign(query=ids)

        def _get_item_features(self, ids, dataset, fold):
            return items.loc[ids].reset_index()

    class Reranker(stages.Reranker):
        def fit(self, rows):
            self.train = rows
            super().fit(rows)

        def predict_scores(self, rows):
            self.test = rows
            return super().predict_scores(rows)

    reranker = Reranker(HostedRanker(TabularRanker(n_jobs=1), qid_column="query"))
    model = stages.CandidateRankingModel(
        [stages.CandidateGenerator(PopularModel(), 30, keep_ranks=True, keep_scores=True)],
        TimeRangeSplitter("7D", n_splits=1),
        reranker,
        stages.PerUserNegativeSampler(15, random_state=0),
        Features(),
    )
    data = Dataset.construct(log[~later])
    model.fit(data)
    ranked = model.recommend(log.user_id.unique(), data, k=10, filter_viewed=True)
    pair, train, test = ["user_id", "item_id"], reranker.train, reranker.test
    alone = TabularRanker(n_jobs=1)
    alone.fit(train.drop(columns=[*pair, "query", "target"]), train.target, train.user_id)
    scores = alone.predict(test.drop(columns=[*pair, "query"]), test.user_id)
    expected = Reranker.recommend(test[pair].assign(score=scores), k=10)
    metric, truth = NDCG(10, divide_by_achievable=True), log[later]
    yield (
        'Reranker(HostedRanker(TabularRanker(), qid_column="query")), NDCG of RecTools',
        *(float(metric.calc(of, truth)) for of in (ranked, expected)),
    )


def mlflow():
    """Models that are saved, and loaded as functions of a frame."""
    import mlflow
    from skops.io import dumps, get_untrusted_types

    X, y, qid, train = offers()
    frame = X.assign(qid=qid)
    numbers = frame[["price", "n_ratings", "qid"]].fillna(0)
    for table, ranker in ((numbers, NDCGRanker()), (frame, TabularRanker(n_jobs=1))):
        alone = clone(ranker).fit(table[train].drop(columns="qid"), y[train], qid[train])
        expected = alone.predict(table[~train].drop(columns="qid"), qid[~train])
        hosted = HostedRanker(ranker, qid_column="qid").fit(table[train], y[train])
        types = get_untrusted_types(data=dumps(hosted))
        for form in ("cloudpickle", "skops"):
            trusted = {"skops_trusted_types": types} if form == "skops" else {}
            path = Path(tempfile.mkdtemp(), "model")
            mlflow.sklearn.save_model(hosted, path, serialization_format=form, **trusted)
            scores = mlflow.pyfunc.load_model(str(path)).predict(table[~train])
            name = f"HostedRanker({type(ranker).__name__}()) as pyfunc, from {form}"
            yield name, *(ndcg(y[~train], s, qid[~train]) for s in (scores, expected))


def skore():
    """Reports of a ranker that reads a column, and of labels that carry their queries."""
    import pandas as pd
    from skore import EstimatorReport

    X, y, qid, train = digits()
    alone = NDCGRanker().fit(X[train], y[train], qid[train])
    expected = alone.score(X[~train], y[~train], qid[~train])
    frame = pd.DataFrame(X).add_prefix("f").assign(qid=qid)
    hosted = HostedRanker(NDCGRanker(), qid_column="qid")
    column = EstimatorReport(
        hosted, X_train=frame[train], y_train=y[train], X_test=frame[~train], y_test=y[~train]
    )
    carried = EstimatorReport(alone, X_test=X[~train], y_test=RankingTarget(y[~train], qid[~train]))
    for name, report in (
        ('EstimatorReport(HostedRanker(NDCGRanker(), qid_column="qid"))', column),
        ("EstimatorReport(NDCGRanker(), y_test=RankingTarget(y, qid))", carried),
    ):
        yield f"{name}, its default score", float(report.metrics.default_score()), expected


def optuna():
    """A study over a penalty, beside a loop."""
    import optuna

    X, y, qid, _ = digits()
    scorer, splits = get_scorer("ndcg@10"), list(QueryKFold(3).split(X, y, qid))

    def value(alpha):
        scores = []
        for train, test in splits:
            ranker = NDCGRanker(alpha=alpha).fit(X[train], y[train], qid[train])
            scores.append(scorer(ranker, X[test], y[test], qid[test]))
        return float(np.mean(scores))

    alphas = [0.1, 1.0, 10.0, 100.0]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.GridSampler({"alpha": alphas}, seed=0)
    )
    study.optimize(lambda trial: value(trial.suggest_float("alpha", 0.1, 100, log=True)))
    yield "a study of NDCGRanker(alpha)", study.best_value, max(map(value, alphas))


def skrub():
    """Its columns before rankers of two libraries."""
    from lightgbm import LGBMRanker
    from skrub import StringEncoder, TableVectorizer

    X, y, qid, train = offers()
    columns = TableVectorizer(high_cardinality=StringEncoder(random_state=0))
    trees = LGBMRanker(n_estimators=30, verbose=-1, n_jobs=1)
    for name, last, ranker in (
        ("LGBMRanker()", trees, ExternalRanker(trees)),
        ("NDCGRanker(LGBMRegressor())", _regressed(), _regressed()),
    ):
        pipe = make_query_pipeline(clone(columns), last).fit(X[train], y[train], qid[train])
        ranker.fit(columns.fit_transform(X[train], y[train]), y[train], qid[train])
        scores = pipe.predict(X[~train], qid[~train])
        expected = ranker.predict(columns.transform(X[~train]), qid[~train])
        yield (
            f"make_query_pipeline(TableVectorizer(), {name})",
            *(ndcg(y[~train], of, qid[~train]) for of in (scores, expected)),
        )


def _regressed():
    from lightgbm import LGBMRegressor

    return NDCGRanker(LGBMRegressor(n_estimators=30, verbose=-1, n_jobs=1))


HOSTS = {host.__name__: host for host in (pyterrier, rectools, mlflow, skore, optuna, skrub)}


# -- environments -------------------------------------------------------------------------------


def rows_of(name):
    """Run a host in its environment, which is made if it is not there."""
    folder = Path(tempfile.gettempdir(), "skcalrank-hosts", name)
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    install = [python, "-m", "pip", "install", "-q", "-e", ROOT, *PACKAGES[name]]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(
        [python, Path(__file__).resolve()],
        env={**os.environ, INSIDE: name},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def main():
    """Run and print."""
    args = parser(__doc__)
    args.add_argument("hosts", nargs="*", metavar="NAME", help=f"of {', '.join(HOSTS)}")
    args = args.parse_args()
    print(describe_environment(threads=args.threads))
    if unknown := sorted(set(args.hosts) - set(HOSTS)):
        sys.exit(f"NAME must be one of {', '.join(HOSTS)}, got {', '.join(unknown)}.")
    rows = [row for name in args.hosts or HOSTS for row in rows_of(name)]
    columns = ["host", "version", "what was run", "NDCG@10 in the host", "without it", "difference"]
    print_table(columns, rows)
    say("Each host in an environment of its own, with the newest version of the registry.")


def inside(name):
    """Print the rows of the host that is installed here."""
    warnings.simplefilter("ignore")  # of the hosts: on their own files and formats
    rows = [
        [name, version(PACKAGES[name][0]), what, f"{a:.6f}", f"{b:.6f}", f"{abs(a - b):.1e}"]
        for what, a, b in HOSTS[name]()
    ]
    print(json.dumps(rows))


if __name__ == "__main__":
    inside(os.environ[INSIDE]) if INSIDE in os.environ else main()
