import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets

from branchwise.data.suspects import find_far, find_sentinels, outcome_like


def codes(values):
    return [code.value for code in find_sentinels(np.asarray(values, dtype=float))]


@pytest.mark.parametrize(
    ("usual", "code", "count"),
    [
        ((0.1, 40), -999, 1),  # a laboratory value
        ((0.1, 40), -9, 2),
        ((20, 90), 999, 2),  # ages
        ((20, 90), -99, 2),
        ((1, 5), 99, 2),  # grades
        ((1, 5), 88, 3),
        ((0, 1), 9, 3),  # yes or no
        ((-3, 3), -999, 2),  # scores
        ((-3, 3), 99.9, 2),
        ((0, 400), 9999, 4),
    ],
)
def test_codes_far_from_all_else_are_suspected(usual, code, count):
    rng = np.random.default_rng(0)
    values = rng.integers(usual[0] * 10, usual[1] * 10, size=50, endpoint=True) / 10
    values = np.r_[values, [code] * count, np.nan]
    (found,) = find_sentinels(rng.permutation(values))
    assert found == (code, count)


def test_several_codes_do_not_hide_one_another():
    values = np.r_[np.arange(20, 90), [999] * 3, [888] * 2, [-999] * 2]
    assert codes(values) == [-999, 888, 999]


@pytest.mark.parametrize(
    "values",
    [
        np.r_[20:100, 99, 99],  # ages up to 99
        np.r_[np.arange(20, 86), 99, 99],  # and a few of 99 among ages up to 85
        np.r_[0:45, 77, 77, 88, 99],  # counts with a long tail
        np.repeat([1, 2, 3, 4, 5, 6, 7, 8, 9], 5),  # marks from 1 to 9
        np.repeat([1, 2, 3, 4, 5, 6, 7], 5),
        np.r_[np.linspace(-3, 3, 50), -9],  # an outlier among scores
        np.r_[np.arange(0, 6), 9, 9, 9, 8],  # a score that is rarely high
        np.r_[np.arange(10, 20), 999],  # once: a measurement, maybe
        [99.0] * 10,
        [],
    ],
    ids=str,
)
def test_ordinary_columns_are_not_suspected(values):
    assert codes(values) == []


@pytest.mark.parametrize("seed", range(20))
def test_simulated_measurements_are_not_suspected(seed):
    rng = np.random.default_rng(seed)
    for values in (
        rng.normal(size=300).round(1),
        rng.normal(60, 15, size=300).round(),
        rng.poisson(rng.exponential(20, size=300)),
        rng.lognormal(3, 1, size=300).round(),
        rng.integers(1, 8, size=300),
        rng.binomial(1, 0.3, size=300),
    ):
        assert codes(values) == []


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "diabetes", "digits"])
def test_real_measurements_are_not_suspected(name):
    X = getattr(datasets, f"load_{name}")().data
    assert [codes(column) for column in X.T] == [[]] * X.shape[1]


@given(st.lists(st.floats(0, 89), min_size=1, max_size=40), st.randoms())
def test_suspicion_does_not_depend_on_the_order_of_rows(values, random):
    values = [*values, 999, 999, -999]
    shuffled = random.sample(values, len(values))
    assert codes(values) == codes(shuffled)
    assert codes(values) in ([], [-999], [-999, 999])


OUTCOMES = """
    overall_survival overall_survival_months death_from_cancer OS.time OS pfs_months DFS
    time_to_event days_to_death daysToDeath vital_status status event dead Died relapse
    recurrence_date disease_progression follow-up FollowUp last.followup outcome mortality30
    readmission_30d LOS_days length_of_stay futime fustat censored Überlebenszeit rezidiv
    fu_days lastfollowup ttr PFI pfi.time DMFS remission recist pCR best_response
    expired hospital_expire_flag readmit_30 surv surv_time stime BCR bcr_time response
    complete_response ORR todesfall rezidivfrei
    Todesdatum Verstorben décès survie_globale récidive suivi
"""


@pytest.mark.parametrize("name", OUTCOMES.split())
def test_names_of_outcomes(name):
    assert outcome_like([name]) == [True]


MEASUREMENTS = """
    progesterone er_status her2_status smoking_status event_rate recurrence_score
    mortality_risk family_history_death previous_events programmed_cell_death_1
    death_receptor_4 closed os_calcis_density glucose age time tot_chol vital_capacity
    dead_space EVENT_code immune_response
    DEAD_BOX_1 5_FU covid_pcr dodecane eventration alosetron los1a status_epilepticus
"""


@pytest.mark.parametrize("name", MEASUREMENTS.split())
def test_names_of_measurements(name):
    assert outcome_like([name]) == [False]


def test_a_time_beside_a_status_is_one_of_follow_up():
    assert outcome_like(["time", "status", "age"]) == [True, True, False]
    assert outcome_like(["time", "er_status", "age"]) == [False, False, False]
    assert outcome_like(["OS_STATUS", "time", "time_days"]) == [True, True, True]
    assert outcome_like(["relapse", "time", "prothrombin_time"]) == [True, False, False]


@pytest.mark.parametrize("name", ["EFS", "CSS", "FU", "BCR", "OS", "surv"])
def test_abbreviations_among_many_features_are_genes(name):
    genes = [f"gene{k}" for k in range(100)]
    assert not any(outcome_like([name, *genes]))
    assert outcome_like([name, *genes[1:]])[0]
    assert outcome_like([name, *genes], n_features=100)[0]
    assert outcome_like([f"{name}_time", "death", *genes])[:2] == [True, True]


@pytest.mark.parametrize("sigma", [1, 2, 3])
@pytest.mark.parametrize("n_rows", [30, 200, 1000])
def test_skewed_measurements_have_no_values_far_from_all_others(sigma, n_rows):
    rng = np.random.default_rng(0)
    for column in rng.lognormal(0, sigma, size=(200, n_rows)):
        assert not len(find_far(column))
        if sigma < 3 and n_rows > 100:  # otherwise half are zeros, or few rows
            assert not len(find_far(np.where(column < 0.5, 0, column.round(1))))


@pytest.mark.parametrize("width", [0.05, 0.3, 0.6, 0.8])
@pytest.mark.parametrize("factor", [10, 1000, 1e-3])
def test_one_value_in_a_wrong_unit_is_found(width, factor):
    """Where the others are near enough to one another."""
    column = np.random.default_rng(0).uniform(1 - width, 1 + width, size=60)
    column[7] = factor * column.max()
    rest = np.delete(column, 7)
    is_far = abs(column[7] - rest).min() > 10 * np.ptp(rest)
    assert find_far(column).tolist() == ([7] if is_far else [])


def test_one_value_of_skewed_measurements_in_a_wrong_unit_is_found():
    column = np.random.default_rng(0).lognormal(0, 1, size=200)
    column[7] = 1000 * column.max()
    assert find_far(column).tolist() == [7]
