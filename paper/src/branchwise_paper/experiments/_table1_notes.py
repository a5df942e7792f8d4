"""What may make a method differ from the paper's row, as far as is known."""

NOTES = {
    "LLE": (
        "Where the neighbour graph falls into parts, the toolbox that the paper names embeds the "
        "largest one; here all samples stay, and the parts are joined."
    ),
    "LE": "Parts of the neighbour graph are joined, as for LLE; the unit of sigma is not printed.",
    "MVU": (
        "The paper reports that its semidefinite program ran out of memory on the teapot, and does "
        "not say how it embedded thousands of samples. Here the program itself is solved, though "
        "fits with many neighbours stop short of their tolerance (`table1_fits.csv` has their "
        "warnings)."
    ),
    "KPCA": (
        "It has one parameter, sigma, and no randomness: a difference means other data or another "
        "sigma. But where distances are large beside sigma, on Isolet and USPS, the kernel matrix "
        "is nearly the identity, and rounding picks among its eigenvectors."
    ),
    "GPLVM": (
        "At its maximum the linear GPLVM is PCA with other lengths of the axes. A published "
        "version of the toolbox that the paper names has a Gaussian kernel and hands its "
        "likelihood to a minimiser; where its determinant underflows it returns PCA unchanged, "
        "and elsewhere it moves away. That the paper ran this version is inferred from the row, "
        "not known."
    ),
    "MEU": "The breadth of the base density is not printed.",
    "SMCE": (
        "The codes are optimal to rounding; how the paper made weights symmetric and coordinates "
        "of eigenvectors is not printed, and moves accuracies by some percent."
    ),
    "tSNE": "A local optimum, which depends on start and schedule.",
}
