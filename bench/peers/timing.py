"""How a time is taken, for every engine alike."""

import statistics
import time

# Threads of the engine before may still wait for work in a loop; here they go to sleep.
SETTLE_SECONDS = 0.2


def timed(run, seconds):
    """Median seconds of one run: one run to warm up, then at least three, until the time is used."""
    time.sleep(SETTLE_SECONDS)
    run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
