"""Names that are ordinary words, or that texts use in another sense than their concept.

Counts of English words are those of Google Books (symspellpy). Webster's dictionary of 1934
(english-words) tells words that are older than the drugs of today. People's names come from the
census (the program's own list).
"""

import collections
import re

from names import shares_a_word, words_of

# Such a word occurs about once in a million words of books.
EVERYDAY_COUNT = 200_000
# A word this much more frequent in notes than in books is a clinical one.
CLINICAL_SHARE, LEAST_IN_NOTES = 15, 3
# A brand among these words stays if texts write it with a capital this often.
LEAST_CAPITALS, CAPITALS_SHARE = 2, 0.9


def english_counts(lines):
    """word -> its count, of lines of a word and a count."""
    return {word: int(count) for word, count in (line.split()[:2] for line in lines if line)}


def unpacked(lines):
    """The words of a front-coded list: a capital letter is the length of the prefix that a word
    shares with the one before (A is 0)."""
    words, before = set(), ""
    for code, rest in re.findall("([A-Z])([a-z]*)", "".join(lines)):
        before = before[:ord(code) - ord("A")] + rest
        words.add(before)
    return words


class English:
    """What everyday English and texts know of a word."""

    def __init__(self, counts, webster, given_names, abstracts, notes):
        self.counts, self.given_names = counts, given_names
        self.webster = {word.lower() for word in webster}
        self.capital, self.small = collections.Counter(), collections.Counter()
        self.in_notes = collections.Counter(
            word for text in notes for word in re.findall(r"[a-z]+", text.lower()))
        self.words_of_notes, self.words_of_books = sum(self.in_notes.values()), sum(counts.values())
        for text in (*abstracts, *notes):
            for word in re.findall(r"[A-Za-z]{4,}", text):
                (self.capital if word[:1].isupper() else self.small)[word.lower()] += 1

    def is_word(self, word):
        """Whether everyday English has the word, as `today`, `water`."""
        return self.counts.get(word, 0) >= EVERYDAY_COUNT

    def is_clinical(self, word):
        """Whether notes have the word far more often than books: `numbness`, not `education`."""
        count = self.in_notes[word]
        in_books = self.counts.get(word, 0) / self.words_of_books
        return count >= LEAST_IN_NOTES and count / self.words_of_notes >= CLINICAL_SHARE * in_books

    def is_everyday(self, word):
        """Whether a word alone is everyday English and not a clinical word."""
        return self.is_word(word) and not self.is_clinical(word)

    def is_old_word(self, word):
        """Whether the word, or the one it is a plural of, was English in 1934."""
        return word in self.webster or word.endswith("s") and word[:-1] in self.webster

    def is_no_brand(self, brand):
        """Whether a brand is an everyday word or a person's given name, and not only the name of a
        drug: `Today`, `Heather`. Two kinds of words are brands after all: those that texts write
        with a capital (`Zyrtec`), and those that came into English as brands (`Valium`)."""
        if brand in self.given_names:
            return True
        if not self.is_word(brand):
            return False
        capital, small = self.capital[brand], self.small[brand]
        if capital >= LEAST_CAPITALS and capital >= CAPITALS_SHARE * (capital + small):
            return False
        return small > 0 or self.is_old_word(brand)


def acronyms_that_are_words(pool, documents):
    """Names in capitals, lower-cased, that texts write in lower case more often: WAS, CAN, ARC ..."""
    wanted = {name for concept in pool for name in concept["names"] if re.fullmatch(r"[A-Z]{3,6}s?", name)}
    upper, lower = collections.Counter(), collections.Counter()
    small = {name.lower() for name in wanted}
    for document in documents:
        if document["casing"] == "original":
            for word in re.findall(r"[A-Za-z]+", document["text"]):
                if word in wanted:
                    upper[word.lower()] += 1
                elif word in small:
                    lower[word] += 1
    return {name for name in small if lower[name] > upper[name]}


# The least number of documents with the word outside any mention. Annotators would have linked it if it meant the concept.
ENOUGH_DOCUMENTS = 3


def words_of_other_sense(pool, mentions, documents):
    """(id, word) for one-word names that texts use in another sense.

    MedMentions is annotated exhaustively. So a word that annotators linked to other concepts and never to this one is no name of
    it there (`midline` of the second vertebra), nor is one that stands by itself, in no longer mention, in several documents and
    that they linked to nothing (`abolished` of negative regulation). Words that share a stem with the label stay, and so do words of
    the definition that were linked to nothing.
    """
    suspects = collections.defaultdict(set)
    for concept in pool:
        if re.fullmatch(r"C\d{7}", concept["id"]):
            for name in concept["names"][1:]:
                if re.fullmatch(r"[A-Z]?[a-z]+", name) and not shares_a_word(name, concept["names"][0]):
                    suspects[name.lower()].add(concept["id"])
    definitions = {concept["id"]: set(words_of(concept["definition"] or "")) for concept in pool}
    linked, spans = collections.defaultdict(set), collections.defaultdict(list)
    for mention in mentions:
        linked[mention["text"].lower()].add(mention["cui"])
        spans[mention["doc_id"]].append((mention["start"], mention["end"]))
    alone = collections.Counter()
    for document in documents:
        inside = spans.get(document["doc_id"])
        if inside is None:
            continue
        found = set()
        for match in re.finditer(r"(?<![\w-])[A-Za-z][a-z]+(?![\w-])", document["text"]):
            word = match.group().lower()
            if word in suspects and word not in found and not any(
                    start <= match.start() and match.end() <= end and end - start > len(word) for start, end in inside):
                found.add(word)
        alone.update(found)
    return {(id, word) for word, ids in suspects.items() for id in ids
            if id not in linked[word] and (linked[word] or alone[word] >= ENOUGH_DOCUMENTS and word not in definitions[id])}


def quality_words(pool):
    """(id, word) for one-word names from PATO of a thing, process or disease: `triangular`, `arrested`. PATO's terms are qualities,
    which were merged with other concepts by mistake; they share no stem with the label."""
    return {(concept["id"], name.lower()) for concept in pool
            if "PATO" in concept["sources"] and concept["kind"] != "Sign or symptom" and set(concept["sources"]) != {"PATO"}
            for name in concept["names"][1:]
            if re.fullmatch(r"[a-z]+", name) and not shares_a_word(name, concept["names"][0])}


def organisms_of(concepts):
    """The names, lower-cased, of concepts that MedMentions types as organisms."""
    return {name.lower() for concept in concepts if concept["types"][:1] == ["Eukaryote"] for name in [concept["name"], *concept["synonyms"]]}


# Words that are labels of concepts, but have another sense in notes.
EVERYDAY = set("""
    abnormal absence absent acid acquired action active activity acute adrenal adult ageing agent aging air all
    anterior application art association attention awareness back base behavior behaviour binding biomarker body
    care case cases cast cavity cell cells central change changes child children chronic clear clinic cold color
    colour complaint compliance complication complications condition conditions control cool cortical course cut
    dark day decrease decreased degradation dependence development diagnosis differentiation digestion digital
    direction discharge disease diseases disorder disorders distal distance domain double drive drug drugs dry
    duration education end ends event events exposure expressed expression extracellular factor factors family
    fear feature feedback female fiber field finding firm fixed flat focus follow food form frequency fresh
    function gas giant group growth hard height high history home hospital hot hour hours house illness image images
    impact increase increased inferior infiltration inner invasive ion ions irregular language large lateral lead
    learning lectures left length level levels light limited line lines localization long loss low low-grade lower
    male man maps mass medial medication medications medicine memory men met metabolic metabolism method methods
    middle mild minute mobile model moderate month months mortality motility movement negative new none normal
    number nurse old onset open oral order organ other outer pale part pathway pathways patient patients pattern
    people perception peripheral person physician place plan play point pore position positive posterior presence
    present problem process prognosis progression proximal quality quantity rate ratio read recurrence refractory region
    regression regular relapse replication report research response rest result results review right risk role
    roles round salt scale scales school sensitive sensitivity set severe sex shape shell sign signaling signature
    signs single size small smoke smooth soft sound speed stable stage state states stem strength stress structure
    study superior surface surgeons symptom symptoms syndrome synthesis table tables test therapeutics therapy
    thing time tip tissue tissues total trace transport trauma treatment trunk tube unit units unstable upper
    vessel voice volume walker wall warm water wave week weeks weight well wet withdrawal woman women work year
    years young
""".split()) | {"anatomical structure", "finding by site", "neoplasm by site"}
