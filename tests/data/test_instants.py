"""Dates as microseconds."""

import numpy as np
import pytest

from branchwise.data.instants import as_written, instants


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us"])
def test_dates_that_do_not_fit_into_microseconds_are_wrong_and_not_wrapped(unit):
    days = np.array(["2020-01-02", "NaT", "1800-01-01", "2199-12-31"], dtype=f"datetime64[{unit}]")
    far = np.array([2**62, -(2**62)]).view(days.dtype) if unit != "D" else days[:0]
    found = instants(np.concatenate([days, far]))
    assert found.is_wrong.tolist() == [False] * 4 + [True] * len(far)
    assert found.values[0] == 18_263 * 86_400_000_000
    assert np.isnan(found.values[1])
    assert np.isnan(found.values[4:]).all()


def test_a_date_beyond_microseconds_is_told_as_it_is():
    assert as_written(np.datetime64(10**15, "s")) == "31690708-07-05"
    assert as_written(np.datetime64("9999-12-31", "s")) == "9999-12-31"
    assert as_written(np.datetime64("2020-12-31T01:00", "s")) == "2020-12-31T01:00:00"
