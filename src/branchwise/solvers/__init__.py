"""The algorithms, as pure functions of arrays, in the paper's notation."""
