"""Text that is dates."""

from datetime import date, datetime, timedelta

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.data.dates import as_dates, check_order, with_dates
from branchwise.data.errors import InputError

DAY = datetime(2020, 1, 31)


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        ("2020-01-31", DAY),
        ("2020/01/31", DAY),
        ("2020/1/31", DAY),
        (" 31.01.2020 ", DAY),
        ("31/01/2020", DAY),
        ("01/31/2020", DAY),
        ("1/31/2020", DAY),
        ("31-Jan-2020", DAY),
        ("31JAN2020", DAY),
        ("31 January 2020", DAY),
        ("2020-01-31 08:30", DAY + timedelta(hours=8.5)),
        ("2020-01-31T08:30:15", DAY + timedelta(hours=8.5, seconds=15)),
        ("2020-01-31T08:30:00.25", DAY + timedelta(hours=8.5, seconds=0.25)),
        ("2020-01-31T08:30:00Z", DAY + timedelta(hours=8.5)),
        ("2020-01-31 08:30:00+02:00", DAY + timedelta(hours=6.5)),
        ("31.01.2020 08:30", DAY + timedelta(hours=8.5)),
    ],
)
def test_spellings(cell, wanted):
    found = as_dates(pd.Series([cell, None, cell]))
    assert found.values.dtype == "datetime64[ns]"
    assert found.values.tolist()[::2] == [pd.Timestamp(wanted)] * 2
    assert found.values.isna().tolist() == [False, True, False]
    assert found.note == ""


@pytest.mark.parametrize(
    "cell",
    ["2020", "20200131", "12", "1.5", "31.13.2020", "30.02.2020", "2020-01", "1-2-3", "00:30", "II",
     "31-Foo-2020", "31.01/2020", "2020-01-31x", "192.168.1.1", "31.01.20"],
)  # fmt: skip
def test_what_is_no_date(cell):
    assert as_dates(pd.Series([cell])) == (None, "", None)


def test_one_cell_that_is_no_date_leaves_words():
    assert as_dates(pd.Series(["2020-01-31", "soon"])).values is None
    assert as_dates(pd.Series(["soon", "2020-01-31"])).values is None
    assert as_dates(pd.Series([None, None], dtype=object)).values is None


@given(
    days=st.lists(st.dates(date(1900, 1, 1), date(2100, 1, 1)), min_size=1, max_size=8),
    sign=st.sampled_from("./-"),
    order=st.sampled_from(["dmy", "mdy"]),
)
def test_the_values_tell_whether_the_day_is_first_and_else_the_option(days, sign, order):
    if sign == ".":
        order = "dmy"
    form = {"dmy": f"%d{sign}%m{sign}%Y", "mdy": f"%m{sign}%d{sign}%Y"}[order]
    column = pd.Series([day.strftime(form) for day in days])
    found, told = as_dates(column), as_dates(column, order)
    assert told.values.tolist() == [pd.Timestamp(day) for day in days]
    assert told.note == ""
    if sign == ".":
        assert as_dates(column, "mdy").values.tolist() == found.values.tolist()
        assert (found.note, found.order) == ("", None)
    elif any(day.day > 12 for day in days):
        assert found.values.tolist() == told.values.tolist()
        assert found.note == ""
        assert found.order == told.order == order
    elif order == "mdy" and any(day.day != day.month for day in days):
        assert found.values.tolist() == [pd.Timestamp(day.year, day.day, day.month) for day in days]
        assert found.note.startswith("day first: ")


def test_a_few_cells_that_are_no_dates_are_told():
    found = as_dates(pd.Series([None, "soon", *["2020-01-31"] * 9, "unknown"]))
    assert found.values is None
    assert found.note == (
        "dates in 9 of 10 cells with a value, but 'soon' in data row 2, which is not one"
    )


def test_an_order_that_is_told_binds():
    found = as_dates(pd.Series(["03/04/2020", "13/04/2020"]), "mdy")
    assert found.values is None
    assert found.note == "'13/04/2020' in data row 2, which is not a date with the month first"
    assert as_dates(pd.Series(["03/04/2020", "soon"]), "mdy") == (None, "", None)


def test_a_column_named_self_may_be_dates():
    frame = pd.DataFrame({"self": ["2020-01-31"]})
    assert with_dates(frame, ["self"])["self"].dtype.kind == "M"


def test_both_orders_in_one_column_are_told():
    found = as_dates(pd.Series(["31/01/2020", "01/31/2020"]))
    assert found.values is None
    assert found.note.startswith("dates of which some can only have the day first")


def test_dates_beyond_nanoseconds_stay_dates():
    found = as_dates(pd.Series(["9999-12-31", "0900-01-01"])).values
    assert found.dtype == "datetime64[us]"
    assert [moment.year for moment in found] == [9999, 900]


def test_an_order_that_is_none():
    with pytest.raises(InputError, match=r"date_order='ymd' must be 'dmy' .* or 'mdy'"):
        check_order("ymd")
    with pytest.raises(InputError, match=r"date_order={.*'ymd'} must be .* by column"):
        check_order({"born": "dmy", "seen": "ymd"})
