"""The losses of SPL: what it costs an edge to give way (the function U of Sec. 3.2).

A loss answers what the dual `op:ebi-SW` asks of it: its cost, its bounds on the weights, and the
best weight of a single edge. `SPL` takes one as ``loss=``, by name:

- `Squared` ("squared"): C·ξ², the paper's own;
- `Absolute` ("absolute"): C·|ξ|, which bounds the weights;
- `Hard` ("hard"): no slack;
- `Equality` ("equality"): distances are kept from both sides.

A new one is a class in `losses.named`, beside its name: see `Loss`.
"""

from .base import Loss
from .named import NAMES, Absolute, Equality, Hard, Squared, as_loss

__all__ = ["NAMES", "Absolute", "Equality", "Hard", "Loss", "Squared", "as_loss"]
