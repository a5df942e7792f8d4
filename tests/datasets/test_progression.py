import numpy as np
import pytest

from branchwise.datasets import make_progression
from branchwise.datasets.progression import NORMAL, STAGES, SUBTYPES


@pytest.fixture(scope="module")
def made():
    return make_progression(60, 900, 120, random_state=0)


def test_sizes_and_labels(made):
    assert made.X.shape == (960, 120)
    assert set(made.label) == {NORMAL, *SUBTYPES}
    assert np.count_nonzero(made.label == NORMAL) == 60
    assert "no patients" in made.simulated.description


def test_shares_and_lengths_of_stages_are_sound():
    assert sum(stage[4] for stage in STAGES) == pytest.approx(1)
    assert min(stage[3] for stage in STAGES) > 0


def test_labels_are_those_of_the_branch_but_for_one_in_ten(made):
    own = np.array([stage[2] for stage in STAGES])[made.simulated.branch]
    tumour = made.label != NORMAL
    # One in ten has another branch's label, which is sometimes the same subtype.
    assert 0.02 < np.mean(own[tumour] != made.label[tumour]) < 0.12


def test_time_runs_from_normal_tissue_to_her2_and_to_basal(made):
    time = made.simulated.pseudotime
    median = {label: np.median(time[made.label == label]) for label in set(made.label)}
    path = [NORMAL, "normal-like", "luminal A", "luminal B", "HER2+"]
    assert [median[label] for label in path] == sorted(median[label] for label in path)
    assert median[NORMAL] < median["normal-like"] < median["basal"]


def test_clean_expression_moves_along_the_tree(made):
    truth = made.simulated
    for edge, stage in enumerate(STAGES):
        curve = truth.curve[edge]
        length = np.linalg.norm(np.diff(curve, axis=0), axis=1).sum()
        assert length == pytest.approx(0.6 * np.sqrt(120) * stage[3], rel=1e-3)


def test_noise_is_a_factor_of_what_differs():
    base, wide = (make_progression(20, 80, 30, noise=f, random_state=0) for f in (1.0, 2.0))
    assert np.allclose(wide.X - wide.simulated.clean, 2 * (base.X - base.simulated.clean))
    assert np.allclose(base.simulated.clean, wide.simulated.clean)


def test_eighty_components_keep_about_ninety_percent():
    X = make_progression(random_state=3).X
    energy = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    share = energy[:80].sum() / energy.sum()
    assert 0.88 < share < 0.92


def test_progression_is_decided_by_its_seed(made):
    again = make_progression(60, 900, 120, random_state=0)
    assert np.array_equal(again.X, made.X)
    assert np.array_equal(again.label, made.label)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_normal": 0}, "n_normal=0 must be"),
        ({"n_tumours": -1}, "n_tumours=-1 must be"),
        ({"n_genes": 1}, "n_genes=1 must be at least 2"),
        ({"noise": float("nan")}, "noise=nan must be"),
    ],
)
def test_wrong_arguments_are_told(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_progression(**arguments)
