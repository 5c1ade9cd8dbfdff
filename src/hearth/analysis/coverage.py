"""How much of each interval of time something was going on, in a bounded number of intervals."""

MOST_BINS = 2000


class Coverage:
    """Sums spans of time into equal bins; the bins widen as the run grows.

    Starts with bins of `step_ms`; whenever a span ends beyond the last of MOST_BINS bins, two
    neighbours become one. Adding costs the same however long a span is: its two ends are summed
    apart, what lies between is kept as a difference. Times are milliseconds since `origin_ms`.
    """

    def __init__(self, origin_ms: int, step_ms: int = 100) -> None:
        self.origin_ms = origin_ms
        self.step_ms = step_ms
        self._ends = [0.0] * MOST_BINS
        self._whole = [0.0] * (MOST_BINS + 1)
        self._last_ms = 0

    def add(self, start_ms: int, end_ms: int, weight: float = 1.0) -> None:
        """Count one span; what lies before the origin is not counted."""
        start = max(start_ms - self.origin_ms, 0)
        end = end_ms - self.origin_ms
        if end <= start:
            return
        self.reach(end_ms)
        self._last_ms = max(self._last_ms, end)
        step = self.step_ms
        first, last = start // step, end // step
        if first == last:
            self._ends[first] += (end - start) * weight
            return
        self._ends[first] += ((first + 1) * step - start) * weight
        self._ends[last] += (end - last * step) * weight
        self._whole[first + 1] += weight
        self._whole[last] -= weight

    def reach(self, end_ms: int) -> None:
        """Widen the bins until they hold a time."""
        while end_ms - self.origin_ms >= self.step_ms * MOST_BINS:
            self._widen()

    def covered_ms(self) -> list[float]:
        """Return weighted milliseconds covered in each bin up to the last span's end."""
        sums, running = [], 0.0
        for ends, change in zip(self._ends, self._whole, strict=False):
            running += change
            sums.append(ends + running * self.step_ms)
        return sums[: -(-self._last_ms // self.step_ms)]

    def means(self) -> list[float]:
        """Return the mean number of spans going on in each bin."""
        return [covered / self.step_ms for covered in self.covered_ms()]

    def _widen(self) -> None:
        covered = self.covered_ms()
        covered += [0.0] * (MOST_BINS - len(covered))
        pairs = [a + b for a, b in zip(covered[::2], covered[1::2], strict=True)]
        self._ends = pairs + [0.0] * (MOST_BINS - len(pairs))
        self._whole = [0.0] * (MOST_BINS + 1)
        self.step_ms *= 2
