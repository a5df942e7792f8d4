"""The only home of private or version-dependent imports."""

from sklearn.utils._param_validation import (
    Interval,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)

__all__ = ["Interval", "RealNotInt", "StrOptions", "validate_parameter_constraints"]
