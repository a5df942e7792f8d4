"""The stopping rule that DRTree and DDRTree share."""

import numpy as np
import pytest

from branchwise.solvers.convergence import Monitor


def run(values, **options):
    monitor = Monitor(**{"scale": 10.0, "tol": 0.01, "max_iter": 50, **options})
    for value in values:
        if monitor.is_over:
            break
        monitor.note(value)
    return monitor


def test_it_ends_when_the_objective_changes_by_tol_times_the_scale_or_less():
    monitor = run([8.0, 5.0, 4.9, 4.8])
    assert monitor.history == [8.0, 5.0, 4.9]
    assert monitor.converged
    assert monitor.change == pytest.approx(0.01)


def test_it_ends_after_max_iter_iterations():
    monitor = run([8.0, 5.0, 4.9], max_iter=2)
    assert monitor.is_over
    assert (monitor.history, monitor.converged) == ([8.0, 5.0], False)


def test_without_a_tolerance_it_goes_on_to_the_end():
    assert run([1.0] * 9, tol=0.0, max_iter=7).history == [1.0] * 7


def test_even_the_widest_tolerance_lets_one_iteration_run():
    assert run([8.0, 5.0], tol=np.inf).history == [8.0]


def test_data_without_energy_do_not_divide_by_zero():
    assert run([0.0, 0.0, 0.0], scale=0.0).history == [0.0, 0.0]


def test_a_resumed_run_ends_where_the_whole_one_does():
    monitor = Monitor(scale=10.0, tol=0.01, max_iter=50)
    monitor.resume([8.0, 5.0])
    assert not monitor.is_over
    monitor.note(4.9)
    assert monitor.converged


def test_the_state_is_recorded_before_the_callback_which_may_raise():
    seen = []

    def stop(progress):
        seen.append(("progress", progress.iteration, progress.objective, progress.max_iter))
        raise KeyboardInterrupt

    monitor = Monitor(
        scale=10.0,
        tol=0.0,
        max_iter=5,
        callback=stop,
        record=lambda state, history: seen.append((state, list(history))),
    )
    with pytest.raises(KeyboardInterrupt):
        monitor.note(3.0, "state")
    assert seen == [("state", [3.0]), ("progress", 1, 3.0, 5)]
