//! The names that mentions are read as: the senses of short forms that a text does not define,
//! chosen by the words around them, the names that wordings stand for, names without results,
//! stages and forms of drugs, the preferred names of drugs, and other forms of names.
//!
//! The dictionary knows a British spelling as a name, but the encoder gives it a lower score than
//! the American one: in one text "haemophagocytosis" had a probability of 25 % instead of 93 %.

use super::Linker;
use pel_kb::ConceptId;
use pel_kb::group::Group;
use pel_text::Span;
use pel_text::abbreviations::Abbreviations;
use pel_text::code_systems::is_coded;
use pel_text::context::Heading;
use pel_text::detect::{Detected, Origin, in_american, is_common_word, normalise_name};
use pel_text::modifiers::{
    at_side, is_modifier, without_drug_form, without_last_number, without_modifiers, without_result,
};
use pel_text::senses::{SenseReader, Senses};
use pel_text::variants::variants;
use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

/// The ends of adjectives.
const ADJECTIVES: [&str; 7] = ["ic", "al", "ous", "ed", "ive", "ful", "en"];

impl Linker {
    /// Leaves out detected short forms that stand for no concept here ("97 % on RA" is room air),
    /// single letters and codes that are no name ("m/r/g", "I10"), code systems with their codes
    /// ("SNOMED 22298006"), and headings ("Neck:", "Allergies:", "RENAL:").
    pub(super) fn without_other_words(
        &self,
        text: &str,
        mut found: Vec<Detected>,
    ) -> Vec<Detected> {
        let reader = Senses::english().reader(text);
        let headings: HashMap<Span, Heading> = self.context_rules.headings(text).collect();
        let defined: LazyCell<HashSet<Span>, _> = LazyCell::new(|| {
            let abbreviations = Abbreviations::of(text);
            abbreviations.all().map(|(span, _)| span).collect()
        });
        found.retain(|detected| {
            let is_concept = || match reader.choose(detected.span) {
                // The text may define it otherwise.
                Some(sense) => sense.is_concept || defined.contains(&detected.span),
                None => {
                    let words = reader.text_of(detected.span).unwrap_or_default();
                    let is_bare = words.chars().nth(1).is_none() || is_code(words);
                    !is_bare || !self.named_concepts(words).is_empty()
                }
            };
            let is_heading = || {
                let Some(heading) = headings.get(&detected.span) else {
                    return false;
                };
                // "PE: lungs clear" is an examination.
                let words = reader.text_of(detected.span).unwrap_or_default();
                *heading == Heading::Section && !Senses::english().of(words).is_empty()
                    || is_no_mention(*heading, detected.group)
                    || detected.group == Some(Group::Problem) && self.is_body_part(words)
            };
            let is_coded = || {
                let is_name = detected.origin == Origin::Name;
                is_coded(text, detected.span, is_name)
            };
            detected.origin == Origin::Given || is_concept() && !is_heading() && !is_coded()
        });
        found
    }

    /// Whether a word is a name of parts of the body alone: "Pulm".
    fn is_body_part(&self, word: &str) -> bool {
        let concepts = self.named_concepts(word).into_iter();
        let mut groups = concepts
            .map(|id| Group::of(&self.concept(id).ok()?))
            .peekable();
        groups.peek().is_some() && groups.all(|group| group == Some(Group::Anatomy))
    }

    /// The name that the words of a mention are read as, and the concepts of that name in ascending
    /// order. `None` if they are read as they stand.
    pub(super) fn read(
        &self,
        detected: &Detected,
        words: &str,
        senses: &SenseReader<'_>,
    ) -> Option<(String, Vec<ConceptId>)> {
        if let Some(read) = self.read_at_side(detected, words, senses) {
            return Some(read);
        }
        let read = self
            .read_by_sense(detected, senses)
            .or_else(|| self.read_by_wording(words))
            .or_else(|| self.read_in_part(detected, words));
        read.map(|(name, concepts)| (name.to_owned(), concepts))
            .or_else(|| self.read_as_drug(detected, words))
            .or_else(|| self.read_written_out(detected, senses))
            .or_else(|| self.read_as_variant(words))
    }

    /// The name that a mention is another form of, and the concepts of that name: its American
    /// spelling, which the encoder knows better, or one of its [`variants`]. `None` if the mention
    /// is a name as it stands, or no variant is one.
    pub(super) fn read_as_variant(&self, mention: &str) -> Option<(String, Vec<ConceptId>)> {
        let is_name = |text: &str| {
            !self.bundle.dictionary.lookup(text).is_empty() || !self.added.named(text).is_empty()
        };
        if is_name(mention) {
            return None;
        }
        let name = match in_american(mention).filter(|own| is_name(own)) {
            Some(american) => american,
            None if !self.named_concepts(mention).is_empty() => return None,
            None => variants(mention)
                .into_iter()
                .find(|variant| is_name(variant))?,
        };
        let concepts = self.named_concepts(&name);
        Some((name, concepts))
    }

    /// The name that a finding with a place behind its side is another form of, and the concepts of
    /// that name: "cellulitis R foot" is cellulitis of the foot, and "AOM L ear" is otitis media.
    /// `None` if the mention has no side inside, is a name, or what is before the side is none.
    fn read_at_side(
        &self,
        detected: &Detected,
        mention: &str,
        senses: &SenseReader<'_>,
    ) -> Option<(String, Vec<ConceptId>)> {
        let (finding, place) = at_side(mention)?;
        if !detected.fragments.is_empty() || !self.named_concepts(mention).is_empty() {
            return None;
        }
        let start = detected.span.start;
        let sense = senses.choose(Span::new(start, start + finding.len()));
        let sense = sense.filter(|_| senses.text_of(detected.span) == Some(mention));
        match sense {
            Some(sense) if sense.is_concept => self
                .named_at_side(&sense.name, place)
                .or_else(|| Some((sense.name.clone(), Vec::new()))),
            Some(_) => None,
            None => self.named_at_side(finding, place),
        }
    }

    /// The name of a finding at a place, or of the finding alone, and the concepts of that name;
    /// `None` without one. An adjective is no finding ("hypertrophic left kidney").
    fn named_at_side(&self, finding: &str, place: &str) -> Option<(String, Vec<ConceptId>)> {
        let forms = [
            format!("{place} {finding}"),
            format!("{finding} of {place}"),
            format!("{finding} of the {place}"),
            format!("{finding} in {place}"),
        ];
        let named = |name: String| {
            let concepts = self.named_concepts(&name);
            (!concepts.is_empty()).then_some((name, concepts))
        };
        forms.into_iter().find_map(named).or_else(|| {
            if ADJECTIVES.iter().any(|end| finding.ends_with(end)) {
                return None;
            }
            let (name, concepts) = self
                .read_by_wording(finding)
                .unwrap_or_else(|| (finding, self.named_concepts(finding)));
            let is_name = !concepts.is_empty() && !self.is_short_form_alone(finding, &concepts);
            is_name.then(|| (name.to_owned(), concepts))
        })
    }

    /// Whether a word in small letters is a name of these concepts in capitals alone: "cuts", which
    /// is no "CuTS".
    fn is_short_form_alone(&self, word: &str, concepts: &[ConceptId]) -> bool {
        let has_capitals = |name: &str| name.chars().filter(|c| c.is_uppercase()).count() > 1;
        let concepts = concepts.iter().filter_map(|id| self.concept(*id).ok());
        let names: Vec<String> = concepts
            .flat_map(|concept| concept.names().map(str::to_owned).collect::<Vec<_>>())
            .filter(|name| name.eq_ignore_ascii_case(word))
            .collect();
        !has_capitals(word) && !names.is_empty() && names.iter().all(|name| has_capitals(name))
    }

    /// A mention of several words with the short forms in it written out: "substernal CP" is
    /// substernal chest pain. `None` if it is a name, or has none. Those with which longer names begin
    /// ("MRI of the knee") stay unless they are the last word, and so do those of limbs, which say
    /// where it is.
    fn read_written_out(
        &self,
        detected: &Detected,
        reader: &SenseReader<'_>,
    ) -> Option<(String, Vec<ConceptId>)> {
        let mention = reader.text_of(detected.span)?;
        if !mention.contains(char::is_whitespace) || !self.named_concepts(mention).is_empty() {
            return None;
        }
        let mut is_written_out = false;
        let words = mention.split_whitespace().map(|word| {
            let start = detected.span.start + (word.as_ptr() as usize - mention.as_ptr() as usize);
            let sense = reader.choose(Span::new(start, start + word.len()));
            let is_last = start + word.len() == detected.span.end;
            let is_known = || !is_last && self.bundle.dictionary.begins_longer_name(word);
            match sense {
                Some(sense) if sense.is_concept && !is_modifier(word) && !is_known() => {
                    is_written_out = true;
                    sense.name.as_str()
                }
                _ => word,
            }
        });
        let words: Vec<&str> = words.collect();
        let text = words.join(" ");
        if !is_written_out {
            return None;
        }
        let named = self.named_concepts(&text);
        if !named.is_empty() {
            return Some((text, named));
        }
        if let Some((name, concepts)) = self.read_by_wording(&text) {
            return Some((name.to_owned(), concepts));
        }
        let at_side =
            at_side(&text).and_then(|(finding, place)| self.named_at_side(finding, place));
        Some(at_side.unwrap_or((text, named)))
    }

    /// The long form of a short form that the words around it show, and the concepts of that name:
    /// of these, those that bear the short form too, if there are some. Results, and words of side
    /// and severity, may be beside it ("HD x2", "severe MR"). `None` if the text does not tell its
    /// senses apart, or the knowledge base has no concept of that name.
    fn read_by_sense<'t>(
        &self,
        detected: &Detected,
        reader: &SenseReader<'t>,
    ) -> Option<(&'t str, Vec<ConceptId>)> {
        let mention = reader.text_of(detected.span)?;
        let drug = || without_drug_form(mention).map(|drug| without_result(drug).unwrap_or(drug));
        let forms = [
            Some(mention),
            without_result(mention),
            without_modifiers(mention),
            drug(),
        ];
        // A form is a part of the mention.
        let sense_of = |form: &'t str| {
            let start = detected.span.start + (form.as_ptr() as usize - mention.as_ptr() as usize);
            Some((form, reader.choose(Span::new(start, start + form.len()))?))
        };
        let (form, sense) = forms.into_iter().flatten().find_map(sense_of)?;
        let named = self.named_concepts(&sense.name);
        if !sense.is_concept || named.is_empty() {
            return None;
        }
        let bearers = self.named_concepts(form);
        let both: Vec<ConceptId> = named
            .iter()
            .copied()
            .filter(|concept| bearers.binary_search(concept).is_ok())
            .collect();
        Some((&sense.name, if both.is_empty() { named } else { both }))
    }

    /// The name that a mention is a wording of, and the concepts of all such names in ascending
    /// order: if the mention is itself a name, those that bear it. `None` if it is a name of other
    /// concepts alone, or no wording of a name of the knowledge base.
    pub(super) fn read_by_wording(&self, mention: &str) -> Option<(&str, Vec<ConceptId>)> {
        let mut bearers = self.bundle.dictionary.lookup(mention);
        bearers.extend(self.added.named(mention));
        let (mut first, mut concepts) = (None, Vec::new());
        for name in self.bundle.wordings().names_of(mention) {
            let mut named = self.named_concepts(name);
            named.retain(|concept| bearers.is_empty() || bearers.contains(concept));
            if !named.is_empty() {
                first = first.or(Some(name));
                concepts.extend(named);
            }
        }
        concepts.sort_unstable();
        concepts.dedup();
        Some((first?, concepts))
    }

    /// What a mention names without a result, a count or a stage, or the drug that it names
    /// together with its form, route, strength or frequency; and the concepts of that name. `None`
    /// if the whole mention is a name, or what is left is none, or another thing than a drug.
    fn read_in_part<'a>(
        &'a self,
        detected: &Detected,
        mention: &'a str,
    ) -> Option<(&'a str, Vec<ConceptId>)> {
        let has_values = matches!(detected.group, Some(Group::Measurement | Group::Drug));
        let number = || without_last_number(mention).filter(|_| has_values);
        let result = without_result(mention).or_else(number);
        let form = without_drug_form(mention).map(|drug| without_result(drug).unwrap_or(drug));
        if result.or(form).is_none() || !self.named_concepts(mention).is_empty() {
            return None;
        }
        let is_drug = |concept: &ConceptId| {
            let concept = self.concept(*concept);
            concept.is_ok_and(|concept| Group::of(&concept) == Some(Group::Drug))
        };
        let named = |name: &'a str| match self.named_concepts(name) {
            named if named.is_empty() => self.read_by_wording(name).unwrap_or((name, named)),
            named => (name, named),
        };
        let by_result = result.map(named);
        let by_form = form
            .map(named)
            .filter(|(_, named)| named.iter().all(is_drug));
        let has_concept = |(_, named): &(&str, Vec<ConceptId>)| !named.is_empty();
        by_result
            .filter(has_concept)
            .or(by_form.filter(has_concept))
    }

    /// The preferred name of the only drug that a word names ("Jardiance"), if the detector has taken
    /// it for a drug, or the word is capitalised and no common one. Its letters tell the encoder
    /// little, so the score of a brand would be low.
    fn read_as_drug(&self, detected: &Detected, mention: &str) -> Option<(String, Vec<ConceptId>)> {
        let is_brand = || mention.starts_with(char::is_uppercase) && !is_common_word(mention);
        if mention.contains(char::is_whitespace)
            || detected.group != Some(Group::Drug) && !is_brand()
        {
            return None;
        }
        let named = self.named_concepts(mention);
        let [only] = named[..] else {
            return None;
        };
        // The output reports a damaged record when it names the concept.
        let concept = self.concept(only).ok()?;
        let is_other = normalise_name(&concept.name) != normalise_name(mention);
        let is_drug = Group::of(&concept) == Some(Group::Drug);
        (is_drug && is_other).then_some((concept.name, named))
    }
}

/// Whether a word is a code of ICD-10: "I10", "M17.11". T10 to T12 are vertebrae.
fn is_code(word: &str) -> bool {
    let (category, rest) = word.split_once('.').unwrap_or((word, ""));
    let digits = category.strip_prefix(|c: char| c.is_ascii_uppercase());
    let is_category = digits.is_some_and(|d| d.len() == 2 && d.bytes().all(|b| b.is_ascii_digit()));
    is_category && !category.starts_with("T1") && rest.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Whether a heading states nothing of the patient. Headings of tests and procedures have their
/// result behind them ("EKG: sinus rhythm"), and those of habits their answer ("Tobacco: never").
fn is_no_mention(heading: Heading, group: Option<Group>) -> bool {
    match group {
        None | Some(Group::Measurement | Group::Procedure | Group::Device) => false,
        Some(Group::Anatomy) => true,
        Some(Group::Problem) => heading == Heading::Section,
        Some(_) => heading != Heading::Unknown,
    }
}
