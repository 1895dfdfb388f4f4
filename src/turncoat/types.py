"""Type aliases that every layer shares: arrays as kernels take them, seeds, and the labels of arms."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.float64]  # over any axes
Ints: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Seed: TypeAlias = int | np.random.SeedSequence | None
Label: TypeAlias = int | str
Point: TypeAlias = tuple[float, ...]
