"""Estimators go through pickle and skops like any of scikit-learn's."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from branchwise import SPL, DDRTree, DRTree
from branchwise.structures import Forest

from ..conftest import branching

# What a reader of a skops file has to trust, beyond what skops trusts by itself.
TRUSTED = {
    "DDRTree": (
        DDRTree(2, n_centers=10, random_state=0),
        {"branchwise.estimators.ddrtree.DDRTree"},
    ),
    "DDRTree rbf": (
        DDRTree(n_centers=10, kernel="rbf", random_state=np.random.RandomState(0)),
        {"branchwise.estimators.ddrtree.DDRTree"},
    ),
    "DRTree forest": (
        DRTree(structure=Forest(2)),
        {"branchwise.estimators.drtree.DRTree", "branchwise.structures.trees.Forest"},
    ),
    "SPL": (SPL(), {"branchwise.estimators.spl.SPL"}),
    "SPL rbf": (SPL(kernel="rbf"), {"branchwise.estimators.spl.SPL"}),
}
# Of SciPy and scikit-learn; which of them depends on the version of skops.
LIBRARIES = {
    "scipy.sparse._csr.csr_array",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._kd_tree.KDTree",
}


@pytest.fixture(params=TRUSTED)
def name(request):
    return request.param


@pytest.fixture
def model(name):
    return clone(TRUSTED[name][0]).fit(branching(60, 6))


def assert_same(model, again):
    assert type(again) is type(model)
    for X in (branching(60, 6), branching(10, 6, seed=1)):
        np.testing.assert_array_equal(again.transform(X), model.transform(X), strict=True)


def test_pickles_keep_every_digit(model):
    assert_same(model, pickle.loads(pickle.dumps(model)))


def test_skops_files_keep_every_digit(model, name):
    skops = pytest.importorskip("skops.io", reason="skops is a tool of developers")
    data = skops.dumps(model)
    untrusted = set(skops.get_untrusted_types(data=data))
    assert untrusted - LIBRARIES == TRUSTED[name][1]
    assert_same(model, skops.loads(data, trusted=sorted(untrusted)))
