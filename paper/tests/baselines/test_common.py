"""scikit-learn's own checks of the baselines; none is skipped."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from branchwise_paper import baselines

ESTIMATORS = [
    *(getattr(baselines, name)() for name in baselines.__all__ if name != "PrintedSPL"),
    baselines.PrintedSPL(n_neighbors=5),  # the checks fit 10 samples
]


# The checks run few iterations and do not expect to hear that these were few.
@pytest.mark.filterwarnings("ignore:.*stopped after:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
