"""Quantiles of many values in little memory: counts in buckets of bounded relative width."""

_MANTISSA_BITS = 8


class Histogram:
    """Counts of whole, non-negative numbers; exact below 256, within 0.4 % above.

    A bucket above 255 keeps the eight leading bits of its values, so it is at most 1/128 wide and
    its middle at most 1/256 away. The number of buckets grows with the logarithm of the largest
    value (about 128 for each doubling), never with the number of values.
    """

    __slots__ = ("_counts", "count", "maximum")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.count = 0
        self.maximum = 0

    def add(self, value: int) -> None:
        """Count one value; a negative one (a clock that jumped) counts as zero."""
        value = max(value, 0)
        shift = value.bit_length() - _MANTISSA_BITS
        key = value if shift <= 0 else (value >> shift) << shift
        self._counts[key] = self._counts.get(key, 0) + 1
        self.count += 1
        self.maximum = max(self.maximum, value)

    def quantile(self, share: float) -> float | None:
        """Return the smallest value that at least `share` of all do not exceed; None where there is
        none.

        Nearest rank, as the middle of its bucket.
        """
        rank = share * self.count
        passed = 0
        for key in sorted(self._counts):
            passed += self._counts[key]
            if passed >= rank:
                shift = key.bit_length() - _MANTISSA_BITS
                middle = key if shift <= 0 else key + ((1 << shift) - 1) / 2
                return float(min(middle, self.maximum))
        return None

    def above(self, limit: float) -> int:
        """Return how many values lie above a limit, to the accuracy of the buckets."""
        return sum(n for key, n in self._counts.items() if key > limit)
