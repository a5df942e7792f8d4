"""scikit-learn's own checks, all of them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ramify import SPL, DDRTree, DRTree

TEN_SAMPLES = "the check fits 10 samples; n_neighbors=10 needs 11 (n_neighbors=5 passes it)"


def expected_failures(estimator):
    if isinstance(estimator, SPL) and estimator.n_neighbors == 10:
        return {
            "check_estimators_nan_inf": TEN_SAMPLES,
            "check_fit2d_1feature": TEN_SAMPLES,
        }
    return {}


# The checks run few iterations and do not expect to hear that these were few.
@pytest.mark.filterwarnings("ignore:.*stopped after:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [DDRTree(), DDRTree(n_centers=5, assignment="hard"), DRTree(), SPL(n_neighbors=5), SPL()],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
