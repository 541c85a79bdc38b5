"""Every reader of files, with a small file for it."""

from skcalrank import load_letor
from skcalrank.datasets import Columns, load_preflib, read_table


def in_chunks(path):
    return list(load_letor(path, chunk_rows=1))


def read_columns(path):
    return list(read_table(path, Columns())[1])


READERS = {
    "letor": (load_letor, "a.txt", "1 qid:1 1:1\n0 qid:2 1:2\n"),
    "letor in chunks": (in_chunks, "a.txt", "1 qid:1 1:1\n0 qid:2 1:2\n"),
    "preflib": (load_preflib, "a.soc", "3: 1,2\n2: 2,1\n"),
    "table": (read_columns, "a.csv", "qid,label,f\n1,0,2\n1,1,3\n"),
}
