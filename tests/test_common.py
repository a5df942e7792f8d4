"""scikit-learn's own checks; none is skipped, and those that must fail say why."""

import pytest
import sklearn
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from branchwise import SPL, DDRTree, DRTree, Preparation

ESTIMATORS = [
    DDRTree(),
    DDRTree(n_centers=5, assignment="hard"),
    DDRTree(n_centers=6, structure="ring"),
    DRTree(),
    DRTree(structure="forest"),
    DRTree(structure="graph"),
    SPL(),
    SPL(n_neighbors=5),
    SPL(n_neighbors=5, gamma=0.0, C=float("inf")),
    *(
        estimator
        for options in ({"kernel": "rbf"}, {"kernel": "precomputed"}, {"n_components": None})
        for estimator in (DDRTree(**options), DRTree(**options), SPL(n_neighbors=5, **options))
    ),
    SPL(n_neighbors=5, C=5.0, loss="absolute"),
    SPL(n_neighbors=1, loss="equality"),
    Preparation(),
    Preparation(impute="median", rank_normalize=True),
    Preparation(standardize=True, pca=1),
]

TEN_SAMPLES = "the check fits 10 samples; n_neighbors=10 needs 11 (n_neighbors=5 passes it)"


BY_NAME = "columns are found by their names: another order is no error, and neither are more"


def expected_failures(estimator):
    if isinstance(estimator, Preparation):
        return {"check_dataframe_column_names_consistency": BY_NAME}
    if not isinstance(estimator, SPL) or estimator.n_neighbors < 10:
        return {}
    checks = ["check_estimators_nan_inf", "check_fit2d_1feature"]
    if parse_version(sklearn.__version__) < parse_version("1.7"):
        checks.append("check_n_features_in_after_fitting")
    return dict.fromkeys(checks, TEN_SAMPLES)


# The checks run few iterations and do not expect to hear that these were few.
@pytest.mark.filterwarnings("ignore:.*stopped after:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
