"""Forks that are only there because of categories and columns of two values are told."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from branchwise import Preparation
from branchwise.data.table import Table
from branchwise.datasets import make_tree
from branchwise.pipeline import fit_pipeline


@pytest.fixture(scope="module")
def curve():
    """Simulated samples along one curve, and a category that has nothing to do with it."""
    data = make_tree(300, 6, topology="linear", noise=0.1, random_state=0)
    frame = pd.DataFrame(data.X).add_prefix("lab")
    return frame.assign(site=np.random.default_rng(0).choice(list("abcdef"), size=300))


def warnings_of(recwarn) -> list[str]:
    return [str(each.message) for each in recwarn if "clumps" in str(each.message)]


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
