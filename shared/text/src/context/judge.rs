//! Judging mentions with the cues and sections of a text.

use super::beside::Beside;
use super::denials;
use super::forms;
use super::parser::MAX_WITHIN;
use super::places::{Borders, Order};
use super::rules::{Action, Condition, Direction, Prior, RuleSet, SUBHEADING};
use super::scope::{self, ScopedCue};
use super::sections::{self, Section};
use super::stated::StatedSection;
use super::tokens::{self, Border, Token, normalise};
use super::values::{
    Allergy, Certainty, Effect, Experiencer, Laterality, MentionKind, Property, Severity,
    Temporality, When,
};
use super::{Context, Cue, Span, Target};

/// The words at the start of a mention that are searched for cues and the phrases of lists.
const MAX_SEARCHED: usize = 64;

/// Judges mentions of a text. `times` are what their dates tell, in the same order; missing ones are
/// not known. `stated` are the sections that its document marks.
pub(super) fn judge(
    set: &RuleSet,
    text: &str,
    mentions: &[Target],
    times: &[Option<When>],
    stated: &[StatedSection],
) -> Vec<Context> {
    let tokens = tokens::tokenize(text, &set.vocabulary);
    let mut tokens = forms::mark(text, tokens, &set.vocabulary, &set.headings);
    let (sections, in_heading) = sections::find(text, &mut tokens, set, stated);
    let mut note = Note {
        text,
        tokens,
        sections,
        denied: Vec::new(),
        set,
    };
    let numbered = mentions.iter().enumerate();
    let located: Vec<Located> = numbered
        .map(|(index, target)| note.locate(target, times.get(index).copied().flatten()))
        .collect();
    // No cue reaches into a mention: "no" of "no change in bowel habits" is one if "change in
    // bowel habits" is a mention.
    let pieces = located.iter().flat_map(|mention| {
        let pieces = mention.pieces.iter();
        pieces.map(|(first, end)| (*first, *end, mention.kind))
    });
    let mut pieces: Vec<(usize, usize, MentionKind)> = pieces.collect();
    pieces.sort_unstable_by_key(|(first, end, _)| (*first, *end));
    let classes = set.vocabulary.mention_classes();
    // Each token once, even if many mentions overlap.
    let mut marked = 0;
    for (first, end, kind) in pieces {
        let token = &mut note.tokens[first];
        for class in &classes[kind as usize] {
            if !token.opening.contains(class) {
                token.opening.push(*class);
            }
        }
        if !token.starting.contains(&kind) {
            token.starting.push(kind);
        }
        for token in &mut note.tokens[first.max(marked).min(end)..end] {
            token.in_mention = true;
        }
        marked = marked.max(end);
    }
    let cues = scope::find(&note.tokens, &in_heading, set);
    note.denied = denials::find(&note.tokens, &note.sections, &cues);
    note.judge(&cues, &located)
}

/// A mention as token ranges.
pub(super) struct Located {
    pub kind: MentionKind,
    /// First and one past the last token, of each piece.
    pub pieces: Vec<(usize, usize)>,
    /// The lists that the mention has phrases of.
    lists: Vec<usize>,
    /// What its date tells.
    when: Option<When>,
}

impl Located {
    pub fn first(&self) -> usize {
        self.pieces.first().map_or(0, |piece| piece.0)
    }

    pub fn end(&self) -> usize {
        self.pieces.last().map_or(0, |piece| piece.1)
    }

    pub fn satisfies(&self, condition: &Condition) -> bool {
        (condition.kinds.is_empty() || condition.kinds.contains(&self.kind))
            && condition.with.is_none_or(|list| self.lists.contains(&list))
            && condition
                .without
                .is_none_or(|list| !self.lists.contains(&list))
            && condition
                .dated
                .is_none_or(|asked| self.when.is_some_and(|when| when.is(asked)))
    }
}

/// The best cue for a property so far.
#[derive(Clone, Copy)]
pub(super) struct Best {
    /// Whether the cue ends in the mention.
    inside: bool,
    /// Whether the cue describes the mention and stands before it.
    before: bool,
    distance: usize,
    pub effect: Effect,
    cue: Place,
}

/// The best cue of each property.
pub(super) type Bests = [Option<Best>; Property::COUNT];

/// How a cue reaches a mention.
#[derive(Clone, Copy)]
struct Reached {
    /// Whether the cue ends in the mention.
    inside: bool,
    /// Whether it stands before the mention.
    before: bool,
    /// The number of tokens between cue and mention.
    distance: usize,
    scope: (usize, usize),
}

/// Where a deciding cue is: tokens.
#[derive(Clone, Copy)]
struct Place {
    rule: usize,
    span: (usize, usize),
    scope: (usize, usize),
}

pub(super) struct Note<'r, 't> {
    text: &'t str,
    pub tokens: Vec<Token>,
    sections: Vec<Section>,
    /// For each section the token from which it has no allergies.
    denied: Vec<usize>,
    pub set: &'r RuleSet,
}

impl Note<'_, '_> {
    fn judge(&self, cues: &[ScopedCue], located: &[Located]) -> Vec<Context> {
        let by_first = Order::new(located, Located::first);
        let by_end = Order::new(located, Located::end);
        let borders = Borders::new(located);
        let mut best: Vec<Bests> = vec![[None; Property::COUNT]; located.len()];
        let (cues, beside): (Vec<&ScopedCue>, Vec<&ScopedCue>) =
            cues.iter().partition(|cue| self.beside(cue).is_none());
        for cue in &cues {
            let after = by_first.between(cue.after.0, cue.after.1);
            let before = by_end.between(cue.before.0 + 1, cue.before.1 + 1);
            for index in after.chain(before) {
                let mention = &located[index];
                let apart = cue.effect.property().describes_mention();
                if !(apart && borders.separate(cue, mention)) {
                    self.apply(cue, mention, &mut best[index]);
                }
            }
        }
        let inside: Vec<&ScopedCue> = cues
            .iter()
            .copied()
            .filter(|cue| self.direction(cue) == Some(Direction::Inside))
            .collect();
        for (mention, best) in located.iter().zip(&mut best) {
            let start = inside.partition_point(|cue| cue.first < mention.first());
            let reached = inside[start..].iter();
            // Such a cue counts at the start of the mention.
            for cue in reached.take_while(|cue| cue.first == mention.first()) {
                self.apply(cue, mention, best);
            }
        }
        self.apply_inside(&cues, located, &mut best);
        for (mention, best) in located.iter().zip(&mut best) {
            self.apply_priors(mention, best);
        }
        let order = Beside::new(by_first, by_end);
        self.apply_beside(&beside, located, &order, &mut best);
        self.apply_priors_beside(located, &order, &mut best);
        let contexts = located.iter().zip(&best);
        contexts
            .map(|(mention, best)| self.context(mention, best))
            .collect()
    }

    pub fn section_of(&self, mention: &Located) -> Option<&Section> {
        let section = sections::section_at(&self.sections, mention.first())?;
        self.sections.get(section)
    }

    /// Whether a mention is below the first line of a section whose list of allergies is over.
    fn is_denied(&self, mention: &Located) -> bool {
        let section = sections::section_at(&self.sections, mention.first());
        let from = section.and_then(|section| self.denied.get(section));
        from.is_some_and(|from| *from <= mention.first())
    }

    fn direction(&self, cue: &ScopedCue) -> Option<Direction> {
        match self.set.actions.get(self.set.rules[cue.rule].action) {
            Some(Action::Cue { direction, .. }) => Some(*direction),
            _ => None,
        }
    }

    fn locate(&self, target: &Target, when: Option<When>) -> Located {
        let mut pieces = Vec::with_capacity(target.pieces.len());
        for piece in target.pieces {
            let first = self
                .tokens
                .partition_point(|token| token.end <= piece.start);
            let end = self.tokens.partition_point(|token| token.start < piece.end);
            if first < end {
                pieces.push((first, end));
            }
        }
        let mut lists = Vec::new();
        let mut word = String::new();
        for (first, end) in &pieces {
            for at in *first..(*end).min(first + MAX_SEARCHED) {
                let tokens = &self.tokens[..*end];
                if let Some(found) = self.set.phrases.longest(tokens, at, false) {
                    lists.extend(found.patterns.iter().map(|list| *list as usize));
                }
                let token = &self.tokens[at];
                normalise(&self.text[token.start..token.end], &mut word);
                for (ending, list) in &self.set.endings {
                    if word.ends_with(ending.as_str()) {
                        lists.push(*list);
                    }
                }
                lists.sort_unstable();
                lists.dedup();
            }
        }
        Located {
            kind: MentionKind::of(target.group),
            pieces,
            lists,
            when,
        }
    }

    /// Lets a cue before or after a mention, or at its start, set a property if it reaches it.
    pub fn apply(&self, cue: &ScopedCue, mention: &Located, best: &mut Bests) {
        let direction = self.direction(cue);
        let inside = mention
            .pieces
            .iter()
            .any(|(first, end)| *first <= cue.first && cue.end <= *end);
        let opens = cue.first == mention.first();
        let contains = |scope: (usize, usize), token: usize| scope.0 <= token && token < scope.1;
        let reached = if direction == Some(Direction::Inside) {
            (inside && opens).then_some((0, false, (cue.first, cue.end)))
        } else if inside {
            None
        } else if contains(cue.after, mention.first()) {
            Some((mention.first() - cue.end, true, cue.after))
        } else if mention.end() > 0 && contains(cue.before, mention.end() - 1) {
            Some((cue.first - mention.end(), false, cue.before))
        } else {
            None
        };
        if let Some((distance, before, scope)) = reached {
            let reached = Reached {
                inside: false,
                before,
                distance,
                scope,
            };
            self.update(cue, mention, reached, best);
        }
    }

    /// Lets cues set properties of the mentions that they end in.
    fn apply_inside(&self, cues: &[&ScopedCue], located: &[Located], best: &mut [Bests]) {
        let mut cues: Vec<&ScopedCue> = cues.iter().copied().filter(|cue| cue.or_inside).collect();
        cues.sort_by_key(|cue| cue.end);
        for (mention, best) in located.iter().zip(best) {
            for (first, end) in &mention.pieces {
                let start = cues.partition_point(|cue| cue.end <= *first);
                let last = (*end).min(first + MAX_SEARCHED);
                for cue in cues[start..].iter().take_while(|cue| cue.end <= last) {
                    self.apply_ending(cue, mention, best);
                }
            }
        }
    }

    /// Lets a cue set a property of a mention that it ends in.
    pub fn apply_ending(&self, cue: &ScopedCue, mention: &Located, best: &mut Bests) {
        let reached = Reached {
            inside: true,
            before: false,
            distance: 0,
            scope: (cue.first, cue.end),
        };
        self.update(cue, mention, reached, best);
    }

    /// Sets the property of a cue that reaches a mention, if it applies to the mention and is
    /// nearer than others. A cue in the mention is nearest. Of those that describe the mention one
    /// before it is nearer than one after it: "right moderate hydronephrosis, bilateral stones".
    fn update(&self, cue: &ScopedCue, mention: &Located, reached: Reached, best: &mut Bests) {
        let Some(Action::Cue { condition, .. }) =
            self.set.actions.get(self.set.rules[cue.rule].action)
        else {
            return;
        };
        if !mention.satisfies(condition) {
            return;
        }
        let Reached {
            inside,
            distance,
            scope,
            ..
        } = reached;
        let effect = cue.effect;
        let before = reached.before && effect.property().describes_mention();
        let limited = self.set.limits.iter().any(|(limited, kind, within)| {
            *limited == effect
                && *kind == mention.kind
                && within.is_none_or(|within| distance > within)
        });
        if limited {
            return;
        }
        let slot = &mut best[effect.property().index()];
        let nearer = slot.is_none_or(|best| {
            let rank = |effect: Effect| effect != Effect::Uncertain;
            let own = (rank(effect), inside, before, best.distance);
            let other = (rank(best.effect), best.inside, best.before, distance);
            // At the same distance a cue that needs another mention knows more.
            own > other || own == other && condition.beside.is_some()
        });
        if nearer {
            *slot = Some(Best {
                inside,
                before,
                distance,
                effect,
                cue: Place {
                    rule: cue.rule,
                    span: (cue.first, cue.end),
                    scope,
                },
            });
        }
    }

    /// Lets a section set what no cue has set.
    fn apply_priors(&self, mention: &Located, best: &mut Bests) {
        let alone = |prior: &&Prior| prior.condition.beside.is_none();
        self.apply_those(self.set.priors.iter().filter(alone), mention, best);
    }

    /// Lets priors set what nothing has set.
    pub fn apply_those<'p>(
        &self,
        priors: impl Iterator<Item = &'p Prior>,
        mention: &Located,
        best: &mut Bests,
    ) {
        let section = self.section_of(mention);
        let since_start = self.since_start(mention.first());
        for prior in priors {
            // The priors of the whole text have no heading: the mention itself is the cue.
            let place = if prior.section == SUBHEADING {
                let mention = (mention.first(), mention.end());
                Some((mention, mention))
            } else {
                section
                    .filter(|section| section.known == Some(prior.section))
                    .map(|at| ((at.first, at.content), (at.content, at.end)))
            };
            let Some((span, scope)) = place
                .filter(|_| since_start <= prior.within && mention.satisfies(&prior.condition))
            else {
                continue;
            };
            if prior.in_sentence && self.is_beyond_line(scope.0, mention.first()) {
                continue;
            }
            for effect in &prior.effects {
                if effect.property() == Property::Allergy && self.is_denied(mention) {
                    continue;
                }
                let slot = &mut best[effect.property().index()];
                if slot.is_none() {
                    *slot = Some(Best {
                        inside: false,
                        before: false,
                        distance: usize::MAX,
                        effect: *effect,
                        cue: Place {
                            rule: prior.rule,
                            span,
                            scope,
                        },
                    });
                }
            }
        }
    }

    /// Whether the contents of a section begin in the line of its heading, and the sentence that
    /// does so ends before a token.
    fn is_beyond_line(&self, content: usize, token: usize) -> bool {
        let is_end = |at: &usize| self.tokens[*at].border.ends_sentence();
        let same_line = self
            .tokens
            .get(content)
            .is_some_and(|first| first.border < Border::Line);
        let last = token
            .min(content + MAX_WITHIN)
            .min(self.tokens.len().saturating_sub(1));
        same_line && (content + 1..=last).any(|at| is_end(&at))
    }

    /// The tokens between the start of the sentence and a token; [`usize::MAX`] if there are more
    /// than a rule can allow.
    fn since_start(&self, token: usize) -> usize {
        let starts = |by: &usize| {
            let at = token.checked_sub(*by);
            at.and_then(|at| self.tokens.get(at))
                .is_some_and(|token| token.border.ends_sentence())
        };
        (0..=MAX_WITHIN).find(starts).unwrap_or(usize::MAX)
    }

    fn context(&self, mention: &Located, best: &Bests) -> Context {
        let section = self.section_of(mention);
        let mut context = Context {
            section: section
                .filter(|_| !mention.pieces.is_empty())
                .and_then(|section| self.section_name(section)),
            ..Context::default()
        };
        if mention.pieces.is_empty() {
            return context;
        }
        let allergy = best[Property::Allergy.index()];
        let allergy = allergy.filter(|best| best.effect != Effect::Tolerated);
        let affirmed = allergy.is_some_and(|best| {
            let action = self.set.actions.get(self.set.rules[best.cue.rule].action);
            action.is_some_and(|action| action.effects().contains(&Effect::Affirmed))
        });
        for best in best.iter().flatten() {
            let property = best.effect.property();
            // The time of a reaction is no time of the allergy: it stays. What is avoided because
            // of an allergy is no denied allergen.
            if allergy.is_some() && property == Property::Temporality
                || affirmed && property == Property::Negation
            {
                continue;
            }
            match best.effect {
                Effect::Negated => context.negated = true,
                Effect::Uncertain => context.certainty = Certainty::Uncertain,
                Effect::Hypothetical => context.certainty = Certainty::Hypothetical,
                Effect::Historical => context.temporality = Temporality::Historical,
                Effect::Future => context.temporality = Temporality::Future,
                Effect::Family => context.experiencer = Experiencer::Family,
                Effect::Other => context.experiencer = Experiencer::Other,
                Effect::Left => context.laterality = Some(Laterality::Left),
                Effect::Right => context.laterality = Some(Laterality::Right),
                Effect::Bilateral => context.laterality = Some(Laterality::Bilateral),
                Effect::Mild => context.severity = Some(Severity::Mild),
                Effect::Moderate => context.severity = Some(Severity::Moderate),
                Effect::Severe => context.severity = Some(Severity::Severe),
                Effect::Allergen => context.allergy = Some(Allergy::Allergen),
                Effect::Reaction => context.allergy = Some(Allergy::Reaction),
                Effect::Affirmed
                | Effect::Certain
                | Effect::Current
                | Effect::Patient
                | Effect::Tolerated => {}
            }
            context.cues.push(Cue {
                span: self.bytes(best.cue.span),
                effect: best.effect,
                scope: self.bytes(best.cue.scope),
                rule: best.cue.rule,
            });
        }
        context
    }

    fn section_name(&self, section: &Section) -> Option<String> {
        match section.known {
            Some(known) => self.set.sections.get(known).cloned(),
            None => {
                let end = section.content.min(self.tokens.len());
                let last = self.tokens[section.first..end]
                    .iter()
                    .rev()
                    .find(|token| token.mark != ':')?;
                let heading = &self.text[self.tokens[section.first].start..last.end];
                Some(
                    heading
                        .split_whitespace()
                        .collect::<Vec<_>>()
                        .join(" ")
                        .to_lowercase(),
                )
            }
        }
    }

    /// The bytes of a range of tokens.
    fn bytes(&self, (first, end): (usize, usize)) -> Span {
        let start = self
            .tokens
            .get(first)
            .map_or(self.text.len(), |token| token.start);
        let last = end.checked_sub(1).and_then(|last| self.tokens.get(last));
        Span::new(start, last.map_or(start, |token| token.end).max(start))
    }
}
