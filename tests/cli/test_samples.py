"""What the screen says of the rows that were placed."""

import json

import numpy as np
import pandas as pd

from branchwise.cli.samples import Doubts
from branchwise.datasets import make_tree


def placed(n_rows: int, n_far: int = 0, n_between: int = 0, n_unknown: int = 0) -> pd.DataFrame:
    """A table of places: the first rows are far, the last ones between branches or unknown."""
    places = pd.DataFrame(
        {
            "branch": "A-B",
            "distance": 1.0,
            "p": np.where(np.arange(n_rows) < n_far, 0.01, 0.5),
            "likeliest_branch": "A-B",
            "out_of_range": "",
            "drivers": np.where(np.arange(n_rows) < n_far, "hb 135 (expected 13.2)", ""),
        }
    )
    places.loc[n_rows - n_between :, "likeliest_branch"] = "A-C"
    places.loc[n_rows - n_unknown :, ["branch", "likeliest_branch"]] = None
    places.loc[n_rows - n_unknown :, ["distance", "p"]] = np.nan
    return places


def told(*tables: pd.DataFrame) -> list[str]:
    doubts = Doubts(["hb"])
    for table in tables:
        doubts.add(table)
    return doubts.sentences()


def test_nothing_is_said_where_there_is_no_doubt():
    assert told(placed(10)) == []


def test_far_rows_are_counted_even_if_chance_may_have_made_them():
    assert told(placed(100, n_far=4)) == [
        "4 of 100 rows (4 %; 5 % are usual) lie farther from the tree than 95 % of the rows of "
        "the fit (p <= 0.05); so many may be chance."
    ]


def test_more_far_rows_than_chance_makes_are_to_be_looked_at_and_their_columns_named():
    first, second = told(placed(50, n_far=10), placed(50, n_far=10))
    assert first.startswith("20 of 100 rows (20 %; 5 % are usual) lie farther")
    assert first.endswith("look at them before you trust their places.")
    assert second == "Columns most often to blame (look at their units): 'hb' (20)."


def test_rows_between_branches_and_rows_without_values_are_counted():
    assert told(placed(3, n_between=1)) == [
        "1 of 3 rows (33 %) lies nearest to one branch but more likely belongs to another "
        "(likeliest_branch): the branch of this row is not certain."
    ]
    assert told(placed(3, n_unknown=2)) == [
        "2 rows have no value of any feature and are placed nowhere: '1', '2'."
    ]
    assert told(placed(9, n_unknown=7))[0].endswith("nowhere: '2', '3', '4', '5', '6' and 2 more.")


def test_there_are_no_branches_without_a_root():
    places = placed(5).drop(columns=["branch", "likeliest_branch"])
    assert told(places) == []


def test_fit_says_how_many_rows_lie_between_branches(tmp_path, branchwise):
    """The count on the screen and in run.json is that of samples.csv."""
    data = make_tree(400, 6, topology="bifurcation", noise=0.1, random_state=0)  # simulated
    path, out = tmp_path / "noisy.csv", tmp_path / "out"
    pd.DataFrame(data.X).add_prefix("lab").to_csv(path, index=False)
    given = ["--figure", "none", "--no-report", "--support", "0"]
    code, text, _ = branchwise("fit", path, "-o", out, *given)
    assert code == 0
    samples = pd.read_csv(out / "samples.csv", index_col=0)
    n_between = int((samples["likeliest_branch"] != samples["branch"]).sum())
    assert n_between > 0
    assert json.loads((out / "run.json").read_text())["between_branches"] == n_between
    assert f"places     {n_between:,} of {len(samples):,} rows" in text
