"""Every reader of files, with a small file for it."""

from skcalrank import load_letor, load_movielens, load_preflib
from skcalrank.datasets import Columns, load_label_ranking, load_sushi, read_table

SUSHI = (
    "sex,age,answer_duration,lived_in_prefecture,lived_in_region,lived_in,"
    "lives_in_prefecture,lives_in_region,lives_in,changed_city,ranking\n"
    "1,2,240,26:Osaka,6:Kinki,1:West,13:Tokyo,3:Kanto,0:East,1,h>a>c>d>i>e>f>b>j>g\n"
)
MOVIELENS = {
    "u.data": "7\t2\t5\t881250949\n7\t1\t3\t881250950\n",
    "u.genre": "Comedy|0\nThriller|1\n",
    "u.item": "1|Toy Story (1995)|01-Jan-1995|||1|0\n2|GoldenEye (1995)||||0|1\n",
    "u.user": "7|24|M|technician|85711\n",
}


def in_chunks(path):
    return list(load_letor(path, chunk_rows=1))


def read_movielens(path):
    """Read a folder in which one file is another."""
    for name, text in MOVIELENS.items():
        (path.parent / name).write_text(text)
    (path.parent / "u.data").unlink()
    path.rename(path.parent / f"u.data{path.suffix}")
    return load_movielens(path.parent)


def read_columns(path):
    return list(read_table(path, Columns())[1])


READERS = {
    "letor": (load_letor, "a.txt", "1 qid:1 1:1\n0 qid:2 1:2\n"),
    "letor in chunks": (in_chunks, "a.txt", "1 qid:1 1:1\n0 qid:2 1:2\n"),
    "preflib": (load_preflib, "a.soc", "3: 1,2\n2: 2,1\n"),
    "label ranking": (load_label_ranking, "a.csv", "f,ranking\n1,a>b\n2,b>a\n"),
    "sushi": (load_sushi, "a.csv", SUSHI),
    "movielens": (read_movielens, "u.x", MOVIELENS["u.data"]),
    "table": (read_columns, "a.csv", "qid,label,f\n1,0,2\n1,1,3\n"),
}
