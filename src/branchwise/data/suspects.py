"""What a statistician suspects of a column: codes for missing values, and names of outcomes."""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Bools, Floats, Ints

# Codes for missing values

# Values that questionnaires and laboratories write for "not known", "refused", "not done".
_DIGITS = [int(digit * n) for n in range(1, 9) for digit in "789"]
_RESERVED = [10**n - k for n in (2, 3, 4) for k in (2, 3)]  # 98 and 97, 998 and 997, …
_FRACTIONS = [9.9, 99.9, 999.9, 9999.9, 9.99, 99.99, 999.99, 88.8, 888.8, 77.7, 777.7]
_INTEGER_LIMITS = [2147483647.0, -2147483648.0]  # what R and databases have for NA
CODES: Floats = np.array(
    sorted(
        {float(sign * value) for value in _DIGITS + _RESERVED + _FRACTIONS for sign in (-1, 1)}
        | set(_INTEGER_LIMITS)
    )
)
# Fewer other values say nothing about what is usual.
LEAST_OTHERS = 5


class Sentinel(NamedTuple):
    """A value that may stand for a missing one, and in how many cells it is."""

    value: float
    n_cells: int


def may_have_sentinels(low: Floats, high: Floats) -> Bools:
    """Which columns can hold a code beyond all their other values, by their extremes alone."""
    return np.isin(low, CODES) | np.isin(high, CODES)


def find_sentinels(values: Floats) -> list[Sentinel]:
    """Values of a column that are likely codes for missing ones.

    A code is a number like −9, −99, 999, 99.9 or 888 that lies beyond all values that are not such
    numbers. It is suspected

    - below zero where nothing else is: if it repeats, or has three digits or more;
    - elsewhere if it repeats, and the gap to the nearest other value is wider than all others are
      apart; three times as wide for codes of two digits, as 99 is among grades; for 7, 8 and 9,
      which may be counts or grades themselves, in three cells and five times as wide, as 9 is in a
      column of 0 and 1.

    Ages up to 99, counts, grades and scores do not have such gaps.

    Parameters
    ----------
    values : array of shape (n_samples,)
        NaN is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.suspects import find_sentinels
    >>> find_sentinels(np.array([0.4, 3.1, 2.2, -999, 1.0, 5.6]))
    [Sentinel(value=-999.0, n_cells=1)]
    >>> find_sentinels(np.array([97.0, 99, 99, 98, 71, 64, 55]))  # ages
    []
    """
    known = values[np.isfinite(values)]
    is_code = np.isin(known, CODES)
    others = known[~is_code]
    if len(others) < LEAST_OTHERS or not is_code.any():
        return []
    low, high = float(others.min()), float(others.max())
    codes, counts = np.unique(known[is_code], return_counts=True)
    return [
        Sentinel(float(code), int(count))
        for code, count in zip(codes, counts, strict=True)
        if is_suspect(float(code), int(count), low, high)
    ]


def is_suspect(code: float, count: int, low: float, high: float) -> bool:
    """Whether a code is one, given the extremes of the values that are not codes."""
    if low <= code <= high or low == high:
        return False
    if code < 0 <= low:
        return count >= 2 or abs(code) >= 100
    gap, width = max(low - code, code - high), high - low
    if abs(code) < 10:
        return count >= 3 and gap >= 5 * width
    return count >= 2 and gap > (3 * width if abs(code) < 100 else width)


def words_of(text: str) -> frozenset[str]:
    """The different words of a text."""
    return frozenset(text.split())


# Values far from all others

# So many values at most are far, if they are so many times as far from the others as these are from
# one another, and the others are so many different ones: ten times is what a wrong unit makes.
FAR, MOST_FAR, LEAST_DIFFERENT = 10.0, 3, 10
# Of values from zero on the logarithm, too, lies so many standard deviations beyond all others:
# skewed measurements have values ten times as far as the rest.
FAR_IN_LOGS = 3.5


def find_far(values: Floats) -> Ints:
    """The places of a few values that are by far larger or smaller than all others of a column.

    They are ten times as far from the rest as the whole rest is wide and, of values from zero on,
    so far in logarithms as well that skewed measurements and counts have none.

    Parameters
    ----------
    values : array of shape (n_samples,)
        NaN is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.suspects import find_far
    >>> find_far(np.r_[np.linspace(8, 17, 40), 135.0, np.nan])
    array([40])
    """
    known = np.flatnonzero(np.isfinite(values))
    order = known[np.argsort(values[known], kind="stable")]
    for sign in (1, -1):
        sorted_ = sign * values[order[::sign]]
        for n in range(1, MOST_FAR + 1):
            rest = sorted_[:-n]
            if len(rest) < LEAST_DIFFERENT:
                break
            is_far = sorted_[-n] - rest[-1] > FAR * (rest[-1] - rest[0]) > 0
            if not is_far or len(np.unique(rest)) < LEAST_DIFFERENT:
                continue
            if are_far_in_logs(sign * sorted_[-n:], sign * rest):
                return np.asarray(np.sort(order[::sign][-n:]))
    return np.empty(0, dtype=np.intp)


def are_far_in_logs(far: Floats, rest: Floats) -> bool:
    """Whether values are far from the rest in logarithms as well; below zero nothing has one.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.suspects import are_far_in_logs
    >>> hb, crp = np.linspace(8, 17, 40), np.exp(np.linspace(-4, 4, 40))
    >>> are_far_in_logs(np.array([135.0]), hb), are_far_in_logs(np.array([700.0]), crp)
    (True, False)
    """
    if min(far.min(), rest.min()) < 0:
        return True
    least = rest[rest > 0].min()
    logs = np.log(np.maximum(rest, least))
    with np.errstate(divide="ignore"):
        beyond = np.log(far)
    gap = max(beyond.min() - logs.max(), logs.min() - beyond.max())
    return bool(gap > FAR_IN_LOGS * logs.std())


def may_have_far(low: Floats, high: Floats, mean: Floats) -> Bools:
    """Which columns can have values far from all others, by their extremes and means alone."""
    with np.errstate(invalid="ignore"):
        above, below = high - mean, mean - low
        return np.asarray(np.maximum(above, below) > FAR / 2 * np.minimum(above, below))


# Names of samples
NAMES_SAMPLES = words_of(
    "id ids nr no number mrn case fall code key record accession patient subject sample "
    "specimen barcode index"
)

# Names of outcomes

# Parts of names, without accents. In English, German and French.
OUTCOMES = words_of("""
    survival survived survivor surv death dead died deceased alive mortality expired expire
    relapse relapsed recurrence recurred recurrent progression progressed event events
    outcome outcomes endpoint censor censored censoring cens followup lastfollowup fup los
    remission recist responder
    readmission readmitted readmit rehospitalization rehospitalisation mace
    stime survtime survivaltime timetoevent timetodeath ostime pfstime dfstime rfstime futime fustat
    deathdate
    tod todesdatum todesursache todesfall todesfalle todeszeitpunkt verstorben gestorben
    sterbedatum sterblichkeit mortalitat uberleben ueberleben uberlebenszeit ueberlebenszeit
    gesamtuberleben rezidiv rezidivfrei rezidivfreies ruckfall rueckfall
    ereignis endpunkt nachbeobachtung nachbeobachtungszeit liegedauer verweildauer wiederaufnahme
    deces decede decedee mort mortalite survie recidive rechute suivi evenement
    """)
# Several parts, one after the other.
PHRASES = tuple(
    tuple(phrase.split("_"))
    for phrase in sorted(
        words_of(
            """
            follow_up vital_status time_to days_to weeks_to months_to years_to length_of_stay
            last_contact lost_to p_cr best_response overall_response treatment_response
            response_status complete_response partial_response objective_response
            tumor_response tumour_response therapy_response
            duree_sejour duree_de_sejour delai_avant zeit_bis tage_bis monate_bis
            """
        )
    )
)
# Few names have one of these, so that few are compared with all phrases.
BEGIN_PHRASES = frozenset(phrase[0] for phrase in PHRASES)
# Overall, progression-free, disease-free survival, response: alone, or with what makes it clear.
ABBREVIATIONS = words_of(
    "os pfs dfs rfs efs dss mfs dmfs css ttp ttr ttd ttnt pfi dfi fu bcr orr response"
)
# Among so many features a name of a few such letters is that of a gene.
MANY_FEATURES, FEW_LETTERS = 100, 4
SHORT = frozenset(each for each in ABBREVIATIONS if len(each) <= FEW_LETTERS) | words_of(
    "cens fup los mace surv"
)
# "status" alone is one, and that of these; that of a receptor or of smoking is not.
ABOUT_STATUS = ABBREVIATIONS | frozenset(["patient", "last", "final", "disease"])
UNITS_OF_TIME = words_of("time day days week weeks month months year years event status")
# What a time beside it ends with.
ENDS = words_of("status event cens censor censored death dead died")
# Names of measurements with a word of outcomes.
NO_OUTCOMES = (("dead", "space"), ("event", "code"))
# What is known of each sample and may be what the tree is to explain: only as the whole name.
TARGETS = words_of("target targets label labels class classes diagnosis diagnose zielgrosse")
# Measurements and history that have such a word in their names.
MEASURED = words_of("""
    rate score index risk history family prior previous receptor ligand domain pathway gene cell
    cells programmed expression signature anamnese anamnesis frequency box helicase motif
    """)


def outcome_like(names: Sequence[str], n_features: int | None = None) -> list[bool]:
    """Which columns are called like an outcome or a time of follow-up.

    Names are compared part by part, as separators and capitals divide them: "OS.time" and
    "daysToDeath" are outcomes, "progesterone" and "er_status" are not. A column "time" is one if
    there is a "status" or "event" of an outcome beside it. Among more than 100 features (None: as
    many as names) an abbreviation alone, such as "EFS", is not one.

    Examples
    --------
    >>> from branchwise.data.suspects import outcome_like
    >>> outcome_like(["overall_survival_months", "progesterone", "er_status", "event_rate"])
    [True, False, False, False]
    """
    parts = [parts_of(name) for name in names]
    is_many = (len(names) if n_features is None else n_features) > MANY_FEATURES
    found = [
        is_outcome(each) and not (is_many and len(each) == 1 and each[0] in SHORT) for each in parts
    ]
    has_end = any(ENDS & {*each} for each, is_one in zip(parts, found, strict=True) if is_one)
    return [
        is_one or (has_end and each[:1] == ("time",) and {*each} <= UNITS_OF_TIME)
        for is_one, each in zip(found, parts, strict=True)
    ]


def is_target(name: str) -> bool:
    """Whether a column is called like what is known of the samples and to be explained.

    Examples
    --------
    >>> from branchwise.data.suspects import is_target
    >>> is_target("Diagnosis"), is_target("age_at_diagnosis")
    (True, False)
    """
    parts = parts_of(name)
    return len(parts) == 1 and parts[0] in TARGETS


def may_be_outcome(low: float, codes: Sequence[Sentinel]) -> bool:
    """Whether a column may hold states or times, by its least value and its likely codes.

    A score below zero is neither, but a code for a missing value says nothing of the others.

    Examples
    --------
    >>> from branchwise.data.suspects import Sentinel, may_be_outcome
    >>> may_be_outcome(-1.2, []), may_be_outcome(-99.0, [Sentinel(-99.0, 3)])
    (False, True)
    """
    return low >= 0 or any(code.value == low for code in codes)


def names_samples(name: str) -> bool:
    """Whether a column is called like one of names or numbers of samples.

    Examples
    --------
    >>> from branchwise.data.suspects import names_samples
    >>> names_samples("patientId"), names_samples("weight")
    (True, False)
    """
    return not NAMES_SAMPLES.isdisjoint(parts_of(name))


def parts_of(name: str) -> tuple[str, ...]:
    """The words of a name in lower case, without accents.

    Examples
    --------
    >>> from branchwise.data.suspects import parts_of
    >>> parts_of("daysToDeath"), parts_of("décès (date)")
    (('days', 'to', 'death'), ('deces', 'date'))
    """
    if name.isascii():
        plain = name
    else:
        folded = unicodedata.normalize("NFKD", name)
        plain = "".join(sign for sign in folded if not unicodedata.combining(sign))
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain)
    return tuple(re.findall(r"[^\W_]+", spaced.lower()))


def is_outcome(parts: tuple[str, ...]) -> bool:
    """Whether the words of a name are those of an outcome."""
    words = set(parts)
    if words & MEASURED or parts in NO_OUTCOMES:
        return False
    if any(word in OUTCOMES or word.rstrip("0123456789") in OUTCOMES for word in words):
        return True
    if words & ABBREVIATIONS and (len(parts) == 1 or words & UNITS_OF_TIME):
        return True
    if "status" in words and words <= {"status"} | ABOUT_STATUS:
        return True
    if words.isdisjoint(BEGIN_PHRASES):
        return False
    return any(
        parts[k : k + len(phrase)] == phrase for phrase in PHRASES for k in range(len(parts))
    )
