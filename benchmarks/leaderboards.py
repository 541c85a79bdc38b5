"""Leaderboards: do intervals and rank sets hold, how fast are they, and where do peers stop?

    python benchmarks/leaderboards.py [--cells DIR] [--draws 1000]
    python benchmarks/leaderboards.py --part ranks [--cells DIR]
    python benchmarks/leaderboards.py --part tables [--cells DIR]
    python benchmarks/leaderboards.py --part speed
    python benchmarks/leaderboards.py --part large

"coverage" draws votes of nineteen designs, with the seeds 0, 1, 2, ...: how often do 95 % intervals
of differences hold the limit (the scores of 1.5 million votes, each of another user), and do all
rank sets hold at once? Draws in which an item has no finite score are left out. "ranks" does so
for twelve items in configurations that are hard for rank sets, and "tables" for systems by tasks
whose means are all equal. "speed" is that of two million votes, in CPU seconds of one process;
each other program is timed on the input that it wants, which is made before. "large" is 20,000
players.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
from _common import Cells, describe_environment, optional, parser, peak_bytes, print_table, say
from scipy import stats
from scipy.special import expit
from threadpoolctl import threadpool_limits

from skcalrank import leaderboard
from skcalrank.evaluation import rank_sets

BLOCK = 100
LIMIT = 1_500_000


class Design:
    """How votes come about: strengths, law of ties, users and their tastes, covariates.

    Ties are "free" of strengths, those of Davidson, or those of Rao and Kupper.
    """

    def __init__(
        self,
        strengths,
        n_votes,
        *,
        law=("free", 0.0),
        users=None,
        taste=0.0,
        pareto=None,
        share=None,
        slopes=(),
        **options,
    ):
        self.strengths, self.n_votes, self.law = np.asarray(strengths), n_votes, law
        self.users, self.taste, self.pareto, self.slopes = users, taste, pareto, slopes
        share = np.ones(len(strengths)) if share is None else np.asarray(share)
        self.share = share / share.sum()
        self.options = options | {"covariates": [f"z{k}" for k in range(len(slopes))]}
        if users is not None:
            self.options["cluster"] = "user"

    def drawn(self, rng, n=None):
        """Votes; with `n` that many, each of a user of its own."""
        m, alone, n = len(self.strengths), n is not None, n or self.n_votes
        first, second = rng.choice(m, n, p=self.share), rng.choice(m, n, p=self.share)
        while (same := first == second).any():
            second[same] = rng.choice(m, same.sum(), p=self.share)
        eta, columns = self.strengths[first] - self.strengths[second], {}
        if self.users is not None:
            columns["user"] = user = np.arange(n) if alone else self._users(rng, n)
            if alone:
                eta = eta + self.taste * np.sqrt(2) * rng.normal(size=n)
            else:
                tastes = self.taste * rng.normal(size=(self.users, m))
                eta = eta + tastes[user, first] - tastes[user, second]
        for k, slope in enumerate(self.slopes):
            columns[f"z{k}"] = rng.normal(size=n)
            eta = eta + slope * columns[f"z{k}"]
        if self.options.get("order_effect"):
            eta = eta + 0.2
        names = np.array([f"item {k:02d}" for k in range(m)])
        columns |= {"model_a": names[first], "model_b": names[second]}
        return pd.DataFrame(columns | {"winner": outcomes(rng, eta, *self.law)})

    def _users(self, rng, n):
        if self.pareto is None:
            return rng.permutation(np.arange(n) % self.users)
        activity = rng.pareto(self.pareto, self.users) + 1
        return rng.choice(self.users, n, p=activity / activity.sum())

    def limit(self):
        """Scores of many votes, in the order of the names."""
        board = leaderboard(self.drawn(np.random.default_rng(12345), LIMIT), **self.options)
        return board.scores[np.argsort(board.items)]


def outcomes(rng, eta, kind, level):
    """Outcomes of votes for differences of strengths."""
    if kind == "free":
        return np.where(rng.random(len(eta)) < level, 0.5, rng.random(len(eta)) < expit(eta))
    if kind == "davidson":
        total = np.exp(eta / 2) + level + np.exp(-eta / 2)
        win, lose = np.exp(eta / 2) / total, np.exp(-eta / 2) / total
    else:  # Rao and Kupper: a win has to be clear
        win, lose = expit(eta - level), expit(-eta - level)
    u = rng.random(len(eta))
    return np.where(u < win, 1.0, np.where(u < win + lose, 0.0, 0.5))


def designs():
    """The nineteen designs by name."""

    def normal(m):
        return np.random.default_rng(m).normal(size=m)

    many, some = ("davidson", 3.4), ("davidson", 1.0)
    rare = np.r_[np.full(3, 0.1), np.ones(17)]
    return {
        "20 items, 4,000 votes, no ties": Design(normal(20), 4000),
        "30 % ties": Design(normal(20), 4000, law=some),
        "30 % ties, Davidson": Design(normal(20), 4000, law=some, ties="davidson"),
        "60 % ties": Design(normal(20), 4000, law=many),
        "60 % ties, Davidson": Design(normal(20), 4000, law=many, ties="davidson"),
        "40 % ties of any strength": Design(normal(20), 4000, law=("free", 0.4)),
        "40 % ties of any strength, Davidson": Design(
            normal(20), 4000, law=("free", 0.4), ties="davidson"
        ),
        "30 % ties of Rao-Kupper, Davidson": Design(
            normal(20), 4000, law=("rao-kupper", 0.65), ties="davidson"
        ),
        "popular items": Design(normal(20), 4000, share=1 / np.arange(1, 21)),
        "100 users x 40, taste": Design(normal(20), 4000, users=100, taste=0.7),
        "1,000 users x 4, taste": Design(normal(20), 4000, users=1000, taste=0.7),
        "100 users of Pareto 1.5, taste": Design(
            normal(20), 4000, users=100, taste=0.7, pareto=1.5
        ),
        "1,000 users of Pareto 1.5, taste, 30 % ties": Design(
            normal(20), 8000, users=1000, taste=0.7, pareto=1.5, law=some
        ),
        "rare items, 150 users, taste": Design(normal(20), 4000, users=150, taste=0.7, share=rare),
        "2 covariates, order, 30 % ties, Davidson": Design(
            normal(20), 4000, slopes=(0.5, -0.3), law=some, order_effect=True, ties="davidson"
        ),
        "4 items, 50 votes": Design(0.5 * normal(4), 50),
        "8 items, 200 votes of 20 users": Design(0.5 * normal(8), 200, users=20, taste=0.7),
        "10 users x 100": Design(normal(8), 1000, users=10, taste=0.7),
        "6 users x 100": Design(normal(8), 600, users=6, taste=0.7),
    }


def hard_ranks():
    """Twelve items in configurations that are hard for rank sets; 3,000 votes, se about .1."""
    spaced = {f"spacing {gap:g}": 0.1 * gap * np.arange(12.0) for gap in (0.3, 1, 2, 3, 4)}
    blocks = {
        "all equal": np.zeros(12),
        "two blocks": np.repeat([0.0, 1.0], 6),
        "one above": np.r_[np.zeros(11), 1.0],
    }
    return {name: Design(strengths, 3000) for name, strengths in (blocks | spaced).items()}


def are_true(low, high, truth):
    """Whether the rank of each item is in its set; equal items may have each other's ranks."""
    above = (truth[:, None] > truth + 1e-9).sum(axis=0)
    below = (truth[:, None] < truth - 1e-9).sum(axis=0)
    return bool((low <= 1 + above).all() and (high >= len(truth) - below).all())


def one_step_width(board, rng):
    """Mean width of the rank sets of a single critical value."""
    c, scores = board.covariance, board.scores
    draws = rng.multivariate_normal(np.zeros(len(c)), c, 1000, method="eigh").T
    draws /= np.sqrt(rng.chisquare(board.freedom[0], 1000) / board.freedom[0])
    spread = np.sqrt(np.add.outer(c.diagonal(), c.diagonal()) - 2 * c)
    spread[np.diag_indices(len(c))] = np.inf
    largest = np.zeros(1000)
    for item, row in zip(draws, spread):
        np.maximum(largest, np.abs((item - draws) / row[:, None]).max(axis=0), out=largest)
    above = (scores[:, None] - scores) > np.quantile(largest, 0.95) * spread
    return float(np.mean(len(c) - above.sum(axis=1) - above.sum(axis=0)))


def measured(design, limit, truth, seeds):
    """Of each seed: coverage of differences, whether ranks hold, widths of two steps and one."""
    out = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few users
            try:
                board = leaderboard(design.drawn(rng), **design.options)
            except ValueError:  # no two items
                continue
        if (
            len(board.items) < len(limit)
            or np.isnan(board.scores).any()
            or np.ptp(board.columns["group"])
        ):
            continue
        order = np.argsort(board.items)
        c, scores, freedom = (
            board.covariance[np.ix_(order, order)],
            board.scores[order],
            board.freedom[0],
        )
        i, j = np.triu_indices(len(limit), 1)
        error = np.sqrt(c[i, i] + c[j, j] - 2 * c[i, j])
        off = np.abs(scores[i] - scores[j] - limit[i] + limit[j])
        known = ~np.isnan(error)
        covered = (off <= stats.t.ppf(0.975, freedom) * error)[known].mean()
        low, high = board.columns["rank_low"][order], board.columns["rank_high"][order]
        one = np.nan if seed % 10 or np.isnan(c).any() else one_step_width(board, rng)
        out.append([covered, are_true(low, high, truth), (high - low + 1).mean(), one])
    return np.array(out).reshape(-1, 4)


def coverage(args, made):
    """Print a row for each design."""
    cells, rows, means = Cells(args.cells, args.part), [], []
    for name, design in made.items():
        if args.part == "ranks":
            limit = truth = design.strengths
        else:
            limit = truth = cells(f"{name}-limit", design.limit)
        blocks = [range(k, k + BLOCK) for k in range(0, args.draws, BLOCK)]
        of_blocks = [
            cells(f"{name}-{seeds.start}", measured, design, limit, truth, seeds)
            for seeds in blocks
        ]
        values = np.concatenate(of_blocks)
        n = len(values)
        mean = values[:, 0].mean()
        means.append(mean)
        widths = values[~np.isnan(values[:, 3]), 2:].mean(axis=0)
        rows.append(
            [
                name,
                n,
                f"{mean:.3f}",
                f"{values[:, 0].std() / np.sqrt(n):.4f}",
                f"{values[:, 1].mean():.3f}",
                *(f"{width:.2f}" for width in widths),
            ]
        )
        print(*rows[-1], sep="  ", flush=True)
    say(f"\nSeeds 0 to {args.draws - 1}; mean coverage {np.mean(means):.4f}:")
    heads = ["", "draws", "coverage", "standard error", "ranks hold", "mean width", "in one step"]
    print_table(heads, rows)


def table_drawn(kind, rng, n, m):
    """Scores of systems that are equal."""
    tasks = rng.normal(size=(n, 1))
    if kind == "normal":
        return tasks + rng.normal(size=(n, m))
    if kind == "binary":
        return (tasks + rng.normal(size=(n, m)) > 0.5).astype(float)
    if kind == "skewed":
        return tasks + rng.exponential(size=(n, m))
    return tasks + rng.standard_t(3, size=(n, m))


def none_apart(kind, n, m, seeds):
    """Whether no two systems are told apart, of each seed."""
    out = []
    for seed in seeds:
        board = rank_sets(table_drawn(kind, np.random.default_rng(seed), n, m))
        out.append(not board.above.any())
    return np.array(out)


def tables(args):
    """Print a row for each shape of a table, of systems whose means are equal."""
    cells, rows = Cells(args.cells, args.part), []
    kinds = ["normal", "binary", "skewed", "t3"]
    for n, m in [(15, 5), (15, 30), (41, 90), (50, 10), (200, 30)]:
        row = [f"{n} tasks, {m} systems"]
        for kind in kinds:
            values = [
                cells(f"{kind}-{n}-{m}-{k}", none_apart, kind, n, m, range(k, k + BLOCK))
                for k in range(0, args.draws, BLOCK)
            ]
            row.append(f"{np.concatenate(values).mean():.3f}")
        rows.append(row)
        print(*row, sep="  ", flush=True)
    say(f"\nRank sets that hold, of {args.draws} tables of equal systems:")
    print_table(["", *kinds], rows)


def arena(n=2_000_000, m=150, voters=300_000):
    """Votes of an arena: 25 % ties, four covariates, an order effect."""
    rng = np.random.default_rng(0)
    strengths, names = rng.normal(size=m), np.array([f"model-{k:03d}" for k in range(m)])
    first = rng.choice(m, n, p=rng.dirichlet(np.full(m, 2.0)))
    second = (first + rng.integers(1, m, n)) % m
    z = rng.normal(size=(n, 4))
    eta = strengths[first] - strengths[second] + z @ [0.5, -0.2, 0.1, 0.0] + 0.1
    won = rng.random(n) < expit(eta)
    word = np.where(rng.random(n) < 0.25, "tie", np.where(won, "model_a", "model_b"))
    columns = {"model_a": names[first], "model_b": names[second], "winner": word}
    columns |= {"user": rng.integers(0, voters, n)} | {f"z{k}": z[:, k] for k in range(4)}
    return pd.DataFrame(columns)


def timed(call):
    """Result and CPU seconds of a call."""
    start = time.process_time()
    out = call()
    return out, time.process_time() - start


def peers(votes):
    """Names of programs, and calls that return scores by name; inputs are made before."""
    calls = {}
    evalica, choix = optional("evalica"), optional("choix")
    arena_rank = optional("arena_rank.models.bradley_terry")
    if evalica is not None:
        kinds = evalica.Winner
        of_word = {"model_a": kinds.X, "model_b": kinds.Y, "tie": kinds.Draw}
        sides = votes["model_a"].tolist(), votes["model_b"].tolist()
        winners = [of_word[word] for word in votes["winner"]]
        calls["evalica.bradley_terry"] = lambda: np.log(
            evalica.bradley_terry(*sides, winners).scores
        )
    if choix is not None:
        names = sorted({*votes["model_a"]})
        codes = [pd.Categorical(votes[side], names).codes for side in ("model_a", "model_b")]
        points = votes["winner"].map({"model_a": 1.0, "tie": 0.5, "model_b": 0.0}).to_numpy()
        wins = np.zeros((len(names), len(names)))
        np.add.at(wins, tuple(codes), points)
        np.add.at(wins, tuple(codes[::-1]), 1 - points)
        calls["choix.ilsr_pairwise_dense, from counts"] = lambda: pd.Series(
            choix.ilsr_pairwise_dense(wins), names
        )
    if arena_rank is not None:
        from arena_rank.models.contextual_bradley_terry import ContextualBradleyTerry
        from arena_rank.utils.data_utils import ContextualPairDataset, PairDataset

        def plain():
            data = PairDataset.from_pandas(votes, reweighted=False)
            model = arena_rank.BradleyTerry(len(data.competitors)).fit(data)
            return pd.Series(np.asarray(model.params["ratings"]), data.competitors)

        def styled():
            z = [f"z{k}" for k in range(4)]
            data = ContextualPairDataset.from_pandas(votes, z, reweighted=False)
            model = ContextualBradleyTerry(len(data.competitors), len(z)).fit(data)
            return pd.Series(np.asarray(model.params["ratings"]), data.competitors)

        calls["arena-rank, from names"] = plain
        calls["arena-rank, four covariates"] = styled
    return calls


def speed(args):
    """Print CPU seconds of two million votes."""
    votes = arena(args.votes)
    z = {"covariates": [f"z{k}" for k in range(4)]}
    cases = {
        "leaderboard": {},
        "leaderboard, by voter": {"cluster": "user"},
        "leaderboard, by voter, four covariates, order": {
            **z,
            "cluster": "user",
            "order_effect": True,
        },
        "the same, Davidson": {**z, "cluster": "user", "order_effect": True, "ties": "davidson"},
    }
    rows = []
    for name, options in cases.items():

        def call(options=options):
            return leaderboard(votes, **options)

        seconds = min(timed(call)[1] for _ in range(2))
        rows.append([name, seconds, f"{peak_bytes(call) / 1e9:.2f}", ""])
    maxima = {}
    for key, options in (("plain", {}), ("four covariates", z)):
        board = leaderboard(votes, **options)
        maxima[key] = pd.Series(board.scores, board.items)
    for name, call in peers(votes).items():
        scores, first = timed(call)
        gap = scores - maxima["four covariates" if "covariates" in name else "plain"]
        gap = f"{(gap - gap.mean()).abs().max():.1e}"
        rows.append([name, min(first, timed(call)[1]), "", gap])
    base = {row[0]: row[1] for row in rows}.get("evalica.bradley_terry", np.nan)
    say(f"\n{args.votes:,} votes of 150 models, from names to rank sets:")
    heads = ["", "CPU s", "times evalica", "GB above the frame", "to the maximum"]
    table = [
        [name, f"{seconds:.2f}", f"{seconds / base:.1f}", peak, gap]
        for name, seconds, peak, gap in rows
    ]
    print_table(heads, table)


def players(kind, rng, m, n):
    """Games of players who all meet, or of leagues of 100 with 2 % of games across."""
    strengths, first = rng.normal(size=m), rng.integers(0, m, n)
    second = (first + rng.integers(1, m, n)) % m
    if kind == "leagues":
        own = rng.random(n) > 0.02
        of_league = first // 100 * 100 + (first % 100 + rng.integers(1, 100, n)) % 100
        second[own] = of_league[own]
    won = rng.random(n) < expit(strengths[first] - strengths[second])
    return pd.DataFrame({"model_a": first, "model_b": second, "winner": won})


def large(args):
    """Print time, memory and the exactness of errors of 20,000 players."""
    rows, m = [], 20_000
    for kind in ("random", "leagues"):
        games = players(kind, np.random.default_rng(0), m, args.votes // 2)
        board, seconds = timed(lambda games=games: leaderboard(games))
        peak = peak_bytes(lambda games=games: leaderboard(games)) / 1e9
        # The exact variances of some players, each by one solution.
        fit, n_votes = board.fit, board.columns["n_votes"].astype(float)
        names = fit.ballots.votes.items
        weight = pd.Series(n_votes, board.items)[names].to_numpy()
        chosen = np.random.default_rng(1).choice(m, 256, replace=False)
        contrasts = np.repeat(-weight[:, None] / weight.sum(), len(chosen), axis=1)
        contrasts[chosen, np.arange(len(chosen))] += 1
        u = fit.clusters.times(fit.curvature.solve(contrasts, 1e-8))
        exact = np.sqrt((u**2).sum(axis=0))
        ratio = pd.Series(board.columns["error"], board.items)[names[chosen]] / exact
        off = np.abs(ratio - 1)
        rows.append(
            [kind, f"{seconds:.1f}", f"{peak:.2f}", f"{off.max():.3f}",
             f"{np.sqrt((off**2).mean()):.3f}"]
        )  # fmt: skip
    say(f"\n20,000 players, {args.votes // 2:,} games; errors of 256 players beside exact ones:")
    heads = ["graph", "CPU s", "GB above the frame", "largest deviation", "root mean square"]
    print_table(heads, rows)


def main():
    """Run a part and print."""
    args = parser(__doc__, cells=True)
    args.add_argument(
        "--part", choices=["coverage", "ranks", "tables", "speed", "large"], default="coverage"
    )
    args.add_argument("--draws", type=int, default=1000)
    args.add_argument("--votes", type=int, default=2_000_000)
    args = args.parse_args()
    with threadpool_limits(args.threads):
        print(describe_environment("numpy", "scipy", "pandas", threads=args.threads))
        if args.part in ("coverage", "ranks"):
            coverage(args, designs() if args.part == "coverage" else hard_ranks())
        elif args.part == "tables":
            tables(args)
        else:
            {"speed": speed, "large": large}[args.part](args)


if __name__ == "__main__":
    main()
