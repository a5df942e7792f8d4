"""Rows held out, and what they say of new ones."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import branchwise
from branchwise import DDRTree, Preparation, learn_trajectory
from branchwise.datasets import make_tree
from branchwise.persistence.format import ModelFileError, read_state, write_state
from branchwise.pipeline import fit_pipeline
from branchwise.placing import held_out
from branchwise.placing.held_out import (
    Scores,
    excess_of,
    has_variety,
    numbers_in,
    order_of,
    reference_of,
)
from branchwise.placing.reference import Reference
from branchwise.trajectory import Trajectory

QUICK = {"n_centers": 8, "tol": 1e-2, "max_iter": 10, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    """Simulated patients."""
    X = make_tree(240, 8, noise=0.2, random_state=0).X
    names = ["hb", "crp", *(f"lab{k}" for k in range(6))]
    return pd.DataFrame(12 + X / X.std(), columns=names, index=[f"P{k}" for k in range(240)])


@pytest.fixture(scope="module")
def made(table):
    return fit_pipeline(table[:200], preparation=Preparation(standardize=True), root={"node": "T1"})


def tables():
    """Simulated trees, one of them with more columns than rows, and a real table."""
    narrow = make_tree(300, 6, noise=0.2, random_state=0).X
    wide = make_tree(300, 90, noise=0.3, random_state=1).X
    return [(narrow, 60), (wide, 60), (load_iris().data, 60)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_p_is_valid_at_five_percent_over_200_splits():
    """And not far below, or it would find nothing."""
    rng, shares = np.random.default_rng(0), []
    data = tables()
    for split in range(200):
        X, n = data[split % len(data)]
        rows = rng.permutation(len(X))
        train, new = X[rows[:n]], X[rows[n : n + 60]]
        path = Trajectory.from_estimator(DDRTree(2, **QUICK).fit(train))
        path = path.with_reference(reference_of(path, train))
        shares.append((path.place(new)["p"] <= 0.05).mean())
    shares = np.array(shares)
    error = shares.std(ddof=1) / np.sqrt(len(shares))
    assert 0.015 < shares.mean() <= 0.05 + error


@pytest.mark.parametrize("share", [0, 0.1])
def test_p_does_not_depend_on_the_unit_of_a_column(table, share):
    rng = np.random.default_rng(1)
    rows = table.mask(rng.random(table.shape) < share)
    other = rows.assign(hb=1000 * rows["hb"], crp=rows["crp"] / 3 + 7)
    preparation = Preparation(standardize=True, impute="median")
    one, two = (
        fit_pipeline(X[:60], DDRTree(2, **QUICK), preparation, root={"node": "T1"}).place(X[60:])
        for X in (rows, other)
    )
    np.testing.assert_allclose(one["p"], two["p"], atol=1e-9)


def test_p_of_sparse_rows_does_not_depend_on_the_unit_of_a_column():
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, size=(60, 6)) * np.arange(1.0, 7.0)
    units = np.array([1000, 1 / 3, 1, 1, 1, 1])
    one, two = (order_of(sparse.csr_array(rows)) for rows in (X, X * units))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, order_of(X))


def test_columns_that_rounding_alone_tells_apart_do_not_order_rows():
    X = np.column_stack([np.arange(5.0), np.full(5, 0.1), np.full(5, np.nan)])
    other = X.copy()
    other[::2, 1] += 1e-17
    other[1, 1] = np.nextafter(0.1, 1)
    np.testing.assert_array_equal(order_of(X), order_of(other))


def test_a_wrong_unit_is_flagged_and_named_first(made, table):
    new = table[200:].copy()
    new.loc["P203", "hb"] *= 10
    places = made.place(new)
    assert places.loc["P203", "p"] == 1 / 201
    assert places.loc["P203", "drivers"].startswith(f"hb {new.loc['P203', 'hb']:.4g} (expected 1")
    assert places.loc["P203", "out_of_range"].startswith("hb ")
    path = learn_trajectory(table[:200], support=0)
    placed = path.place(new)
    assert placed.loc["P203", "p"] == 1 / 201
    assert placed.loc["P203", "drivers"].startswith("hb ")
    assert (places["p"] <= 0.05).mean() < 0.15


def test_complete_rows_are_where_the_estimator_has_them(made, table):
    new = table[200:]
    gaps = new.copy()
    gaps.iloc[3, 2] = np.nan
    X = made.preparation.transform(new)
    for rows in (new, gaps):
        places = made.place(rows).drop(index="P203")
        projection = np.delete(made.estimator.project(X), 3, axis=0)
        np.testing.assert_array_equal(places.filter(like="projection"), projection)


@pytest.mark.parametrize("impute", [None, "median", "drop"])
@pytest.mark.parametrize("options", [{}, {"pca": 5}, {"rank_normalize": True}, {"adjust": ["sex"]}])
def test_new_patients_with_gaps_are_placed_whatever_the_fit_did(table, impute, options):
    rows = table.assign(sex=np.where(np.arange(len(table)) % 2, "f", "m"))
    preparation = Preparation(impute=impute, standardize=True, **options)
    made = fit_pipeline(rows[:200], preparation=preparation, root={"node": "T1"})
    new = rows[200:].copy()
    new.iloc[0, 1] = np.nan
    with pytest.warns(UserWarning, match="has no values of 1 of the 8 features: 'lab5'"):
        places = made.place(new.drop(columns="lab5"))
    assert places["missing"].tolist() == [2] + [1] * 39
    assert places.notna().all(axis=None)
    whole = made.place(new.fillna(rows["crp"].median()))
    lower, upper = places["pseudotime_lower"], places["pseudotime_upper"]
    assert whole["pseudotime"].between(lower, upper).mean() >= 0.9


def test_a_patient_of_whom_nothing_is_known_is_placed_nowhere(made, table):
    new = table[200:203].copy()
    new.iloc[1] = np.nan
    places = made.place(new)
    assert places.drop(columns=["out_of_range", "drivers", "missing"]).iloc[1].isna().all()
    assert places["missing"].tolist() == [0, 8, 0]
    assert made.branch_probabilities(new).iloc[1].isna().all()
    np.testing.assert_allclose(made.branch_probabilities(new).sum(axis=1).iloc[[0, 2]], 1)


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_the_interval_holds_where_the_whole_row_would_be(made, table, share):
    rng = np.random.default_rng(0)
    new = table[200:]
    whole = made.place(new)
    gaps = new.mask(rng.random(new.shape) < share)
    places = made.place(gaps)
    known = places["pseudotime"].notna()
    is_in = whole["pseudotime"].between(places["pseudotime_lower"], places["pseudotime_upper"])
    assert is_in[known].mean() >= 0.9
    width = places["pseudotime_upper"] - places["pseudotime_lower"]
    assert width[known].mean() > (whole["pseudotime_upper"] - whole["pseudotime_lower"]).mean()
    assert (
        places["pseudotime"][known]
        .between(places["pseudotime_lower"][known], places["pseudotime_upper"][known])
        .all()
    )


def test_training_rows_have_what_they_scored_when_they_were_held_out(made, table):
    places = made.training_places(table[:200])
    np.testing.assert_array_equal(places["misfit"], made.reference.misfit)
    assert (places["p"] <= 0.05).mean() == 0.05
    np.testing.assert_array_equal(places["pseudotime"], made.trajectory.pseudotime_)


def test_files_keep_it(made, table, tmp_path):
    made.save(tmp_path / "a.branchwise")
    again = branchwise.load(tmp_path / "a.branchwise")
    pd.testing.assert_frame_equal(again.place(table[200:]), made.place(table[200:]))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"noise": np.ones(3)}, "has noise of shape"),
        ({"noise": np.zeros(8)}, "has noise with values that are not from"),
        ({"spread": np.triu(np.ones((8, 8)))}, "has a spread in reference that is not the cov"),
        (
            {"spread": -np.eye(8)},
            "has a spread in reference that is not the cov",
        ),
        ({"low": np.full(8, 1e6)}, "has ranges in reference that end before they begin"),
        ({"rows": np.arange(200)[::-1].copy()}, "has rows in reference that are not rows, in or"),
        ({"rows": np.arange(200.0)}, "has rows in reference that are not an array of integers"),
        ({"rows": np.arange(3)}, "has 200 n_known in reference for others that were held out"),
        ({"n_known": np.zeros(200, int)}, "has numbers of known columns in reference that are not"),
        ({"varies": np.ones(8)}, "has varies in reference other than 8 truth values"),
        ({"varies": np.ones(3, bool)}, "has varies in reference other than 8 truth values"),
        ({"usual": -1.0}, "has usual=-1.0 in reference but it must be above 0"),
        ({"room": -0.1}, "has room=-0.1 in reference but it must be a number from 0"),
        ({"room": np.inf}, "has room=inf in reference but it must be a number from 0"),
        ({"more": 1}, "has an unknown 'more' in reference"),
    ],
)
def test_damaged_references_are_refused(change, says, made, tmp_path):
    made.save(tmp_path / "a.branchwise")
    state = read_state(tmp_path / "a.branchwise")
    state["reference"] |= change
    write_state(tmp_path / "a.branchwise", state)
    with pytest.raises(ModelFileError, match=says):
        branchwise.load(tmp_path / "a.branchwise")


def test_files_of_earlier_versions_place_complete_rows_only(made, table, tmp_path):
    made.save(tmp_path / "a.branchwise")
    state = read_state(tmp_path / "a.branchwise")
    del state["reference"]
    write_state(tmp_path / "a.branchwise", state)
    again = branchwise.load(tmp_path / "a.branchwise")
    assert again.reference is None
    assert again.place(table[200:])["p"].isna().all()
    with pytest.raises(ValueError, match="1 of 40 rows have gaps, but only a model that knows how"):
        again.place(table[200:].mask(table[200:] == table.iloc[200, 0]))


def test_kernels_and_given_graphs_have_none(table):
    X = table.to_numpy()
    kernel = Trajectory.from_estimator(DDRTree(2, kernel="rbf", **QUICK).fit(X))
    assert reference_of(kernel, X) is None
    assert reference_of(Trajectory([[0, 1]], np.array([[0.0], [1.0]])), X[:2, :1]) is None


def test_without_rows_held_out_there_is_no_p():
    one, none = np.ones(1), np.array([], dtype=np.intp)
    made = Reference(np.eye(1), one, one > 0, one, one, none, np.empty(0), none, np.inf, 0.1)
    assert np.isnan(made.p_values(np.array([1.0]), np.array([1]))).all()


def test_gaps_do_not_change_the_scale_of_scores():
    """Squared distances of normal rows are χ² with as many degrees of freedom as known columns."""
    rng = np.random.default_rng(0)
    held_out = np.sqrt(rng.chisquare(20, size=2000) / 20)
    known = np.full(2000, 20)
    one = np.ones(1)
    rows = np.arange(2000)
    made = Reference(np.eye(1), one, one > 0, one, one, rows, held_out, known, 3.0, 0.1)
    for n_known in (5, 10, 40):
        new = np.sqrt(rng.chisquare(n_known, size=4000) / n_known)
        share = (made.p_values(new, np.full(4000, n_known)) <= 0.05).mean()
        assert 0.03 < share < 0.07


def test_rows_that_were_learned_from_lie_nearer_and_that_is_taken_into_account():
    """Of normal rows in many columns: what is told of new ones is calibrated by rows held out."""
    X = np.random.default_rng(0).normal(size=(90, 30))
    path = Trajectory.from_estimator(DDRTree(10, **QUICK).fit(X[:60]))
    path = path.with_reference(reference_of(path, X[:60]))
    new = path.place(X[60:])
    assert (new["drivers"] != "").mean() < 0.2
    assert 0.7 < new["misfit"].median() < 1.4


def test_what_was_not_learned_from_is_never_taken_to_lie_nearer():
    far, near = np.full(3, 2.0), np.ones((4, 3))
    assert excess_of(Scores(far, *near)) == 2
    assert excess_of(Scores(far / 4, *near)) == 1
    assert excess_of(Scores(*np.empty((5, 0)))) == 1
    assert excess_of(Scores(far, *(0 * near))) == 1


def test_values_beyond_the_range_are_as_rare_as_among_rows_held_out():
    """Of columns with heavy tails a tenth beyond the range is usual."""
    X = np.random.default_rng(1).standard_t(2, size=(150, 12))
    path = Trajectory.from_estimator(DDRTree(2, **QUICK).fit(X[:100]))
    reference = reference_of(path, X[:100])
    assert reference.room > 0.1
    new = path.with_reference(reference).place(X[100:])
    assert (new["out_of_range"] != "").mean() < 0.25


def test_a_level_that_one_row_has_is_a_gap_when_that_row_is_held_out():
    X = make_tree(60, 4, noise=0.2, random_state=0).X
    frame = pd.DataFrame(X, columns=list("abcd")).assign(site=["x"] * 57 + ["y", "y", "z"])
    made = fit_pipeline(frame, DDRTree(2, **QUICK), Preparation(categorical=["site"]))
    places = made.training_places(frame)
    assert places["p"].notna().all()
    assert (places["misfit"] > 0).all()


def test_rows_that_cannot_be_learned_without_have_no_p(table, monkeypatch):
    tries = []

    def fails_first(fold, rows, learned_again=held_out.learned_again):
        tries.append(len(rows))
        if len(tries) == 1:
            raise ValueError("All is one point.")
        return learned_again(fold, rows)

    monkeypatch.setattr(held_out, "learned_again", fails_first)
    said = (
        r"^p is known of 48 of 60 rows only: without the others the tree could not be learned "
        r"\(All is one point\)\. New samples are judged by these"
    )
    with pytest.warns(UserWarning, match=said) as told:
        made = fit_pipeline(table[:60], DDRTree(2, **QUICK), Preparation())
    assert told[0].filename == __file__
    places = made.training_places(table[:60])
    assert tries == [48] * 5
    assert places["p"].isna().sum() == places["misfit"].isna().sum() == 12
    assert places["p"].min() == 1 / 48


def test_where_no_row_can_be_held_out_that_is_told(table, monkeypatch):
    def fails(error):
        def learned_again(fold, rows):
            raise error

        monkeypatch.setattr(held_out, "learned_again", learned_again)

    fails(ArithmeticError())
    said = r"^p is not known: without a fifth of the rows .* \(ArithmeticError\)\. New samples are"
    with pytest.warns(UserWarning, match=said):
        path = learn_trajectory(table[:60], support=0)
    assert path.place(table[60:62])["p"].isna().all()
    fails(MemoryError())
    with pytest.raises(MemoryError):
        learn_trajectory(table[:60], support=0)


def test_the_likeliest_branch_is_named_beside_the_one_where_the_row_lies(table):
    model, root = DDRTree(2, **QUICK), {"node": "T1"}
    made = fit_pipeline(table[:200], model, Preparation(standardize=True), root=root)
    assert len(made.trajectory.view.branches.names) > 2
    new = table[200:].mask(np.random.default_rng(0).random((40, 8)) < 0.4)
    new = new[new.notna().any(axis=1)]
    places, shares = made.place(new), made.branch_probabilities(new)
    assert places["likeliest_branch"].tolist() == shares.idxmax(axis=1).tolist()
    assert (shares.max(axis=1) >= places["branch_probability"]).all()
    assert (places["likeliest_branch"] != places["branch"]).any()


def test_an_empty_column_is_a_gap_and_one_that_is_not_there_is_absent(table):
    """So that a patient is at one place, whoever else is in the table."""
    preparation = Preparation(impute="median", standardize=True)
    made = fit_pipeline(table[:200], preparation=preparation, root={"node": "T1"})
    new = table[200:203].copy()
    new.iloc[0, 2] = np.nan
    alone = made.place(new[:1])
    pd.testing.assert_frame_equal(alone, made.place(new)[:1])
    new["lab0"] = np.nan
    with pytest.warns(UserWarning, match="no values of 1 of the 8 features: 'lab0'"):
        together = made.place(new)
    pd.testing.assert_frame_equal(made.place(new[:1]), together[:1])
    pd.testing.assert_frame_equal(alone, together[:1])
    with pytest.warns(UserWarning, match="no values of 1 of the 8 features: 'lab0'"):
        absent = made.place(new.drop(columns="lab0"))
    assert (absent["projection0"] != together["projection0"]).all()


def test_columns_of_text_have_no_numbers():
    frame = pd.DataFrame({"sex": ["f", "m"], "hb": pd.array([13, None], dtype="Int64")})
    np.testing.assert_array_equal(numbers_in(frame), [[np.nan, 13], [np.nan, np.nan]])


@pytest.mark.filterwarnings("ignore:.*'seen' carries")
def test_dates_and_ages_have_ranges_too(table):
    rng = np.random.default_rng(0)
    seen = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 240), "D")
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 9000, 240), "D")
    rows = table.assign(seen=seen, born=born, grade=rng.choice(["low", "high"], 240))
    encoding = {"dates": ["seen"], "ages": {"age": ("born", "seen")}}
    preparation = Preparation(
        **encoding, ordinal={"grade": ["low", "high"]}, log1p=True, standardize=True
    )
    made = fit_pipeline(rows[:200], preparation=preparation, root={"node": "T1"})
    new = rows[200:203].copy()
    new.loc["P201", "seen"] = pd.Timestamp("1900-01-01")
    with pytest.warns(UserWarning, match="age 'age' is negative in 1 of 3 rows, first in 'P201'"):
        places = made.place(new)
    said = places["out_of_range"].loc["P201"]
    assert said.startswith("seen 1900-01-01 (2024-01-0")
    assert "; age -" in said
    assert places["out_of_range"].loc["P200"] == ""
    # Back from logarithms and units: those of numbers only were taken.
    assert re.search(
        r"seen 1900-01-01 \(expected 20\d\d-\d\d-\d\d\)", places.loc["P201", "drivers"]
    )


def sparse_mutations(n, rng):
    """Simulated: ten columns on two factors, and twenty of which few rows have a 1."""
    factors = rng.normal(size=(n, 2)) @ np.random.default_rng(5).normal(size=(2, 10))
    rare = rng.random((n, 20)) < np.random.default_rng(6).uniform(0.005, 0.03, 20)
    return np.column_stack([factors + 0.5 * rng.normal(size=(n, 10)), rare])


def test_rare_values_do_not_make_rows_far():
    """A column that is constant without the one row that has a 1 cannot be calibrated."""
    shares, named = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(sparse_mutations(400, rng)).add_prefix("x")
        made = fit_pipeline(frame[:100], DDRTree(2, **QUICK), Preparation(standardize=True))
        assert made.reference.varies[:10].all()
        assert not made.reference.varies[10:].all()
        places = made.place(frame[100:])
        shares.append((places["p"] <= 0.05).mean())
        named.append(((places["drivers"] != "") | (places["out_of_range"] != "")).mean())
    error = np.std(shares, ddof=1) / np.sqrt(12)
    assert np.mean(shares) <= 0.05 + 2 * error
    assert np.mean(named) < 0.15


def test_levels_as_frequent_as_others_may_change_places_without_some_rows(table):
    """Without a fifth of the rows another level is the most frequent one."""
    rows = table[:60].assign(sex=["f", "m"] * 30, site=["a", "b", "c"] * 20)
    made = fit_pipeline(rows, preparation=Preparation(categorical=["sex", "site"]))
    assert len(made.reference.rows) == 60
    assert made.place(rows)["p"].notna().all()


def test_variety_is_counted_from_the_most_frequent_value():
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(40, 30)) * (rng.random((40, 30)) < np.linspace(0, 0.5, 30))
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    X[:, 0] = np.nan
    wanted = []
    for column in X.T:
        counts = np.unique(column[~np.isnan(column)], return_counts=True)[1]
        wanted.append(counts.sum() - counts.max(initial=0) >= 5)
    assert has_variety(X).tolist() == wanted
    assert 3 < sum(wanted) < 27
    assert has_variety(X[:, :1]).tolist() == [True]  # if none has, all have a say


@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_row_order_and_units_do_not_change_how_far_rows_are(unit, table):
    """Fifths, and rows to learn scatter from, are chosen by what rows hold."""
    rows = table.mask(np.random.default_rng(3).random(table.shape) < 0.05)
    other = unit * rows.iloc[np.random.default_rng(1).permutation(200)]
    preparation = Preparation(impute="median", standardize=True)
    one, two = (fit_pipeline(each, preparation=preparation) for each in (rows[:200], other))
    near = {"rtol": 0, "atol": 1e-6}
    own = two.training_places(other).loc[rows.index[:200]]
    wanted = one.training_places(rows[:200])
    np.testing.assert_allclose(own["misfit"], wanted["misfit"], **near)
    np.testing.assert_allclose(own["p"], wanted["p"], rtol=0, atol=2 / 200)
    new = two.place(unit * table[200:])
    np.testing.assert_allclose(new["misfit"], one.place(table[200:])["misfit"], **near)


@pytest.mark.parametrize("kind", ["object", "decimal", "polars", "Float64"])
def test_numbers_of_any_type_have_the_same_reference(kind, table):
    plain = learn_trajectory(table[:100], support=0)
    if kind == "polars":
        given = pl.DataFrame(table[:100])
    elif kind == "decimal":
        given = table[:100].astype({"hb": object}).assign(hb=lambda t: t["hb"].map(Decimal))
    else:
        given = table[:100].astype({"hb": kind})
    found = learn_trajectory(given, support=0).reference_
    np.testing.assert_allclose(found.noise, plain.reference_.noise)
    np.testing.assert_allclose(found.misfit, plain.reference_.misfit)
    np.testing.assert_array_equal(found.low, plain.reference_.low)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_columns_of_any_size_are_assessed(scale, table):
    rows = table * np.where(np.arange(8) % 2, scale, 1 / scale)
    made = fit_pipeline(rows[:60], DDRTree(2, **QUICK), Preparation(standardize=True))
    assert made.place(rows[60:])["misfit"].median() < 2


@pytest.mark.filterwarnings("ignore:2 features have the same value")
def test_another_value_of_a_column_that_was_constant_is_told_but_has_no_say(table):
    rows = table.assign(site=3.0, rare=0.0)
    made = fit_pipeline(rows[:60], DDRTree(2, **QUICK), Preparation(standardize=True))
    new = rows[60:65]
    usual, places = made.place(new), made.place(new.assign(site=8.0, rare=1.0))
    told = places["out_of_range"].to_numpy()
    assert all(words.startswith("site 8 (always 3 in the fit)") for words in told)
    assert not any("rare" in words for words in told)
    assert not usual["out_of_range"].str.contains("site").any()
    others = ["p", "misfit", "pseudotime", "drivers"]
    others = [name for name in others if name in usual]
    pd.testing.assert_frame_equal(places[others], usual[others])


def test_a_reference_is_shown_in_one_line():
    one, rows = np.ones(3), np.arange(40)
    made = Reference(np.eye(2), one, one > 0, one, one, rows, one[rows % 3], rows, 3.0, 0.1)
    assert repr(made) == "<Reference: 40 rows held out, 3 columns>"
