"""F-measure of predicted sets of labels: decoded from one fit, and from thresholds.

    python benchmarks/f_measure.py

Digits: the 64 pixels of scikit-learn's digits with noise, and as labels the segments of a
seven-segment display that are lit, which depend on each other. Made sets: 6 labels in two groups,
of which a row has either one label of the first or most of the second, with a probability that
depends on 8 features. Mean F1 of the rows, in folds of cross-validation (the same for all), with
standard errors over folds and seeds. Thresholds are chosen by 5-fold cross-validation within the
training rows: one for all labels, or one for each by cyclic search. "all labels" is the set of
all labels, for comparison.
"""

from __future__ import annotations

import numpy as np
from _common import describe_environment, parser, print_table, say
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcalrank.structured import FMeasureClassifier

SEGMENTS = "1111110 0110000 1101101 1111001 0110011 1011011 1011111 1110000 1111111 1111011"
GRID = np.linspace(0.05, 0.95, 37)


def digits(rng, n_rows=900, noise=6.0):
    """Pixels with noise, and the segments of the digits."""
    X, digit = load_digits(return_X_y=True)
    rows = rng.permutation(len(X))[:n_rows]
    lit = np.array([[int(c) for c in word] for word in SEGMENTS.split()])
    return X[rows] + rng.normal(scale=noise, size=(n_rows, 64)), lit[digit[rows]]


def made_sets(rng, n_rows=1_200):
    """One label of three, or two to three others, depending on features and on chance."""
    X = rng.normal(size=(n_rows, 8))
    logit = X[:, 0] * X[:, 1] + 0.5 * X[:, 2]
    second = rng.random(n_rows) < 1 / (1 + np.exp(-logit))
    single = np.eye(3, dtype=int)[(X[:, 3:6] + rng.gumbel(size=(n_rows, 3))).argmax(axis=1)]
    several = (rng.random((n_rows, 3)) < 0.85).astype(int)
    second = second[:, None].astype(int)
    return X, np.hstack([single * (1 - second), several * second])


def f1(y, t):
    """Mean F1 of the rows; two empty sets score 1."""
    return f1_score(y, t, average="samples", zero_division=1.0)


def probabilities(model, X):
    """Probabilities of labels, of shape (n, s)."""
    columns = model.predict_proba(X)
    return np.column_stack([p[:, 1] if p.shape[1] > 1 else 0 * p[:, 0] for p in columns])


def one_threshold(P, y):
    """The threshold for all labels that is best for probabilities of rows held out."""
    return max(GRID, key=lambda level: f1(y, level < P))


def label_thresholds(P, y):
    """A threshold for each label: two rounds of search, from the best common one."""
    levels = np.full(y.shape[1], one_threshold(P, y))
    for label in [*range(y.shape[1])] * 2:
        others = [np.where(np.arange(len(levels)) == label, g, levels) for g in GRID]
        levels = max(others, key=lambda each: f1(y, each < P))
    return levels


def models(kind, seed):
    """A classifier of single labels, and a regressor for the F-measure."""
    if kind == "linear":
        classifier = LogisticRegression(C=0.1, max_iter=1000)
        return (
            make_pipeline(StandardScaler(), MultiOutputClassifier(classifier)),
            make_pipeline(StandardScaler(), RidgeCV(np.logspace(0, 4, 9))),
        )
    options = {"n_estimators": 100, "min_samples_leaf": 5, "random_state": seed}
    return RandomForestClassifier(**options), RandomForestRegressor(max_features="sqrt", **options)


def scores(kind, X, y, train, test, seed):
    """F1 of each way on a fold."""
    classifier, regressor = models(kind, seed)
    inner = KFold(5, shuffle=True, random_state=seed)
    held_out = cross_val_predict(classifier, X[train], y[train], cv=inner, method="predict_proba")
    held_out = np.column_stack([p[:, 1] for p in held_out])
    P = probabilities(classifier.fit(X[train], y[train]), X[test])
    decoded = FMeasureClassifier(regressor).fit(X[train], y[train]).predict(X[test])
    return {
        "FMeasureClassifier": f1(y[test], decoded),
        "threshold .5": f1(y[test], P > 0.5),
        "one threshold": f1(y[test], one_threshold(held_out, y[train]) < P),
        "threshold a label": f1(y[test], label_thresholds(held_out, y[train]) < P),
        "all labels": f1(y[test], np.ones_like(y[test])),
    }


def main():
    """Run and print."""
    options = parser(__doc__, threads=False)
    options.add_argument("--seeds", type=int, default=3)
    args = options.parse_args()
    print(describe_environment("numpy", "scikit-learn"))
    say(f"{args.seeds} seeds, 4 folds each.\n")
    rows = []
    for name, make in (("digits", digits), ("made sets", made_sets)):
        for kind in ("linear", "forest"):
            found = []
            for seed in range(args.seeds):
                X, y = make(np.random.default_rng(seed))
                folds = KFold(4, shuffle=True, random_state=seed).split(X)
                found += [scores(kind, X, y, *fold, seed) for fold in folds]
            values = {way: np.array([f[way] for f in found]) for way in found[0]}
            spread = np.sqrt(len(found))
            cells = [f"{v.mean():.4f} ± {v.std(ddof=1) / spread:.4f}" for v in values.values()]
            rows.append([name, kind, *cells])
    print_table(["labels", "models", *values], rows)


if __name__ == "__main__":
    main()
