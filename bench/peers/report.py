"""Ratios with their targets, as tables and as rows for the raw JSON."""

import dataclasses


@dataclasses.dataclass
class Comparison:
    """Two times of the same work; below a ratio of 1, pel is faster."""

    what: str
    unit: str
    ours: float | None
    peer: str
    theirs: float
    target: float | None = None

    @property
    def ratio(self):
        return None if self.ours is None else self.ours / self.theirs

    @property
    def said(self):
        if self.ratio is None or self.target is None:
            return "-"
        return "ok" if self.ratio <= self.target else "above"


@dataclasses.dataclass
class Check:
    """A figure of pel with its target; `least`: the target is a minimum."""

    what: str
    value: float
    target: float | None = None
    least: bool = False

    @property
    def said(self):
        if self.target is None:
            return "-"
        if self.least:
            return "ok" if self.value >= self.target else "below"
        return "ok" if self.value <= self.target else "above"


def table(head, rows):
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    for row in [head, ["-" * width for width in widths], *rows]:
        print("  ".join(cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(zip(row, widths))).rstrip())
    print()


def figure(value):
    return "-" if value is None else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def report(comparisons, checks):
    if comparisons:
        print("Time of pel divided by time of the peer: below 1, pel is faster.\n")
        rows = [[one.what, one.unit, figure(one.ours), one.peer, figure(one.theirs), "-" if one.ratio is None else f"{one.ratio:.2f}",
                 figure(one.target), one.said] for one in comparisons]
        table(["", "unit", "pel", "peer", "its time", "ratio", "target", ""], rows)
    if checks:
        wanted = [("at least " if one.least else "at most ") + f"{one.target:g}" if one.target is not None else "-" for one in checks]
        table(["", "pel", "target", ""],
              [[one.what, f"{one.value:.4g}", target, one.said] for one, target in zip(checks, wanted)])


def raw(comparisons, checks):
    return {
        "comparisons": [dataclasses.asdict(one) | {"ratio": one.ratio, "said": one.said} for one in comparisons],
        "checks": [dataclasses.asdict(one) | {"said": one.said} for one in checks],
    }
