"""Data frames of dask from many sources, and operations on them before a fit."""

from itertools import pairwise

import numpy as np
from dask_cases import dask, dd, pd

FEATURES = [f"f{i}" for i in range(20)]
N_QUERIES = 60


def table():
    """A feature that matters and 19 that do not; rows of a query are scattered."""
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(N_QUERIES), 5))
    frame = pd.DataFrame(rng.normal(size=(len(qid), 20)), columns=FEATURES)
    frame["label"] = (frame.f0 > 0) * 2.0 + rng.integers(0, 2, len(qid))
    return frame.assign(qid=qid)


FRAME = table()


def split(frame):
    return frame[FEATURES], frame["label"], frame["qid"]


def pieces(n_pieces, frame=FRAME):
    ends = np.linspace(0, len(frame), n_pieces + 1).astype(int)
    return [frame.iloc[start:end] for start, end in pairwise(ends)]


def write(folder, n_files=20, frame=FRAME, kind="parquet"):
    """Dask fuses partitions of files from which few columns are used."""
    folder.mkdir(exist_ok=True)
    for number, piece in enumerate(pieces(n_files, frame)):
        path = folder / f"{number:02}.{kind}"
        piece.to_parquet(path) if kind == "parquet" else piece.to_csv(path, index=False)
    read = dd.read_parquet if kind == "parquet" else dd.read_csv
    return read(str(folder / f"*.{kind}"))


def piece_of(number):
    return pieces(5)[number]


SOURCES = {
    "from_pandas": lambda _: dd.from_pandas(FRAME, npartitions=5),
    "read_parquet": lambda folder: write(folder / "parquet"),
    "read_csv": lambda folder: write(folder / "csv", 5, kind="csv"),
    "from_delayed": lambda _: dd.from_delayed([dask.delayed(each) for each in pieces(5)]),
    "from_map": lambda _: dd.from_map(piece_of, range(5), meta=FRAME.iloc[:0]),
}

QUERIES = pd.DataFrame({"qid": np.arange(N_QUERIES), "of_query": 1.0})

STEPS = {
    "shuffle": lambda d: d.shuffle("qid"),
    "shuffle by tasks": lambda d: d.shuffle("qid", shuffle_method="tasks"),
    "sort_values": lambda d: d.sort_values("qid"),
    "set_index": lambda d: d.set_index("qid").reset_index(),
    "merge": lambda d: d.merge(dd.from_pandas(QUERIES, npartitions=3), on="qid"),
    "filter": lambda d: d[d.f1 < 0.5].shuffle("qid"),
    "repartition": lambda d: d.repartition(npartitions=3).shuffle("qid"),
    "persist": lambda d: d.shuffle("qid").persist(),
}


def rows_after(step):
    return FRAME[FRAME.f1 < 0.5] if step == "filter" else FRAME
