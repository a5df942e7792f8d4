"""Forks that are only there because of categories and columns of two values are told."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from branchwise import Preparation
from branchwise.data.table import Table
from branchwise.datasets import make_tree
from branchwise.pipeline import fit_pipeline
from branchwise.trajectory import clumps
from branchwise.trajectory.clumps import groups_among, groups_message
from branchwise.trajectory.learning import learn


@pytest.fixture(scope="module")
def curve():
    """Simulated samples along one curve, and a category that has nothing to do with it."""
    data = make_tree(300, 6, topology="linear", noise=0.1, random_state=0)
    frame = pd.DataFrame(data.X).add_prefix("lab")
    return frame.assign(site=np.random.default_rng(0).choice(list("abcdef"), size=300))


def warnings_of(recwarn) -> list[str]:
    return [str(each.message) for each in recwarn if "of a few values" in str(each.message)]


def test_a_category_that_makes_clumps_is_named(curve, recwarn):
    preparation = Preparation(standardize=True, categorical=["site"])
    made = fit_pipeline(curve, preparation=preparation)
    (message,) = warnings_of(recwarn)
    tips = sum(name.startswith("T") for name in made.trajectory.milestones_.index)
    assert tips > 2
    assert message.startswith(
        f"With 'site' among the features the tree has {tips} tips, without it 2:"
    )


def test_principal_components_of_what_is_left_are_no_more_than_there_are(curve, recwarn):
    preparation = Preparation(standardize=True, categorical=["site"], pca=9)
    fit_pipeline(curve, preparation=preparation, learning={"n_components": 8})
    assert len(warnings_of(recwarn)) == 1


def test_numbers_of_two_values_are_groups_as_well(curve, recwarn):
    frame = pd.get_dummies(curve, columns=["site"], dtype=float)
    fit_pipeline(frame, preparation=Preparation(standardize=True))
    (message,) = warnings_of(recwarn)
    assert message.startswith("With 'site_a', 'site_b', 'site_c', 'site_d', 'site_e' and 1 more")


def test_two_levels_in_order_are_groups_as_well():
    frame = pd.DataFrame({"er": ["no", "yes", "no"], "stage": ["a", "b", "c"], "hb": [1.0, 2, 3]})
    ordinal = {"er": ["no", "yes"], "stage": ["a", "b", "c"]}
    assert groups_among(frame, Preparation(ordinal=ordinal).fit(frame)) == ["er"]


def test_categories_that_hide_a_fork_are_named(recwarn):
    rng = np.random.default_rng(1)
    data = make_tree(300, 6, topology="bifurcation", noise=0.05, random_state=1)  # simulated
    frame = pd.DataFrame(data.X).add_prefix("lab")
    frame["sex"], frame["site"] = rng.choice(["f", "m"], 300), rng.choice(list("abcd"), 300)
    preparation = Preparation(standardize=True, categorical=["sex", "site"])
    made = fit_pipeline(frame, preparation=preparation)
    assert len(made.trajectory.branch_table_) == 1
    (message,) = warnings_of(recwarn)
    assert message.startswith(
        "With 'sex', 'site' among the features the tree has 2 tips, without them 3: features of a "
        "few values blur branches"
    )


def test_a_look_without_categories_never_stops_a_fit(recwarn):
    """The rest is constant, or two of its columns become one age."""
    rng = np.random.default_rng(1)
    groups = pd.DataFrame({"site": rng.choice(list("abcd"), 240), "f1": rng.integers(0, 2, 240)})
    preparation = Preparation(standardize=True, categorical=["site"])
    fit_pipeline(groups.assign(x=1.0, y=2.0), preparation=preparation)
    days = pd.Timestamp("1960-01-01") + pd.to_timedelta(rng.integers(0, 9999, 240), unit="D")
    dated = groups.assign(born=days, seen=pd.Timestamp("2024-05-01"), hb=rng.normal(size=240))
    preparation = preparation.set_params(ages={"age": ("born", "seen")}, pca=3)
    made = fit_pipeline(dated, preparation=preparation)
    assert made.n_features == 4


def test_a_look_without_categories_says_nothing_of_its_own(monkeypatch, curve):
    preparation = Preparation(standardize=True, categorical=["site"]).fit(curve)
    path = learn(preparation.transform(curve))

    def loud(X, **options):
        warnings.warn("did not converge", ConvergenceWarning, stacklevel=2)
        return learn(X, **options)

    monkeypatch.setattr(clumps, "learn", loud)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert groups_message(path, curve, None, preparation, {}) is not None


def test_forks_that_are_there_without_the_category_are_not_doubted(recwarn):
    data = make_tree(400, 6, topology="bifurcation", noise=0.05, random_state=0)  # simulated
    frame = pd.DataFrame(data.X).add_prefix("lab")
    frame["sex"] = np.random.default_rng(0).choice(["f", "m"], size=400)
    made = fit_pipeline(frame, preparation=Preparation(standardize=True, categorical=["sex"]))
    assert len(made.trajectory.branch_table_) == 3
    assert warnings_of(recwarn) == []


def test_sparse_tables_and_tables_of_groups_alone_are_left_alone(recwarn):
    """There is nothing to compare them with."""
    few = pd.DataFrame(np.random.default_rng(0).integers(0, 2, size=(200, 4)), dtype=float)
    few = few.add_prefix("gene")
    fit_pipeline(few)
    about = pd.DataFrame(index=few.index.astype(str))
    X = sparse.csr_array(few.to_numpy())
    fit_pipeline(Table(X, list(few), list(about.index), about, "genes"))
    assert warnings_of(recwarn) == []
