"""The codes that joins found for concepts, and which of them stay."""

import collections

MATCHES = ("exact", "broader", "parts")
Code = collections.namedtuple("Code", "code match source rank")


class Found:
    """(concept, system) -> codes. A lower rank is better evidence; of equal codes the best one stays, with the names of all joins that gave it."""

    def __init__(self):
        self.codes = collections.defaultdict(dict)
        self.counts = collections.Counter()

    def add(self, id, system, code, match, source, rank):
        known = self.codes[id, system].get(code)
        if known is None:
            self.codes[id, system][code] = Code(code, match, (source,), rank)
            return
        best, other = (known, Code(code, match, (source,), rank)) if known.rank <= rank else (Code(code, match, (source,), rank), known)
        if best.match == other.match:
            best = best._replace(source=tuple(dict.fromkeys(best.source + other.source)))
        self.codes[id, system][code] = best

    def of(self, id, system):
        """The codes of a concept, the best first: exact before parts and broader."""
        return sorted(self.codes.get((id, system), {}).values(), key=lambda one: (MATCHES.index(one.match) == 1, one.rank, len(one.code), one.code))

    def drop(self, id, system, code, why):
        del self.codes[id, system][code]
        self.counts[f"{system}: {why}"] += 1

    def concepts(self, system):
        return [id for id, of in list(self.codes) if of == system and self.codes[id, of]]

    def owners(self, system, match="exact"):
        """code -> the concepts that have it with this match."""
        owners = collections.defaultdict(list)
        for id in self.concepts(system):
            for one in self.codes[id, system].values():
                if one.match == match:
                    owners[one.code].append(id)
        return owners
