"""
A ranker in a database
======================

The ranker of a table as one statement of SQL, and as JSON.

The database scores the rows where they are; a short program reads the JSON text.
"""

# %%
# Columns of numbers and categories can be written as SQL; text and dates are left out here.

import json
import sqlite3

import matplotlib.pyplot as plt
import pandas as pd

from skcalrank import TabularRanker
from skcalrank.datasets import make_offers
from skcalrank.export import to_json, to_sql

X, grade, search = make_offers(n_queries=100, random_state=0)
X = X.drop(columns=["sku", "title", "listed"])
ranker = TabularRanker("ndcg@10", n_jobs=1).fit(X, grade, search)

database = sqlite3.connect(":memory:")
X.assign(offer=range(len(X)), search=search).to_sql("offers", database, index=False)
statement = to_sql(ranker, table="offers", qid="search", keep=["offer"])
print(f"{len(statement) / 1000:.0f} kB of SQL, {len(to_json(ranker)) / 1000:.0f} kB of JSON")

# %%
# The database ranks the first search:

first = f"SELECT * FROM ({statement}) WHERE search = {search[0]} ORDER BY score DESC LIMIT 3"
print(pd.read_sql_query(first, database).to_string())

# %%
# Its scores are those of Python:

scored = pd.read_sql_query(f"{statement} ORDER BY offer", database)
database.close()
here = ranker.predict(X, search)
print(f"largest difference: {abs(scored['score'] - here).max():.1g}")

fig, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.plot(here, scored["score"], ".", alpha=0.4)
ax.set(xlabel="predict, in Python", ylabel="score, in SQLite", title="One ranker, two places")
ax.grid(alpha=0.3)
plt.show()

# %%
# The JSON text also holds what reads words and dates (:doc:`/exporting`).

print(sorted(json.loads(to_json(ranker))))
