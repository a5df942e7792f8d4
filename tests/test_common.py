"""scikit-learn's own checks, all of them; none is skipped or expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ramify import SPL, DDRTree, DRTree

# Some checks fit 10 samples. SPL's default n_neighbors=10 needs 11 and says so.
ESTIMATORS = [
    DDRTree(),
    DDRTree(n_centers=5, assignment="hard"),
    DRTree(),
    SPL(n_neighbors=5),
    SPL(n_neighbors=5, gamma=0.0, C=float("inf")),
]


# The checks run few iterations and do not expect to hear that these were few.
@pytest.mark.filterwarnings("ignore:.*stopped after:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
