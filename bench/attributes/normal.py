"""Normal forms of attributes, made comparable: numbers as decimals, units without spelling variants, timings as tuples."""
import decimal

# times, period, longest period, unit, part of the day
TIMINGS = {"QD": (1, 1, None, "d", None), "BID": (2, 1, None, "d", None), "TID": (3, 1, None, "d", None), "QID": (4, 1, None, "d", None),
           "QOD": (1, 2, None, "d", None), "WK": (1, 1, None, "wk", None), "MO": (1, 1, None, "mo", None), "AM": (1, 1, None, "d", "am"),
           "PM": (1, 1, None, "d", "pm"), "BED": (1, 1, None, "d", "bed")}
PARTS_OF_DAY = {"hs": "bed", "night": "bed", "morn": "am", "eve": "pm", "aft": "pm"}
UNITS = {"mcg": "ug", "µg": "ug", "iu": "[iu]", "unit": "[iu]", "units": "[iu]", "mmhg": "mm[hg]", "bpm": "/min", "lb": "[lb_av]", "f": "[degf]", "degf": "[degf]", "c": "cel"}


def number(word):
    """A number without trailing zeros; other words stay."""
    try:
        return format(decimal.Decimal(word).normalize(), "f")
    except decimal.InvalidOperation:
        return word


def unit(text):
    return "/".join(UNITS.get(part, part) for part in text.split("/"))


def amount(text):
    """"49.0 mg/51 mg", "1..2 puff": each part's numbers and units."""
    parts = []
    for part in text.split("/"):
        figures, _, rest = part.partition(" ")
        parts.append((tuple(number(n) for n in figures.split("..")), unit(rest)))
    return tuple(parts)


def timing(value):
    if isinstance(value, str):
        code = value.upper()
        if code.startswith("Q") and code.endswith("H") and code[1:-1].isdigit():
            value = {"period": int(code[1:-1]), "unit": "h"}
        else:
            return TIMINGS.get(code, code)
    period, scale = value.get("period", 1), value.get("unit", "d")
    when = value.get("when")
    when = when and PARTS_OF_DAY.get(str(when).lower(), str(when).lower())
    times, longest = value.get("frequency", 1), value.get("period_max")
    if scale == "h" and longest is None and times == 1 and period in (12, 24):  # q12h is twice a day
        times, period, scale = 24 // period, 1, "d"
    return (times, period, longest, scale, when)


def comparable(name, value):
    """A form of a normal form that is equal for equal meanings; None for none."""
    if value is None:
        return None
    if name == "frequency":
        return timing(value)
    text = " ".join(str(value).lower().split())
    if name in ("strength", "dose"):
        return amount(text)
    if name == "unit":
        return UNITS.get(text, unit(text))
    if name in ("value", "range", "severity", "stage"):
        return tuple(tuple(number(n) for n in part.split("..")) for part in text.split("/"))
    return text
