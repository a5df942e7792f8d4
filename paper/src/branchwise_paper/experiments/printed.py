"""What the paper prints: the sets of its table with their sizes, and their accuracies."""

# `tab:clustering`, row by row: leave-one-out accuracies of the nearest neighbour.
SETS = (
    "iris",
    "cmu_pie",
    "coil20",
    "isolet",
    "pendigits",
    "satimage",
    "usps",
    "vehicle",
    "segment",
    "letter",
)

_ROWS = {
    "LLE": (0.9467, 0.9655, 0.9965, 0.9298, 0.9760, 0.8570, 0.9013, 0.6537, 0.9623, 0.8960),
    "LE": (0.9133, 0.6248, 0.9833, 0.9368, 0.9714, 0.8586, 0.9023, 0.5981, 0.9398, 0.7436),
    "MVU": (0.6533, 0.4662, 0.7660, 0.8035, 0.9737, 0.8607, 0.7693, 0.5579, 0.9342, 0.6042),
    "KPCA": (0.9000, 0.2701, 0.5583, 0.7086, 0.9883, 0.8462, 0.3303, 0.5615, 0.9550, 0.8488),
    "GPLVM": (0.9333, 0.9787, 1.0000, 0.8410, 0.9866, 0.8884, 0.5944, 0.5898, 0.9688, 0.8974),
    "MEU": (0.8867, 0.9507, 1.0000, 0.9349, 0.9840, 0.8652, 0.9312, 0.6407, 0.9537, 0.1244),
    "SMCE": (0.9400, 0.9612, 1.0000, 0.9314, 0.9806, 0.8848, 0.9307, 0.6832, 0.9398, 0.8790),
    "tSNE": (0.9600, 0.9751, 1.0000, 0.9468, 0.9909, 0.9037, 0.9292, 0.6738, 0.9671, 0.9134),
    "SPL": (0.9600, 0.9805, 1.0000, 0.9497, 0.9943, 0.8938, 0.9317, 0.6915, 0.9680, 0.9054),
}

ACCURACIES = {
    (name, method): accuracy
    for method, row in _ROWS.items()
    for name, accuracy in zip(SETS, row, strict=True)
}

# Accuracies have four digits: the printed one may be this much above the true one.
ROUNDING = 0.5e-4


def printed_accuracy(dataset: str, method: str) -> float | None:
    """The accuracy in the paper's table, or None for what is not in it.

    Examples
    --------
    >>> from branchwise_paper.experiments.printed import printed_accuracy
    >>> printed_accuracy("iris", "SPL"), printed_accuracy("iris", "UMAP")
    (0.96, None)
    """
    return ACCURACIES.get((dataset, method))
