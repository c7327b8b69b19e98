//! Which mention an attribute is said of.

use super::lexer::Kind as Lexical;
use super::matcher::{Hit, Note};
use super::rules::{Direction, Rules, Section};
use super::{AttributeName, Kind};
use crate::context::Border;

/// The tokens between a verb and its mention at most.
const MAX_VERB: usize = 16;
/// The tokens between an attribute and the mention behind it, where no other is before it.
const MAX_AHEAD: usize = 8;
/// The sentences that a mention goes on through at most.
const MAX_CARRIED: usize = 3;
/// The letters of a short name such as "PPBS" at most.
const MAX_SHORT_NAME: usize = 5;
/// The mentions of a list at most.
const MAX_LIST: usize = 16;

/// The classes of the rules that tell which mention an attribute is said of.
#[derive(Clone, Copy)]
struct Classes {
    /// Words between the mentions of a list: "," and "and".
    joining: Option<u16>,
    /// Words that may stand between an attribute and its mention: "of", "the".
    linking: Option<u16>,
    /// Words that go on about the mention of the sentence before: "it", "her dosage".
    referring: Option<u16>,
    /// Words that begin a line about the mention of the line before: "take".
    continuing: Option<u16>,
    /// Words between a panel and its first test: "showed".
    showing: Option<u16>,
}

/// The mentions of some kinds, in order.
struct Family {
    /// The numbers of the mentions.
    order: Vec<u32>,
}

/// Finds mentions for attributes.
pub(super) struct Attacher<'n, 't> {
    note: &'n Note<'t>,
    classes: Classes,
    families: Vec<Family>,
    /// Whether an attribute is at a token.
    covered: Vec<bool>,
    /// The families that a verb at a token is of, one bit each.
    verbs: Vec<u64>,
    /// The number of tokens before each that join mentions and are no attribute.
    joints: Vec<u32>,
    /// The number of tokens before each that may not stand between an attribute and its mention.
    strangers: Vec<u32>,
    /// The number of tokens before each that refer to a mention before.
    references: Vec<u32>,
    /// The number of tokens before each that are said of a panel.
    panels: Vec<u32>,
    /// The first token of each sentence.
    sentences: Vec<usize>,
    /// The first token of each hit of each section, in order.
    starts: Vec<Vec<usize>>,
}

/// A place of attributes with its mentions.
pub(super) struct Attached {
    /// The number of the hit.
    pub hit: usize,
    /// The mentions.
    pub mentions: Vec<u32>,
    /// How far the nearest mention is: nearer ones are less.
    pub distance: Distance,
}

/// The sentences between an attribute and a mention; the tokens that are neither attributes nor words
/// of linking; whether the mention is behind; all tokens. In "apixaban 5 mg bid for 3 days for DVT" the
/// days are the drug's.
pub(super) type Distance = (usize, u32, bool, usize);

impl<'n, 't> Attacher<'n, 't> {
    pub fn new(note: &'n Note<'t>, hits: &[Hit]) -> Self {
        let rules: &Rules = note.rules;
        let mut covered = vec![false; note.lexemes.len()];
        let mut verbs = vec![0; note.lexemes.len()];
        let mut panels = vec![false; note.lexemes.len()];
        for hit in hits {
            let end = hit.end.min(covered.len());
            // The comma of "In 2013, she" is no attribute.
            let last = end.checked_sub(1).filter(|last| *last > hit.first);
            let comma = last.filter(|last| note.lexemes[*last].kind == Lexical::Mark(','));
            if let Some(tokens) = covered.get_mut(hit.first..comma.unwrap_or(end)) {
                tokens.fill(true);
            }
            let section = rules.sections.get(hit.section);
            let is_verb = |section: &&Section| {
                matches!(section.direction, Direction::Forward | Direction::Backward)
            };
            let verb = section.filter(is_verb).map_or(0, bit_of);
            for of_token in verbs.get_mut(hit.first..end).unwrap_or_default() {
                *of_token |= verb;
            }
            let panel = section.is_some_and(|section| section.panel);
            if let Some(tokens) = panels.get_mut(hit.first..end).filter(|_| panel) {
                tokens.fill(true);
            }
        }
        let mut starts = vec![Vec::new(); rules.sections.len()];
        for hit in hits {
            if let Some(of_section) = starts.get_mut(hit.section) {
                of_section.push(hit.first);
            }
        }
        let mut sentences: Vec<usize> = Vec::new();
        for (at, token) in note.lexemes.iter().enumerate() {
            if token.sentence as usize >= sentences.len() {
                sentences.push(at);
            }
        }
        let classes = Classes {
            joining: rules.class("joining"),
            linking: rules.class("linking"),
            referring: rules.class("referring"),
            continuing: rules.class("continuing"),
            showing: rules.class("showing"),
        };
        let joins = |at: usize| note.has(at, classes.joining) && !covered[at];
        let joints = sums(covered.len(), joins);
        // "Stent to LAD 3/2022."
        let is_site = |at: usize| {
            let anchor = note.lexemes[at].anchor;
            let mention = anchor.and_then(|index| note.mentions.get(index as usize));
            mention.is_some_and(|mention| mention.kind == Kind::Other)
        };
        let strange = |at: usize| !covered[at] && !note.has(at, classes.linking) && !is_site(at);
        let strangers = sums(covered.len(), strange);
        let references = sums(covered.len(), |at| note.has(at, classes.referring));
        let panels = sums(covered.len(), |at| panels[at]);
        let families = rules.families.iter();
        let families = families.map(|family| Family::new(note, &family.kinds));
        Self {
            note,
            classes,
            families: families.collect(),
            covered,
            verbs,
            joints,
            strangers,
            references,
            panels,
            sentences,
            starts,
        }
    }

    /// The mentions that a hit is said of.
    pub fn attach(&self, number: usize, hit: &Hit) -> Option<Attached> {
        let section = self.note.rules.sections.get(hit.section)?;
        let family = self.families.get(section.family)?;
        if let Some(mention) = hit.inside {
            let kinds = &self.note.rules.families.get(section.family)?.kinds;
            let mention_of = self.note.mentions.get(mention as usize)?;
            let own = section.inside && kinds.contains(&mention_of.kind);
            if !own && mention_of.kind == Kind::Other {
                return self.of_site(family, (number, hit), mention_of.first);
            }
            return own.then(|| Attached {
                hit: number,
                mentions: vec![mention],
                distance: Distance::default(),
            });
        }
        if let Some(last) = hit.mentions.last() {
            let mut mentions = hit.mentions.clone();
            let first = self.note.mentions.get(*last as usize)?.first;
            let at = family.after(self.note, first);
            if section.list && section.direction == Direction::Forward {
                self.extend(family, (section, hit), at, true, &mut mentions);
            }
            return Some(Attached {
                hit: number,
                mentions,
                distance: Distance::default(),
            });
        }
        let (left, right) = (self.left(family, hit), self.right(family, hit));
        let nearest = match section.direction {
            Direction::Forward => self.forward(hit, left, right),
            Direction::Backward => left
                .filter(|at| self.gap_left(family, *at, hit) <= MAX_VERB)
                .or_else(|| self.forward(hit, None, right)),
            Direction::Near => self.near(family, hit, left, right),
            Direction::Before => self.before(family, hit, left, right),
        };
        let (at, sentences) = match nearest {
            Some(at) => (at, 0),
            None if section.carried => self.carried(family, hit)?,
            None => return None,
        };
        let mention = self.note.mentions[family.order[at] as usize];
        let behind = mention.first >= hit.end;
        let (from, to) = match behind {
            true => (hit.end, mention.first),
            false => (mention.end, hit.first),
        };
        let tokens = to.saturating_sub(from);
        let strangers = count(&self.strangers, from, to);
        let mut mentions = vec![family.order[at]];
        if section.list && sentences == 0 {
            self.extend(family, (section, hit), at, behind, &mut mentions);
        }
        if section.panel && sentences == 0 {
            self.extend_panel(family, section, hit, at, &mut mentions);
        }
        Some(Attached {
            hit: number,
            mentions,
            distance: (sentences, strangers, behind, tokens),
        })
    }

    /// The mention before a part of the body, whose side is the mention's, too: "pain in the left knee".
    fn of_site(
        &self,
        family: &Family,
        (number, hit): (usize, &Hit),
        site: usize,
    ) -> Option<Attached> {
        let mut names = hit.attributes.iter().map(|attribute| attribute.name);
        let at = self.left(family, hit)?;
        let mention = family.mention(self.note, at);
        let joined = mention.end < site && self.is_beside(mention.end, site);
        let own = joined && names.all(|name| name == AttributeName::Laterality);
        own.then(|| Attached {
            hit: number,
            mentions: vec![family.order[at]],
            distance: (0, 0, false, hit.first - mention.end),
        })
    }

    fn sentence(&self, token: usize) -> Option<u32> {
        self.note.lexemes.get(token).map(|token| token.sentence)
    }

    /// The last mention before a hit in its sentence, by its place in the family.
    fn left(&self, family: &Family, hit: &Hit) -> Option<usize> {
        let after = family.after(self.note, hit.first);
        let mut at = after;
        // A mention may contain the start of another.
        while let Some(before) = at.checked_sub(1) {
            let mention = family.mention(self.note, before);
            if self.sentence(mention.first) != self.sentence(hit.first) {
                return None;
            }
            if mention.end <= hit.first {
                return Some(before);
            }
            at = before;
        }
        None
    }

    /// The first mention behind a hit in its sentence.
    fn right(&self, family: &Family, hit: &Hit) -> Option<usize> {
        let at = family.after(self.note, hit.end);
        let index = family.order.get(at)?;
        let mention = self.note.mentions[*index as usize];
        (self.sentence(mention.first) == self.sentence(hit.first)).then_some(at)
    }

    fn gap_left(&self, family: &Family, at: usize, hit: &Hit) -> usize {
        hit.first.saturating_sub(family.mention(self.note, at).end)
    }

    /// The mention of a verb before it.
    fn forward(&self, hit: &Hit, left: Option<usize>, right: Option<usize>) -> Option<usize> {
        let family = self.family_of(hit)?;
        let first = |at: usize| family.mention(self.note, at).first;
        let right = right.filter(|at| first(*at) - hit.end <= MAX_VERB);
        // "Aspirin: continue."
        let beside = |at: &usize| {
            let end = family.mention(self.note, *at).end;
            self.is_beside(end, hit.first)
        };
        let left = left.filter(beside);
        // "Aspirin held, metformin restarted."
        let next = right.filter(|at| left.is_none() || self.is_beside(hit.end, first(*at)));
        next.or(left)
    }

    fn family_of(&self, hit: &Hit) -> Option<&Family> {
        let section = self.note.rules.sections.get(hit.section)?;
        self.families.get(section.family)
    }

    /// The mention of an attribute beside it.
    fn near(
        &self,
        family: &Family,
        hit: &Hit,
        left: Option<usize>,
        right: Option<usize>,
    ) -> Option<usize> {
        let separated = |at: &usize| {
            let end = family.mention(self.note, *at).end;
            count(&self.joints, end, hit.first) > 0
        };
        if let Some(left) = left.filter(|left| !separated(left)) {
            return Some(left);
        }
        let right = right.or_else(|| self.behind_point(family, hit));
        if let Some(right) = right {
            let first = family.mention(self.note, right).first;
            if left.is_none() && self.begins_with_time(hit) && first - hit.end <= MAX_VERB {
                return Some(right);
            }
            let near = first - hit.end <= MAX_AHEAD && count(&self.joints, hit.end, first) == 0;
            // "DES to LAD 3/2022, diabetes."
            let ended = self.ends_with(hit, |c| c == ',') && left.is_some();
            if self.is_beside(hit.end, first) && !ended || left.is_none() && near {
                return Some(right);
            }
        }
        // "For 4 days; repeat labs tomorrow."
        let parted = |at: &usize| {
            let end = family.mention(self.note, *at).end;
            let mut between = (end..hit.first).map(|at| self.note.lexemes[at].kind);
            between.any(|kind| kind == Lexical::Mark(';'))
        };
        // "FBS 142 mg/dl, PPBS 210 mg/dl": the second test was not found.
        let is_value = hit
            .attributes
            .iter()
            .any(|one| one.name == AttributeName::Value);
        if is_value && self.follows_short_name(hit) && left.as_ref().is_some_and(separated) {
            return None;
        }
        let dates = hit.attributes.iter();
        let mut dates = dates.map(|one| one.name == AttributeName::Date);
        left.filter(|left| !dates.all(|date| date) || !parted(left))
    }

    /// Whether a hit follows a short word in capitals: "K" of "K 5.6".
    fn follows_short_name(&self, hit: &Hit) -> bool {
        let before = hit.first.checked_sub(1);
        let before = before.and_then(|at| self.note.lexemes.get(at));
        before.is_some_and(|token| {
            let words = self
                .note
                .text
                .get(token.start..token.end)
                .unwrap_or_default();
            let is_name = words.len() <= MAX_SHORT_NAME && words.chars().all(char::is_uppercase);
            token.kind == Lexical::Word && is_name
        })
    }

    /// Whether the last token of a hit is a mark of some kinds.
    fn ends_with(&self, hit: &Hit, is: impl Fn(char) -> bool) -> bool {
        let last = hit.end.checked_sub(1);
        let last = last.and_then(|at| self.note.lexemes.get(at));
        last.is_some_and(|last| matches!(last.kind, Lexical::Mark(c) if is(c)))
    }

    /// Whether a sentence begins with a time, of which all of it is said: "In 2013, after a fall, she
    /// had a stroke".
    fn begins_with_time(&self, hit: &Hit) -> bool {
        use AttributeName::{Date, Duration, Onset};
        let start = self.sentence(hit.first).map(|at| at as usize);
        let start = start.and_then(|at| self.sentences.get(at));
        let mut names = hit.attributes.iter().map(|attribute| attribute.name);
        start == Some(&hit.first) && names.all(|name| matches!(name, Date | Duration | Onset))
    }

    /// The mention right behind the last point of "p.r.n.", which may look like the end of a
    /// sentence.
    fn behind_point(&self, family: &Family, hit: &Hit) -> Option<usize> {
        let point = self.note.lexemes.get(hit.end)?;
        let inner = hit
            .end
            .checked_sub(2)
            .and_then(|at| self.note.lexemes.get(at));
        let inner = inner.is_some_and(|inner| inner.kind == Lexical::Mark('.'));
        let dotted = hit.end >= hit.first + 3 && inner && point.glued;
        let at = family.after(self.note, hit.end);
        let index = *family.order.get(at)? as usize;
        let next = self.note.mentions.get(index)?.first == hit.end + 1;
        let border = self.note.lexemes.get(hit.end + 1)?.border;
        let same_line = border == Border::Sentence;
        (dotted && next && same_line && point.kind == Lexical::Mark('.')).then_some(at)
    }

    /// The mention right behind an attribute, or the one beside it.
    fn before(
        &self,
        family: &Family,
        hit: &Hit,
        left: Option<usize>,
        right: Option<usize>,
    ) -> Option<usize> {
        let beside = |at: &usize| self.is_beside(hit.end, family.mention(self.note, *at).first);
        let next = right.filter(beside);
        next.or_else(|| self.near(family, hit, left, right))
    }

    /// Whether only attributes and words of linking stand between two tokens.
    fn is_beside(&self, from: usize, to: usize) -> bool {
        count(&self.strangers, from, to) == 0
    }

    /// The mention of the sentences before that this one goes on about, and how many sentences it
    /// is away.
    fn carried(&self, family: &Family, hit: &Hit) -> Option<(usize, usize)> {
        let sentence = self.sentence(hit.first)? as usize;
        let start = *self.sentences.get(sentence)?;
        let begins = self.is_beside(start, hit.first);
        let refers = count(&self.references, start, hit.first) > 0;
        if !begins && !refers && !self.note.has(start, self.classes.continuing) {
            return None;
        }
        let mut first = start;
        for back in 1..=MAX_CARRIED {
            if !self.goes_on(first) {
                return None;
            }
            let before = *self.sentences.get(sentence.checked_sub(back)?)?;
            let at = family.after(self.note, first).checked_sub(1);
            if let Some(at) = at.filter(|at| family.mention(self.note, *at).first >= before) {
                return Some((at, back));
            }
            first = before;
        }
        None
    }

    /// Whether the sentence that starts at a token may go on about what is before it: it is in the
    /// same line, or in the next one and begins like directions for use.
    fn goes_on(&self, at: usize) -> bool {
        match self.note.lexemes[at].border {
            Border::Sentence => true,
            Border::Line => {
                let start = self.note.lexemes[at].start;
                let before = self.note.text.get(..start).unwrap_or_default();
                let indented = before.ends_with([' ', '\t']);
                self.note.has(at, self.classes.continuing) || indented
            }
            _ => false,
        }
    }

    /// Adds the other mentions of a list, before or behind the one at `at`.
    fn extend(
        &self,
        family: &Family,
        (section, hit): (&Section, &Hit),
        at: usize,
        ahead: bool,
        mentions: &mut Vec<u32>,
    ) {
        // "Aspirin 81 mg, statin 20 mg started."
        let may_cover = match section.direction {
            Direction::Near => false,
            Direction::Forward => ahead,
            Direction::Before | Direction::Backward => true,
        };
        let mut at = at;
        while mentions.len() < MAX_LIST {
            let next = match ahead {
                true => at + 1,
                false => match at.checked_sub(1) {
                    Some(next) => next,
                    None => return,
                },
            };
            let Some(index) = family.order.get(next) else {
                return;
            };
            let (one, other) = (at.min(next), at.max(next));
            let end = family.mention(self.note, one).end;
            let first = family.mention(self.note, other).first;
            // "Metformin for diabetes and aspirin for pain."
            let own = !ahead && self.begins_between(section, hit, end, first);
            if own || !self.is_list(section, (end, first), may_cover, None) {
                return;
            }
            mentions.push(*index);
            at = next;
        }
    }

    /// Whether another hit of the section of a hit begins between two tokens.
    fn begins_between(&self, section: &Section, hit: &Hit, from: usize, to: usize) -> bool {
        if section.direction != Direction::Near {
            return false;
        }
        let starts = self.starts.get(hit.section).map_or(&[][..], Vec::as_slice);
        let at = starts.partition_point(|start| *start < from);
        starts.get(at).is_some_and(|start| *start < to)
    }

    /// Adds the mentions behind the one at `at` to which a date before their values belongs, too:
    /// "Sodium today is 133, potassium 4.2". One with a date of its own ends the panel.
    fn extend_panel(
        &self,
        family: &Family,
        section: &Section,
        hit: &Hit,
        at: usize,
        mentions: &mut Vec<u32>,
    ) {
        let place = |at: usize| {
            let index = *family.order.get(at)?;
            Some((index, self.note.mentions[index as usize]))
        };
        let Some((_, mut last)) = place(at) else {
            return;
        };
        if last.end <= hit.first && self.covered[last.end..hit.first].contains(&true) {
            return;
        }
        for next in at + 1..(at + 1).saturating_add(MAX_LIST) {
            let Some((index, mention)) = place(next) else {
                return;
            };
            let own = hit.first >= last.end && hit.end <= mention.first;
            let own = if own {
                count(&self.panels, hit.first, hit.end)
            } else {
                0
            };
            let behind = place(next + 1).map_or(usize::MAX, |(_, mention)| mention.first);
            let behind = behind.min(mention.end.saturating_add(MAX_VERB));
            let other = count(&self.panels, last.end, mention.first) > own
                || count(&self.panels, mention.end, behind) > 0;
            // "CBC in the clinic today showed hemoglobin of 12".
            let from = if own > 0 { hit.end } else { last.end };
            if other || !self.is_list(section, (from, mention.first), true, self.classes.showing) {
                return;
            }
            if !mentions.contains(&index) {
                mentions.push(index);
            }
            last = mention;
        }
    }

    /// Whether the tokens between two mentions make them a list. Words of a further class join, too.
    fn is_list(
        &self,
        section: &Section,
        (end, first): (usize, usize),
        may_cover: bool,
        more: Option<u16>,
    ) -> bool {
        let verb = bit_of(section);
        if end > first || first - end > MAX_VERB {
            return false;
        }
        let mut joined = false;
        // "Start aspirin 81 mg; heparin 5,000 units".
        let parted = |at: usize| self.note.lexemes[at].kind == Lexical::Mark(';');
        if (end..first).any(parted) && (end..first).any(|at| self.covered[at]) {
            return false;
        }
        // "Aspirin 81 mg and statin 20 mg for pain", but not entries with commas between them.
        let comma = |at: usize| matches!(self.note.lexemes[at].kind, Lexical::Mark(',' | ';'));
        let may_cover = may_cover || !(end..first).any(comma);
        for at in end..first {
            let token = &self.note.lexemes[at];
            let joins = self.note.has(at, self.classes.joining) || self.note.has(at, more);
            let joins = joins && !self.covered[at];
            joined |= joins;
            let links = !self.covered[at] && self.note.has(at, self.classes.linking);
            let fits = joins || links || may_cover && self.covered[at];
            if token.border.ends_sentence() || self.verbs[at] & verb != 0 || !fits {
                return false;
            }
        }
        joined
    }
}

/// The bit of a section's family.
fn bit_of(section: &Section) -> u64 {
    1u64.checked_shl(u32::try_from(section.family).unwrap_or(u32::MAX))
        .unwrap_or(0)
}

/// The number of tokens before each that are counted, and at last of all tokens.
fn sums(tokens: usize, counts: impl Fn(usize) -> bool) -> Vec<u32> {
    let mut sums = Vec::with_capacity(tokens + 1);
    let mut sum = 0;
    sums.push(0);
    for at in 0..tokens {
        sum += u32::from(counts(at));
        sums.push(sum);
    }
    sums
}

/// The number of counted tokens between two.
fn count(sums: &[u32], from: usize, to: usize) -> u32 {
    let at = |at: usize| sums.get(at).or(sums.last()).copied().unwrap_or(0);
    at(to).saturating_sub(at(from))
}

impl Family {
    fn new(note: &Note<'_>, kinds: &[Kind]) -> Self {
        let mentions = note.mentions.iter().enumerate();
        let own = mentions
            .filter(|(_, mention)| kinds.contains(&mention.kind) && mention.end > mention.first);
        let mut order: Vec<u32> = own
            .filter_map(|(index, _)| u32::try_from(index).ok())
            .collect();
        order.sort_by_key(|index| {
            let mention = note.mentions[*index as usize];
            (mention.first, mention.end)
        });
        Self { order }
    }

    fn mention(&self, note: &Note<'_>, at: usize) -> super::matcher::Mention {
        note.mentions[self.order[at] as usize]
    }

    /// The place of the first mention that starts at a token or behind it.
    fn after(&self, note: &Note<'_>, token: usize) -> usize {
        self.order
            .partition_point(|index| note.mentions[*index as usize].first < token)
    }
}
