"""Timing, equal for every engine."""

import statistics
import time

# Threads of the previous engine may still spin; this time lets them sleep.
SETTLE_SECONDS = 0.2


def timed(run, seconds):
    """Median seconds of one run: after one warm-up run, at least three runs, until the time is used."""
    time.sleep(SETTLE_SECONDS)
    run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
