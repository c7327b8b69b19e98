//! Cues in a text, and how far they reach.

use super::forms;
use super::rules::{Action, Condition, Direction, RuleSet};
use super::tokens::{Border, Token};
use super::trie::Match;
use super::values::{Effect, Property};
use super::vocabulary::Symbol;

/// The class of the words that join the last mention of a list.
const JOINING: &str = "joining";

/// A cue with its scope, for one rule.
#[derive(Clone, Debug)]
pub(super) struct ScopedCue {
    pub rule: usize,
    pub effect: Effect,
    /// Whether it also sets properties of a mention that it ends in.
    pub or_inside: bool,
    /// The first token of the cue and the one after the last.
    pub first: usize,
    pub end: usize,
    /// The scope after the cue: tokens.
    pub after: (usize, usize),
    /// The scope before the cue: tokens.
    pub before: (usize, usize),
}

/// What starts at a token and ends scopes of one property.
#[derive(Clone, Copy, Default)]
struct Stop {
    /// Bit of each effect whose scope ends here.
    ends: u32,
    /// Bit of each effect whose scope ends at the comma before.
    clause: u32,
    /// Bit of each effect of the property that a cue sets forward from here.
    cue: u32,
    /// One past the phrase.
    end: usize,
    /// Bit of each effect whose scope ends here if it is the end of a list.
    list: u32,
    /// The words that join the last mention of such a list.
    unless: Option<Symbol>,
    /// The class of mentions that stand before such an end, if it matters.
    last: Option<Symbol>,
    /// Bit of each effect whose scope ends at the comma before, where an item of a list would be.
    item: u32,
    /// The words that join such an item to the list.
    joints: Option<Symbol>,
}

fn bits(effects: &[Effect]) -> u32 {
    effects
        .iter()
        .fold(0, |bits, effect| bits | 1 << (*effect as u32))
}

/// The effects whose cues end the scope of an effect: all of its property, except that "possible"
/// does not end the scope of "risk of", nor one of the same time another's: "in her teens she had
/// anorexia".
fn stronger(effect: Effect) -> u32 {
    let property = effect.property();
    let ends = |other: &Effect| {
        other.property() == property
            && (effect != Effect::Hypothetical || *other == Effect::Hypothetical)
            && (property != Property::Temporality || *other != effect)
    };
    Effect::NAMES
        .iter()
        .filter(|(_, other)| ends(other))
        .fold(0, |bits, (_, other)| bits | 1 << (*other as u32))
}

/// Finds the cues of each property and their scopes, in the order of the text.
pub(super) fn find(tokens: &[Token], in_heading: &[bool], rules: &RuleSet) -> Vec<ScopedCue> {
    let questions = questions(tokens);
    let mut all = Vec::new();
    for property in Property::ALL {
        find_of(property, tokens, in_heading, &questions, rules, &mut all);
    }
    all.sort_by_key(|cue| cue.first);
    all
}

fn find_of(
    property: Property,
    tokens: &[Token],
    in_heading: &[bool],
    questions: &[bool],
    rules: &RuleSet,
    all: &mut Vec<ScopedCue>,
) {
    let mut stops = vec![Stop::default(); tokens.len()];
    let mut cues: Vec<(usize, usize, usize)> = Vec::new();
    let matches = rules.cues[property.index()].matches(tokens, property.enters_mentions());
    for found in matches {
        // A heading is no cue, but a mention may look like one: "NKDA".
        if in_heading[found.first] && !tokens[found.first].in_mention {
            continue;
        }
        let actions = || {
            found.patterns.iter().filter_map(|rule| {
                let rule = *rule as usize;
                Some((rule, rules.actions.get(rules.rules.get(rule)?.action)?))
            })
        };
        if actions().any(|(_, action)| matches!(action, Action::Pseudo { .. })) {
            continue;
        }
        cues.extend(shorter_cues(&found, property, rules));
        for (rule, action) in actions() {
            let mut ignored = Stop::default();
            // Words of a mention end no scope.
            let token = &tokens[found.first];
            // "Asthma on albuterol" may be a mention; "on albuterol" still tells of an item.
            let is_item = matches!(action, Action::EndOfItem { .. }) && token.opening.is_empty();
            let stop = if token.in_mention && !is_item {
                &mut ignored
            } else {
                &mut stops[found.first]
            };
            if stop.mark(action, &found, tokens, questions[found.first]) {
                cues.push((rule, found.first, found.end));
            }
        }
    }
    mark_list_ends(property, tokens, rules, &mut stops);
    let scopes = Scopes {
        tokens,
        stops: &stops,
        joining: rules.vocabulary.class(JOINING),
    };
    all.extend(
        cues.into_iter()
            .filter_map(|cue| scopes.of_cue(cue, property, rules)),
    );
}

impl Stop {
    /// Marks what a match ends, and tells whether it is a cue.
    fn mark(&mut self, action: &Action, found: &Match, tokens: &[Token], asked: bool) -> bool {
        // A mention that such a phrase ends with is within reach of cues behind it.
        let is_end = matches!(action, Action::End { .. } | Action::EndOfItem { .. });
        let last = found.end - 1;
        let opens = is_end && last > found.first && !tokens[last].opening.is_empty();
        self.end = self.end.max(if opens { last } else { found.end });
        match action {
            Action::Cue { question, .. } if *question && !asked => {}
            Action::Cue {
                direction,
                effects,
                condition,
                within,
                ..
            } => {
                // A cue that needs a mention beside it, as a comma, ends no scope, nor does one of
                // other kinds: "possible" of "possible pneumonia" in a list of drugs.
                let goes_on = matches!(direction, Direction::Forward | Direction::Both);
                let after = &tokens[found.end..];
                if goes_on && condition.beside.is_none() && applies(condition, *within, after) {
                    self.cue |= bits(effects);
                }
                return true;
            }
            Action::End { effects, clause } if *clause => self.clause |= bits(effects),
            Action::End { effects, .. } => self.ends |= bits(effects),
            Action::EndOfItem { effects, unless } => {
                self.item |= bits(effects);
                self.joints = Some(*unless);
            }
            Action::EndOfList { .. } | Action::Pseudo { .. } => {}
        }
        false
    }
}

/// Marks the phrases that end the scopes of a list.
fn mark_list_ends(property: Property, tokens: &[Token], rules: &RuleSet, stops: &mut [Stop]) {
    let list_ends = &rules.list_ends[property.index()];
    let found = (!list_ends.is_empty()).then(|| list_ends.matches(tokens, true));
    for found in found.into_iter().flatten() {
        let stop = &mut stops[found.first];
        for rule in found.patterns {
            let action = rules.rules.get(rule as usize).map(|rule| rule.action);
            if let Some(Action::EndOfList {
                effects,
                unless,
                after,
            }) = action.and_then(|action| rules.actions.get(action))
                && !tokens[found.first].in_mention
            {
                stop.list |= bits(effects);
                // An end after any mention is one after those of a class, too.
                let any = stop.unless.is_some() && stop.last.is_none();
                stop.last = after.filter(|_| !any);
                stop.unless = Some(*unless);
            }
        }
    }
}

/// The cues of the shorter matches at a place that say the same on the same side as the longest,
/// which may be for mentions of other kinds: "is scheduled" of "is scheduled for".
fn shorter_cues(found: &Match, property: Property, rules: &RuleSet) -> Vec<(usize, usize, usize)> {
    let cue = |rule: &u32| {
        let rule = *rule as usize;
        match rules.actions.get(rules.rules.get(rule)?.action)? {
            Action::Cue {
                effects,
                direction,
                question: false,
                condition,
                ..
            } if condition.beside.is_none() && *direction != Direction::Inside => {
                let effect = effects
                    .iter()
                    .find(|effect| effect.property() == property)?;
                let fits_all = condition.kinds.is_empty() && condition.with.is_none();
                Some((rule, *effect, *direction, fits_all))
            }
            _ => None,
        }
    };
    let longest: Option<Vec<_>> = found.patterns.iter().map(&cue).collect();
    let longest = longest.unwrap_or_default();
    // "No longer takes" denies what is no drug, and says that a drug is no denied one. "No current
    // inhalers" denies any mention, but less far than "no".
    let differ = longest.windows(2).any(|pair| pair[0].1 != pair[1].1);
    if differ || longest.iter().any(|(.., fits_all)| *fits_all) {
        return Vec::new();
    }
    let says_so = |(_, effect, direction, _): &(usize, Effect, Direction, bool)| {
        longest
            .iter()
            .any(|(_, own, side, _)| own == effect && side == direction)
    };
    let shorter = found.shorter.iter().filter_map(cue).filter(says_so);
    shorter
        .map(|(rule, ..)| (rule, found.first, found.end))
        .collect()
}

/// Whether a cue may apply to a mention that it reaches: one of its kinds stands in the sentence
/// after it, or none of any kind.
fn applies(condition: &Condition, within: usize, after: &[Token]) -> bool {
    if condition.kinds.is_empty() {
        return true;
    }
    let sentence = after
        .iter()
        .take(within.saturating_add(1))
        .take_while(|token| !token.border.ends_sentence());
    let mut kinds = sentence.flat_map(|token| &token.starting).peekable();
    kinds.peek().is_none() || kinds.any(|kind| condition.kinds.contains(kind))
}

/// For each token, whether its sentence ends with a question mark.
fn questions(tokens: &[Token]) -> Vec<bool> {
    let mut asked = vec![false; tokens.len()];
    let mut current = false;
    for at in (0..tokens.len()).rev() {
        let ends = tokens
            .get(at + 1)
            .is_none_or(|next| next.border.ends_sentence());
        if ends {
            current = tokens[at].mark == '?';
        }
        asked[at] = current;
    }
    asked
}

/// How far a cue may reach.
struct Reach {
    effect: u32,
    /// The bits of the effects whose cues end the scope.
    cues: u32,
    within: usize,
    until: Option<Symbol>,
    /// Whether the cue describes the mention: it stays in its line.
    describes: bool,
    /// Whether it says whom the mention is about: at the start of a sentence ("Sick contact at
    /// home") it says nothing of the sentence before.
    is_person: bool,
    /// Whether the cue says that something is now: "Now pregnant" says nothing of the sentence
    /// before.
    is_current: bool,
    /// Whether the cue is a box or blank of a form: it reaches all of its item.
    is_form: bool,
    /// Whether the cue denies.
    negates: bool,
    /// The token behind the cue.
    end: usize,
    /// Whether a colon follows the cue: semicolons divide the entries of its list.
    is_list: bool,
}

struct Scopes<'t> {
    tokens: &'t [Token],
    stops: &'t [Stop],
    /// The class of the words that join the last mention of a list.
    joining: Option<Symbol>,
}

impl Scopes<'_> {
    /// A cue of a rule, from its first token to the one after its last, with its scopes; `None` if
    /// it has no effect on the property.
    fn of_cue(
        &self,
        (rule, first, end): (usize, usize, usize),
        property: Property,
        rules: &RuleSet,
    ) -> Option<ScopedCue> {
        let Action::Cue {
            effects,
            direction,
            or_inside,
            within,
            until,
            ..
        } = rules.actions.get(rules.rules[rule].action)?
        else {
            return None;
        };
        let effect = *effects
            .iter()
            .find(|effect| effect.property() == property)?;
        let tokens = self.tokens;
        let reach = Reach {
            effect: 1 << (effect as u32),
            cues: stronger(effect),
            within: *within,
            until: *until,
            describes: property.describes_mention(),
            is_person: property == Property::Experiencer,
            is_current: effect == Effect::Current,
            is_form: tokens[first].mark == forms::STATE,
            negates: effect == Effect::Negated,
            end,
            is_list: tokens[end - 1].mark == ':'
                || tokens.get(end).is_some_and(|token| token.mark == ':'),
        };
        let forward = matches!(direction, Direction::Forward | Direction::Both);
        let backward = matches!(direction, Direction::Backward | Direction::Both);
        let none = |at: usize| (at, at);
        Some(ScopedCue {
            rule,
            effect,
            or_inside: *or_inside,
            first,
            end,
            after: if forward {
                self.after(end, &reach)
            } else {
                none(end)
            },
            before: if backward {
                self.before(first, &reach)
            } else {
                none(first)
            },
        })
    }

    fn is_until(&self, at: usize, reach: &Reach) -> bool {
        let token = &self.tokens[at];
        reach
            .until
            .is_some_and(|class| token.symbols.contains(&class) || token.opening.contains(&class))
    }

    /// Whether a mention or word of a class is among tokens.
    fn is_of(&self, mut tokens: std::ops::Range<usize>, class: Symbol) -> bool {
        tokens.any(|at| {
            let token = &self.tokens[at];
            token.symbols.contains(&class) || token.opening.contains(&class)
        })
    }

    /// The tokens after a cue that it reaches.
    fn after(&self, start: usize, reach: &Reach) -> (usize, usize) {
        let limit = start
            .saturating_add(reach.within + 1)
            .min(self.tokens.len());
        let mut separator = None;
        // The start of the last mention.
        let mut last = start;
        let mut list = false;
        // Where the list of mentions goes on at least.
        let mut joined = start;
        let mut depth = 0usize;
        for at in start..limit {
            let token = &self.tokens[at];
            if token.border.ends_sentence() {
                // "LEFT:" is a heading, but a cue.
                let is_colon = |at: usize| self.tokens[at].mark == ':';
                let colon = at == start + 1 && is_colon(start)
                    || at == start && start > 0 && is_colon(start - 1);
                let heading = colon && token.border == Border::Sentence;
                // "Denies:" reaches the items of the list below it.
                list = list || colon || at == start && !reach.describes && !reach.is_form;
                let item = list && token.border == Border::Bullet;
                if !heading && !item {
                    return (start, at);
                }
            }
            if reach.is_form {
                continue;
            }
            if reach.is_list && token.mark == ';' {
                separator = Some(at);
                continue;
            }
            let stop = &self.stops[at];
            if let Some((joints, comma)) = stop.joints.zip(separator)
                && stop.item & reach.effect != 0
                && comma >= joined
                && !(comma..at).any(|at| self.tokens[at].symbols.contains(&joints))
                && self.joint(at + 1, limit, joints, reach).is_none()
            {
                return (start, comma);
            }
            if stop.ends & reach.effect != 0
                || stop.cue & reach.cues != 0
                || self.is_until(at, reach)
            {
                return (start, at);
            }
            if stop.clause & reach.effect != 0 && at > start {
                return (start, separator.unwrap_or(at));
            }
            if let Some(unless) = stop.unless.filter(|_| stop.list & reach.effect != 0)
                && at >= joined
                && stop.last.is_none_or(|class| self.is_of(last..at, class))
            {
                match self.joint(at + 1, limit, unless, reach) {
                    Some(joint) => joined = joint,
                    None => return (start, at),
                }
            }
            if !token.opening.is_empty() {
                last = at;
            }
            match token.mark {
                ',' | ';' => separator = Some(at),
                '(' | '[' => depth += 1,
                // A cue in brackets reaches nothing after them.
                ')' | ']' if depth == 0 => return (start, at),
                ')' | ']' => depth -= 1,
                _ => {}
            }
        }
        (start, limit)
    }

    /// The next word of a class in the clause, or the next cue of the same effect that a word and
    /// no comma joins to what is before it: "no bleed, new infarct or mass", "and no mass".
    fn joint(&self, from: usize, limit: usize, class: Symbol, reach: &Reach) -> Option<usize> {
        for at in from..limit {
            let (token, stop) = (&self.tokens[at], &self.stops[at]);
            if token.border.ends_sentence() {
                return None;
            }
            if token.symbols.contains(&class) {
                return Some(at);
            }
            if stop.cue & reach.effect != 0 {
                return (self.tokens[at - 1].mark == ' ').then_some(at);
            }
            let ends = (stop.ends | stop.clause) & reach.effect != 0;
            if ends || stop.cue & reach.cues != 0 {
                return None;
            }
        }
        None
    }

    /// Whether a word of no mention stands before a token: in "cough productive, fever
    /// denied" the cough is said to be productive, and is no item of what is denied.
    fn is_word_before(&self, at: usize) -> bool {
        let token = at.checked_sub(1).map(|at| &self.tokens[at]);
        self.joining.is_some() && token.is_some_and(|token| token.mark == ' ' && !token.in_mention)
    }

    /// The tokens before a cue that it reaches.
    fn before(&self, end: usize, reach: &Reach) -> (usize, usize) {
        // "Resolved" at the start of an entry says nothing of the entry before, nor does "Ruled out:"
        // at that of a sentence.
        let border = self.tokens[end].border;
        let stays = reach.describes
            || reach.is_person
            || reach.is_form
            || reach.is_current
            || reach.is_list
            || self
                .tokens
                .get(reach.end)
                .is_some_and(|next| !next.border.ends_sentence() && !next.opening.is_empty());
        if border >= Border::Bullet || stays && border.ends_sentence() {
            return (end, end);
        }
        let limit = end.saturating_sub(reach.within + 1);
        let mut first = end;
        let (mut joined, mut mentioned) = (false, false);
        for at in (limit..end).rev() {
            let token = &self.tokens[at];
            let stop = &self.stops[at];
            let stops = (stop.ends | stop.clause) & reach.effect != 0 || stop.cue & reach.cues != 0;
            let stops = stops && !reach.is_form;
            // A box is of another item.
            let boxed = token.mark == forms::STATE && !reach.is_form;
            if stops || boxed || self.is_until(at, reach) {
                // The phrase that ends the scope is outside it.
                return (stop.end.max(at + 1).min(end), end);
            }
            if reach.negates && token.mark == ',' && mentioned && !joined && self.is_word_before(at)
            {
                return (at + 1, end);
            }
            joined |= !token.in_mention
                && self
                    .joining
                    .is_some_and(|class| token.symbols.contains(&class));
            mentioned |= token.in_mention;
            first = at;
            if token.border.ends_sentence() {
                break;
            }
        }
        (first, end)
    }
}
