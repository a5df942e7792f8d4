"""Categories, ordered categories, dates and ages as columns of numbers.

A category of K levels becomes K − 1 orthonormal contrasts, each level against those that are more
frequent. They keep samples as far apart as factor analysis of mixed data does. Every column has
mean 0 and variance 1 over the known values of the training data, and no two are correlated: a
category counts as K − 1 numbers in squared distances, and as K − 1 measurements in a model with a
noise for each column. K indicators have the same distances, but depend on one another, and such a
model would take one of them for a measurement of its own. Two levels become the column that 0 and 1
do after standardising.
"""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._compat import assigned
from .._messages import counted, is_for_command_line, listed, parameter, setting
from .._typing import Bools, Floats, Ints
from ..data.categories import (
    MISSING,
    are_numbers,
    as_level,
    as_text,
    column_values,
    distinct,
    is_missing,
    is_no_number,
    is_unknown,
)
from ..data.checks import check_numbers
from ..data.dates import FIRST, NEARLY_ALL, DateOrder, mixed_orders, order_of
from ..data.instants import (
    FIRST_YEAR,
    LAST_YEAR,
    MICROSECONDS,
    Order,
    are_dates,
    as_iso,
    as_written,
    instant,
    instants,
    is_beyond,
    order_in,
)
from ..data.selection import check_asked, expand, look_up
from .columns import N_NAMED
from .levels import UnknownLevels, check_exact, check_levels, codes_in, levels_in

NUMBER, CATEGORY, ORDINAL, DATE, END = "number", "category", "ordinal", "date", "end of an age"
KINDS = (NUMBER, CATEGORY, ORDINAL, DATE, END)
DAYS_OF_A_YEAR = 365.25


class Plan(NamedTuple):
    """Which columns become what, by their names in the table.

    Attributes
    ----------
    categorical : list of str
    ordinal : dict of str to list of str
        Levels in their order.
    dates : list of str
    ages : dict of str to list of str
        Two columns of dates for each new name.
    """

    categorical: list[str]
    ordinal: dict[str, list[str]]
    dates: list[str]
    ages: dict[str, list[str]]

    @property
    def columns(self) -> list[str]:
        """All columns that are not numbers for what follows."""
        ends = [name for pair in self.ages.values() for name in pair]
        return list(dict.fromkeys([*self.categorical, *self.ordinal, *self.dates, *ends]))

    @property
    def kinds(self) -> dict[str, str]:
        """What each of these columns is; all others of the table are numbers.

        Examples
        --------
        >>> from branchwise.preprocessing.encoding import Plan
        >>> Plan(["sex"], {}, ["seen"], {"age": ["born", "seen"]}).kinds
        {'born': 'end of an age', 'seen': 'date', 'sex': 'category'}
        """
        # What comes later wins: the end of an age may be a date by itself, too.
        return {
            **{name: END for pair in self.ages.values() for name in pair},
            **dict.fromkeys(self.ordinal, ORDINAL),
            **dict.fromkeys(self.categorical, CATEGORY),
            **dict.fromkeys(self.dates, DATE),
        }


def make_plan(
    known: Sequence[str],
    source: str,
    *,
    categorical: str | Sequence[str] | None,
    ordinal: Mapping[str, Sequence[Any]] | None,
    dates: str | Sequence[str] | None,
    ages: Mapping[str, Sequence[str]] | None,
) -> Plan:
    """Which columns of a table names and patterns mean, each for one purpose.

    Examples
    --------
    >>> from branchwise.preprocessing.encoding import make_plan
    >>> make_plan(["er_status", "age"], "X", categorical=["*_status"], ordinal=None, dates=None,
    ...           ages=None).categorical
    ['er_status']
    """
    asked = {
        "categorical": expand(categorical or ()),
        "ordinal": expand(list(ordinal or ())),
        "dates": expand(dates or ()),
        "ages": [name for pair in (ages or {}).values() for name in pair],
    }
    check_asked(asked, known, source)
    ordered: dict[str, list[str]] = {}
    for pattern, levels in (ordinal or {}).items():
        for name in look_up(expand([pattern]), known, "ordinal")[0]:
            own = [as_level(level) for level in levels]
            if ordered.setdefault(name, own) != own:
                raise ValueError(
                    f"{parameter('ordinal')} gives column {name!r} two orders, "
                    f"{', '.join(map(repr, ordered[name]))} and {', '.join(map(repr, own))}, the "
                    f"second by {pattern!r}; name it once."
                )
    check_single(asked["ages"], known)
    plan = Plan(
        look_up(asked["categorical"], known, "categorical")[0],
        ordered,
        look_up(asked["dates"], known, "dates")[0],
        {
            name: [look_up([end], known, "ages")[0][0] for end in pair]
            for name, pair in (ages or {}).items()
        },
    )
    check_plan(plan, known)
    return plan


def check_single(ends: Sequence[str], known: Sequence[str]) -> None:
    """An age is between two columns, not between many.

    Examples
    --------
    >>> from branchwise.preprocessing.encoding import check_single
    >>> check_single(["born", "visit*"], ["born", "visit1", "visit2"])
    Traceback (most recent call last):
    ...
    ValueError: ages has the pattern 'visit*', which fits 2 columns ('visit1', 'visit2'), but an age
    is between two dates; name one of them.
    """
    for end in ends:
        fits, _ = look_up([end], known, "ages")
        if len(fits) > 1:
            raise ValueError(
                f"{parameter('ages')} has the pattern {end!r}, which fits {len(fits)} columns "
                f"({listed(map(repr, fits), N_NAMED)}), but an age is between two dates; name one "
                "of them."
            )


def check_plan(plan: Plan, known: Sequence[str]) -> None:
    """No column is encoded in two ways, no age is called as a column that is there, or always 0."""
    ends = {name for pair in plan.ages.values() for name in pair}
    uses = {
        "categorical": {*plan.categorical},
        "ordinal": {*plan.ordinal},
        "dates": {*plan.dates},
        "ages": ends,
    }
    for name in plan.columns:
        ways = [way for way, names in uses.items() if name in names]
        if len(ways) > 1 and ways != ["dates", "ages"]:
            raise ValueError(
                f"column {name!r} is named in {' and '.join(map(parameter, ways))}, but a column "
                "is encoded in one way; leave it out of all but one."
            )
    for name, (start, end) in plan.ages.items():
        if start == end:
            raise ValueError(
                f"{parameter('ages')} has {name!r} from {start!r} to {end!r}, the same column, "
                "and an age is between two dates; name another one."
            )
    present = set(known)
    taken = [name for name in plan.ages if name in present]
    if taken:
        raise ValueError(
            f"{parameter('ages')} has the new name {taken[0]!r}, but the table has a column of "
            "that name; choose another name."
        )


def check_encoding_parameters(categorical: Any, ordinal: Any, dates: Any, ages: Any) -> None:
    """What can be wrong with the four parameters before there is a table.

    Examples
    --------
    >>> from branchwise.preprocessing.encoding import check_encoding_parameters
    >>> check_encoding_parameters(None, {"grade": ["low"]}, None, None)
    Traceback (most recent call last):
    ...
    ValueError: ordinal gives 'grade' the levels 'low', but must give two or more different ...
    """
    for option, names in (("categorical", categorical), ("dates", dates)):
        if not all(isinstance(name, str) for name in in_list(names)):
            raise ValueError(
                f"{setting(option, names)} must be a list of names or patterns of columns; pass "
                'text, for instance ["sex", "*_status"].'
            )
    for name, levels in (ordinal or {}).items():
        if isinstance(levels, str) or not isinstance(levels, Sequence):
            raise ValueError(
                f"{parameter('ordinal')} has {levels!r} for {name!r}, but must have a list of all "
                'levels in their order; pass for instance {"grade": ["low", "mid", "high"]}.'
            )
        texts = [as_level(level) for level in levels]
        if len(texts) < 2 or len(set(texts)) < len(texts):
            raise ValueError(
                f"{parameter('ordinal')} gives {name!r} the levels "
                f"{', '.join(map(repr, texts)) or 'none'}, but must give two or more different "
                "ones, in their order."
            )
        gaps = [text for text in texts if text in MISSING]
        if gaps:
            raise ValueError(
                f"{parameter('ordinal')} gives {name!r} the level {gaps[0]!r}, but such cells are "
                "missing values; leave it out of the levels, or call it by another word in the "
                "table, too."
            )
    for name, ends in (ages or {}).items():
        if isinstance(ends, str) or not isinstance(ends, Sequence) or len(ends) != 2:
            raise ValueError(
                f"{parameter('ages')} has {ends!r} for {name!r}, but must have two columns of "
                'dates, from and to; pass for instance {"age": ("born", "seen")}.'
            )


def in_list(names: Any) -> list[Any]:
    """Names of columns; one alone need not be in a list.

    Examples
    --------
    >>> from branchwise.preprocessing.encoding import in_list
    >>> in_list("sex"), in_list(("sex", "age")), in_list(None)
    (['sex'], ['sex', 'age'], [])
    """
    return [names] if isinstance(names, str) else list(names or ())


def named_columns_of(X: Any) -> list[str]:
    """The columns of a DataFrame, which have names."""
    names = list(getattr(X, "columns", []))
    if not names or not all(isinstance(name, str) for name in names):
        kind = "a DataFrame without names of columns" if names else type(X).__name__
        raise TypeError(
            "categorical, ordinal, dates and ages are for a DataFrame in memory, whose columns "
            f"have names, but X is {kind}; pass pandas.DataFrame(X, columns=names), or leave them "
            "out."
        )
    return names


class Encoding(NamedTuple):
    """The columns of a table as numbers: contrasts of categories, codes of ordered ones, days.

    Columns of the table keep their order; ages stand behind them. A missing cell is NaN in every
    column that is made of it.

    Attributes
    ----------
    columns : list of str
        Of the table.
    kinds : list of str
        Of each: "number", "category", "ordinal", "date" or "end of an age".
    levels : list of (list of str or None)
        Of each category, or ordered category, in their order.
    shares : array of shape (n_levels,)
        Of the levels of all categories, one after the other, among known training values.
    firsts : list of (str or None)
        The first date of each column of dates in the training data, the day 0.
    orders : list of (str or None)
        Of each column of dates: "dmy" or "mdy" where that is what 03/04/2024 was in training. It
        binds: a new date that does not fit is an error.
    ages : list of list of str
        New name, from and to.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.preprocessing.encoding import Encoding, make_plan
    >>> X = pd.DataFrame({"sex": ["f", "m", "f", None], "seen": ["2024-01-01", "2024-01-09"] * 2})
    >>> plan = make_plan(
    ...     list(X), "X", categorical=["sex"], ordinal=None, dates=["seen"], ages=None
    ... )
    >>> step = Encoding.fit(X, plan)
    >>> step.names
    ['sex=m', 'seen']
    >>> step.apply(X).round(2)
    array([[-0.71,  0.  ],
           [ 1.41,  8.  ],
           [-0.71,  0.  ],
           [  nan,  8.  ]])
    """

    columns: list[str]
    kinds: list[str]
    levels: list[list[str] | None]
    shares: Floats
    firsts: list[str | None]
    orders: list[Order]
    ages: list[list[str]]

    @classmethod
    def fit(cls, X: Any, plan: Plan) -> "Encoding":
        """Levels, shares and first dates of a table."""
        columns = [str(name) for name in X.columns]
        planned = plan.kinds
        kinds = [planned.get(name, NUMBER) for name in columns]
        problems = Problems()
        levels: list[list[str] | None] = []
        orders: list[Order] = []
        for name, kind in zip(columns, kinds, strict=True):
            levels.append(plan.ordinal.get(name))
            orders.append(order_in(X[name]) if kind in (DATE, END) else None)
            if kind == CATEGORY and not are_dates(X[name]):
                with problems.noted():
                    levels[-1] = levels_in(X[name], name)
        with problems.noted():
            check_not_dates(X, plan.categorical)
        empty = np.empty(0)
        blank: list[str | None] = [None] * len(columns)
        ages = [[name, *pair] for name, pair in plan.ages.items()]
        step = cls(columns, kinds, levels, empty, blank, orders, ages)
        codes, days = step._codes(X, "ordinal", problems), step._dates(X, problems, is_fit=True)
        firsts: list[str | None] = list(blank)
        for j, name in enumerate(columns):
            if name in days:
                with problems.noted():
                    firsts[j] = first_date(days[name], name)
        if problems.found:  # otherwise `apply` looks at them
            with problems.noted():
                step._numbers(X)
        problems.tell()
        shares = [
            np.bincount(known, minlength=len(of)) / len(known)
            for name, kind, of in zip(columns, kinds, levels, strict=True)
            if kind == CATEGORY and of is not None
            for known in [codes[name][codes[name] >= 0]]
        ]
        step = step._replace(shares=np.concatenate([empty, *shares]), firsts=firsts)
        names = step.names
        repeated = [name for name, n in Counter(names).items() if n > 1]
        if repeated:
            raise ValueError(
                f"encoding makes two columns of the name {repeated[0]!r}; rename a column of the "
                "table, or the age."
            )
        return step

    def with_order(self, order: DateOrder) -> "Encoding":
        """The same where the dates were read before, with the day or the month first.

        `order` is that of all columns, or in a dict by column.

        Examples
        --------
        >>> import pandas as pd
        >>> from branchwise.preprocessing.encoding import Encoding, make_plan
        >>> X = pd.DataFrame({"seen": pd.to_datetime(["2024-01-31"])})
        >>> plan = make_plan(["seen"], "X", categorical=None, ordinal=None, dates=["*"], ages=None)
        >>> Encoding.fit(X, plan).with_order("mdy").orders
        ['mdy']
        """
        triples = zip(self.columns, self.kinds, self.orders, strict=True)
        return self._replace(
            orders=[
                order_of(order, name) if own is None and kind in (DATE, END) else own
                for name, kind, own in triples
            ]
        )

    @property
    def orders_by_column(self) -> dict[str, Order]:
        """Of each column of dates, "dmy" or "mdy" where that is known."""
        triples = zip(self.columns, self.kinds, self.orders, strict=True)
        return {name: order for name, kind, order in triples if kind in (DATE, END)}

    @property
    def plan(self) -> Plan:
        """What was encoded, by the names that patterns and files stood for."""
        of = dict(zip(self.columns, self.kinds, strict=True))
        levels = dict(zip(self.columns, self.levels, strict=True))
        return Plan(
            [name for name, kind in of.items() if kind == CATEGORY],
            {name: list(levels[name] or ()) for name, kind in of.items() if kind == ORDINAL},
            [name for name, kind in of.items() if kind == DATE],
            {name: ends for name, *ends in self.ages},
        )

    # Names and places of the columns that are made

    @property
    def sources(self) -> list[str]:
        """The column of the table, or the age, that each encoded column is made of."""
        found: list[str] = []
        for name, kind, of in zip(self.columns, self.kinds, self.levels, strict=True):
            found += [name] * width_of(kind, of)
        return [*found, *(name for name, _, _ in self.ages)]

    @property
    def names(self) -> list[str]:
        """Of the encoded columns; of a category, each level beside those that are more frequent."""
        found: list[str] = []
        shares = self._shares()
        for name, kind, of in zip(self.columns, self.kinds, self.levels, strict=True):
            if kind == CATEGORY and of is not None:
                order = falling(shares[name])
                found += [f"{name}={of[k]}" for k in (order[1:] if len(of) > 1 else order)]
            elif kind != END:
                found.append(name)
        return [*found, *(name for name, _, _ in self.ages)]

    @property
    def is_contrast(self) -> Bools:
        """Which encoded columns are contrasts of a category."""
        return self._are(CATEGORY)

    @property
    def is_number(self) -> Bools:
        """Which encoded columns are numbers of the table, as they were."""
        return self._are(NUMBER)

    @property
    def is_measured(self) -> Bools:
        """Which encoded columns are measured, and have a range: numbers, days and years."""
        found = self._are(NUMBER, DATE)
        found[len(found) - len(self.ages) :] = True
        return found

    @property
    def day_zero(self) -> list[str | None]:
        """The date of day 0 of each encoded column of days."""
        found: list[str | None] = []
        for kind, of, first in zip(self.kinds, self.levels, self.firsts, strict=True):
            found += [first if kind == DATE else None] * width_of(kind, of)
        return [*found, *[None] * len(self.ages)]

    @property
    def parts(self) -> Ints:
        """The first of the encoded columns that each thing became: where gaps are counted."""
        sources = self.sources
        return np.array([j for j, s in enumerate(sources) if j == 0 or sources[j - 1] != s], int)

    def _shares(self) -> dict[str, Floats]:
        """Of the levels of each category."""
        pairs = zip(self.columns, self.kinds, self.levels, strict=True)
        sizes = {name: len(of or ()) for name, kind, of in pairs if kind == CATEGORY}
        ends = np.cumsum([*sizes.values()])[:-1]
        return dict(zip(sizes, np.split(self.shares, ends), strict=False))

    def _are(self, *wanted: str) -> Bools:
        found: list[bool] = []
        for kind, of in zip(self.kinds, self.levels, strict=True):
            found += [kind in wanted] * width_of(kind, of)
        return np.array([*found, *[False] * len(self.ages)], dtype=bool)

    # Tables

    def apply(self, X: Any) -> Floats:
        """The columns of a table, which has those of the training data, as numbers."""
        problems, numbers = Problems(), np.empty((len(X), 0))
        codes, days = self._codes(X, "fit", problems), self._dates(X, problems)
        with problems.noted():
            numbers = self._numbers(X)
        problems.tell()
        out = np.empty((len(X), len(self.names)))
        at = taken = 0
        shares = self._shares()
        for j, (name, kind) in enumerate(zip(self.columns, self.kinds, strict=True)):
            if kind == CATEGORY:
                values = contrasts(codes[name], shares[name])
                end = at + values.shape[1]
                out[:, at:end], at = values, end
            elif kind != END:
                if kind == NUMBER:
                    out[:, at], taken = numbers[:, taken], taken + 1
                elif kind == ORDINAL:
                    out[:, at] = np.where(codes[name] < 0, np.nan, codes[name])
                else:
                    out[:, at] = (days[name] - (instant(self.firsts[j]) or 0.0)) / MICROSECONDS
                at += 1
        for k, (_, start_, end_) in enumerate(self.ages):
            out[:, at + k] = (days[end_] - days[start_]) / MICROSECONDS / DAYS_OF_A_YEAR
        return out

    def warn_of_ages(self, encoded: Floats, names: Any = None) -> None:
        """Years that are negative, as between dates that were swapped.

        Examples
        --------
        >>> import warnings
        >>> import pandas as pd
        >>> from branchwise.preprocessing.encoding import Encoding, make_plan
        >>> X = pd.DataFrame({"born": ["1980-01-01"], "seen": ["1970-01-01"]})
        >>> plan = make_plan(list(X), "X", categorical=None, ordinal=None, dates=None,
        ...                  ages={"age": ("born", "seen")})
        >>> step = Encoding.fit(X, plan)
        >>> with warnings.catch_warnings(record=True) as said:
        ...     warnings.simplefilter("always")
        ...     step.warn_of_ages(step.apply(X), ["P1"])
        >>> print(said[0].message)
        age 'age' is negative in 1 of 1 row, first in 'P1', where 'seen' is before 'born'; ...
        """
        for k, (age, start, end) in enumerate(self.ages):
            rows = np.flatnonzero(encoded[:, len(self.names) - len(self.ages) + k] < 0)
            if len(rows):
                first = f"data row {rows[0] + 1}" if names is None else repr(str(names[rows[0]]))
                warnings.warn(
                    f"age {age!r} is negative in {len(rows):,} of {counted(len(encoded), 'row')}, "
                    f"first in {first}, where {end!r} is before {start!r}; mend these dates, or "
                    "name the two in the other order.",
                    stacklevel=3,
                )

    def with_known_levels(self, X: Any) -> Any:
        """The table with empty cells where a level is one that the fit did not know.

        Examples
        --------
        >>> import pandas as pd
        >>> from branchwise.preprocessing.encoding import Encoding, make_plan
        >>> X = pd.DataFrame({"sex": ["f", "m"]})
        >>> plan = make_plan(["sex"], "X", categorical=["*"], ordinal=None, dates=None, ages=None)
        >>> new = pd.DataFrame({"sex": ["x", "m"]})
        >>> Encoding.fit(X, plan).with_known_levels(new)["sex"].isna().tolist()
        [True, False]
        """
        emptied = {}
        for name, kind, of in zip(self.columns, self.kinds, self.levels, strict=True):
            if kind in (CATEGORY, ORDINAL) and of is not None:
                codes, others = codes_in(X[name], of)
                if others:
                    emptied[name] = X[name].astype(object).where(codes >= 0, None)
        return assigned(X, emptied)

    def _numbers(self, X: Any) -> Floats:
        """The columns of numbers, side by side; what else they hold is told."""
        names = [n for n, kind in zip(self.columns, self.kinds, strict=True) if kind == NUMBER]
        if not names:
            return np.empty((len(X), 0))
        try:
            table = check_numbers(X[names])
            strange = [n for n, kind in zip(names, X[names].dtypes, strict=True) if is_time(kind)]
        except (TypeError, ValueError) as error:
            strange = [name for name in names if not passes_for_numbers(X[name])]
            if not strange:
                raise
            cause: Exception | None = error
        else:
            cause = None
        if strange:
            raise ValueError(
                f"{listed(map(repr, strange), N_NAMED)} must hold numbers, but "
                f"{'holds' if len(strange) == 1 else 'hold'} something else, such as "
                f"{first_in(X[strange[0]])}; name what is a category in "
                f"{parameter('categorical')} or {parameter('ordinal')}, and what is a date in "
                f"{parameter('dates')}, or {'exclude' if is_for_command_line() else 'drop'} it."
            ) from cause
        rows, wrong = np.nonzero(np.isinf(table))
        if len(rows):
            raise ValueError(
                f"column {names[wrong[0]]!r} is {table[rows[0], wrong[0]]} in data row "
                f"{rows[0] + 1}, but every value must be finite; replace such values, or leave the "
                "rows out."
            )
        return np.asarray(table, dtype=np.float64)

    def _codes(self, X: Any, given_by: str, problems: "Problems") -> dict[str, Ints]:
        """The number of each cell's level, −1 where it is missing; other levels are told."""
        found, unknown = dict[str, Ints](), list[UnknownLevels]()
        for name, kind, of in zip(self.columns, self.kinds, self.levels, strict=True):
            if kind in (CATEGORY, ORDINAL) and of is not None:
                with problems.noted():
                    check_exact(distinct(X[name])[1], name)
                    found[name], others = codes_in(X[name], of)
                    unknown += [UnknownLevels(name, others, of)] if others else []
        with problems.noted():
            check_levels(unknown, len(X), given_by)
        return found

    def _dates(self, X: Any, problems: "Problems", *, is_fit: bool = False) -> dict[str, Floats]:
        """Microseconds since 1970 of each column of dates; what is not a date is told."""
        found, wrong = dict[str, Floats](), list[str]()
        for name, kind, order in zip(self.columns, self.kinds, self.orders, strict=True):
            if kind in (DATE, END):
                days, is_wrong, is_open = instants(X[name], order)
                is_fine = not (is_wrong.any() or is_open.any())
                found |= {name: days} if is_fine else {}
                mixed = "" if is_fine or not is_fit else mixed_orders(X[name])
                if mixed:  # the first of them alone set the order
                    wrong.append(f"column {name!r} holds {mixed}")
                else:
                    wrong += date_problems(name, column_values(X[name]), is_wrong, is_open, order)
        if wrong:
            problems.found.append(ValueError(f"{'; '.join(wrong)}; {DATE_REMEDY}."))
        return found


class Problems:
    """What is wrong with the columns of a table, to be told together.

    Examples
    --------
    >>> from branchwise.preprocessing.encoding import Problems
    >>> problems = Problems()
    >>> for name in ("sex", "site"):
    ...     with problems.noted():
    ...         raise ValueError(f"column {name!r} is empty; leave it out.")
    >>> problems.tell()
    Traceback (most recent call last):
    ...
    ValueError: column 'sex' is empty; leave it out. Also: column 'site' is empty; leave it out.
    """

    def __init__(self) -> None:
        self.found = list[Exception]()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Go on after an error."""
        try:
            yield
        except ValueError as error:
            self.found.append(error)

    def tell(self) -> None:
        """Raise what was found, in one message."""
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            raise ValueError(" Also: ".join(map(str, self.found))) from self.found[0]


def width_of(kind: str, levels: Sequence[str] | None) -> int:
    """How many columns a column of the table becomes."""
    return max(1, len(levels or ()) - 1) if kind == CATEGORY else int(kind != END)


DATE_REMEDY = (
    "write dates as 2024-03-31 (year, month, day), empty the cells if they are not known, or leave "
    "the column out"
)


def falling(shares: Floats) -> Ints:
    """Levels from the most frequent to the rarest; of equals the one that people have first.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.encoding import falling
    >>> falling(np.array([0.25, 0.5, 0.25]))
    array([1, 0, 2])
    """
    return np.argsort(-shares, kind="stable")


def contrasts(codes: Ints, shares: Floats) -> Floats:
    """Each level beside those that are more frequent; NaN in all columns where it is missing.

    With p_j the j-th largest share and S_j = p_1 + … + p_j, column j − 1 of a row is
    √(S_{j−1}/(S_j·p_j)) at level j, −√(p_j/(S_{j−1}·S_j)) at the more frequent ones, and 0 at the
    rarer ones: weighted Helmert contrasts. A rare level has a column of its own, which hardly
    varies, and no other column is about it. A single level becomes a column of 0.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.encoding import contrasts
    >>> contrasts(np.array([0, 1, -1]), np.array([0.2, 0.8]))
    array([[ 2. ],
           [-0.5],
           [ nan]])
    """
    order, n_levels = falling(shares), len(shares)
    p = shares[order]
    up_to = np.cumsum(p)
    of_level = np.zeros((n_levels, max(1, n_levels - 1)))
    for j in range(1, n_levels):
        of_level[order[j], j - 1] = np.sqrt(up_to[j - 1] / (up_to[j] * p[j]))
        of_level[order[:j], j - 1] = -np.sqrt(p[j] / (up_to[j - 1] * up_to[j]))
    return np.where(codes[:, np.newaxis] < 0, np.nan, of_level[codes])


def first_date(days: Floats, name: str) -> str:
    """The first of the dates, which is day 0."""
    if np.isnan(days).all():
        raise ValueError(
            f"column {name!r} is named in {parameter('dates')} or {parameter('ages')}, but none of "
            f"its {len(days)} cells has a value; leave it out."
        )
    return as_iso(np.nanmin(days))


def date_problems(
    name: str, cells: Any, is_wrong: Bools, is_open: Bools, order: Order = None
) -> list[str]:
    """What is wrong with a column of dates, in parts of a sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.preprocessing.encoding import date_problems
    >>> date_problems("seen", ["soon", "x"], np.array([True, True]), np.array([False, False]))
    ["column 'seen' holds 'soon' in data row 1, which is not a date (2 such cells)"]
    >>> date_problems("seen", ["31/01/2020"], np.array([True]), np.array([False]), "mdy")
    ["column 'seen' holds '31/01/2020' in data row 1, which is not a date with the month first, as
    dates of the fit have it"]
    >>> date_problems("seen", ["01/01/0217"], np.array([True]), np.array([False]))
    ["column 'seen' holds '01/01/0217' in data row 1, whose year is not between 1800 and 2199"]
    """
    is_bad, what = is_wrong, "which is not a date"
    if not is_wrong.any():
        is_bad, what = is_open, "of which the day and the month cannot be told apart"
    if not is_bad.any():
        return []
    row, n = int(is_bad.argmax()), int(is_bad.sum())
    if is_wrong.any() and is_beyond(cells[row]):
        what = f"whose year is not between {FIRST_YEAR} and {LAST_YEAR}"
    elif order is not None and is_wrong.any() and instant(cells[row]) is not None:
        what += f" with the {FIRST[order]} first, as dates of the fit have it"
    known = np.array([not is_unknown(c) and not is_no_number(c) for c in cells], dtype=bool)
    n_known = int(known.sum())
    told = [f"{n:,} such cells"] if n > 1 else []
    if is_bad is is_wrong and NEARLY_ALL * n_known <= n_known - n:
        told.append(f"{n_known - n:,} of {n_known:,} values are dates")
    more = f" ({', '.join(told)})" if told else ""
    return [
        f"column {name!r} holds {as_written(cells[row])!r} in data row {row + 1:,}, {what}{more}"
    ]


def check_not_dates(X: Any, names: Sequence[str]) -> None:
    """Each date of a column would be a level."""
    found = [name for name in names if are_dates(X[name])]
    if found:
        raise ValueError(
            f"{parameter('categorical')} names {listed(map(repr, found), N_NAMED)}, which "
            f"{'holds' if len(found) == 1 else 'hold'} dates, and dates are never categories; name "
            f"such columns in {parameter('dates')}, for days since the first, or in "
            f"{parameter('ages')}, for years between two of them."
        )


def is_time(kind: Any) -> bool:
    """Whether a column of this type holds dates or durations, which would pass for numbers."""
    return str(kind).lower().startswith(("date", "time", "duration"))


def passes_for_numbers(column: Any) -> bool:
    """Whether a column holds numbers or truth values."""
    values = column_values(column)
    return values.dtype.kind == "b" or are_numbers(values)


def first_in(column: Any) -> str:
    """The first cell that is not a number, as a user would call it."""
    values = column_values(column)
    known = [value for value in values[~is_missing(values)].tolist() if not is_real(value)]
    return repr(as_text(known[0])) if known else f"values of type {values.dtype}"


def is_real(value: Any) -> bool:
    """Whether a cell is a number."""
    return isinstance(value, Real) and not isinstance(value, bool)
