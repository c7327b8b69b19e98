//! Judging mentions with the cues and sections of a text.

use super::parser::MAX_WITHIN;
use super::rules::{Action, Condition, Direction, RuleSet, SUBHEADING};
use super::scope::{self, ScopedCue};
use super::sections::{self, Section};
use super::tokens::{self, Token, normalise};
use super::values::{Certainty, Effect, Experiencer, MentionKind, Temporality};
use super::{Context, Cue, Span, Target};

/// The words at the start of a mention that are searched for the phrases of lists.
const MAX_SEARCHED: usize = 64;

/// Judges mentions of a text.
pub(super) fn judge(set: &RuleSet, text: &str, mentions: &[Target]) -> Vec<Context> {
    let mut tokens = tokens::tokenize(text, &set.vocabulary);
    let (sections, in_heading) = sections::find(text, &mut tokens, set);
    let mut note = Note {
        text,
        tokens,
        sections,
        set,
    };
    let located: Vec<Located> = mentions.iter().map(|target| note.locate(target)).collect();
    // No cue reaches into a mention: "no" of "no change in bowel habits" is one if "change in
    // bowel habits" is a mention.
    let pieces = located.iter().flat_map(|mention| &mention.pieces);
    let mut pieces: Vec<(usize, usize)> = pieces.copied().collect();
    pieces.sort_unstable();
    // Each token once, even if many mentions overlap.
    let mut marked = 0;
    for (first, end) in pieces {
        note.tokens[first].opens_mention = true;
        for token in &mut note.tokens[first.max(marked).min(end)..end] {
            token.in_mention = true;
        }
        marked = marked.max(end);
    }
    let cues = scope::find(&note.tokens, &in_heading, set);
    note.judge(&cues, &located)
}

/// A mention as token ranges.
struct Located {
    kind: MentionKind,
    /// First and one past the last token, of each piece.
    pieces: Vec<(usize, usize)>,
    /// The lists that the mention has phrases of.
    lists: Vec<usize>,
}

impl Located {
    fn first(&self) -> usize {
        self.pieces.first().map_or(0, |piece| piece.0)
    }

    fn end(&self) -> usize {
        self.pieces.last().map_or(0, |piece| piece.1)
    }

    fn satisfies(&self, condition: &Condition) -> bool {
        (condition.kinds.is_empty() || condition.kinds.contains(&self.kind))
            && condition.with.is_none_or(|list| self.lists.contains(&list))
            && condition
                .without
                .is_none_or(|list| !self.lists.contains(&list))
    }
}

/// The best cue for a property so far.
#[derive(Clone, Copy)]
struct Best {
    distance: usize,
    effect: Effect,
    cue: Place,
}

/// Where a deciding cue is: tokens.
#[derive(Clone, Copy)]
struct Place {
    rule: usize,
    span: (usize, usize),
    scope: (usize, usize),
}

/// The numbers of mentions in the order of a token.
struct Order {
    keys: Vec<usize>,
    indices: Vec<usize>,
}

impl Order {
    fn new(mentions: &[Located], key: impl Fn(&Located) -> usize) -> Self {
        let mut indices: Vec<usize> = (0..mentions.len()).collect();
        indices.sort_by_key(|index| key(&mentions[*index]));
        let keys = indices.iter().map(|index| key(&mentions[*index])).collect();
        Self { keys, indices }
    }

    /// The mentions whose token is in a range.
    fn between(&self, from: usize, to: usize) -> impl Iterator<Item = usize> {
        let start = self.keys.partition_point(|key| *key < from);
        let end = self.keys.partition_point(|key| *key < to).max(start);
        self.indices[start..end].iter().copied()
    }
}

struct Note<'r, 't> {
    text: &'t str,
    tokens: Vec<Token>,
    sections: Vec<Section>,
    set: &'r RuleSet,
}

impl Note<'_, '_> {
    fn judge(&self, cues: &[ScopedCue], located: &[Located]) -> Vec<Context> {
        let by_first = Order::new(located, Located::first);
        let by_end = Order::new(located, Located::end);
        let mut best: Vec<[Option<Best>; 4]> = vec![[None; 4]; located.len()];
        for cue in cues {
            for index in by_first.between(cue.after.0, cue.after.1) {
                self.apply(cue, &located[index], &mut best[index]);
            }
            for index in by_end.between(cue.before.0 + 1, cue.before.1 + 1) {
                self.apply(cue, &located[index], &mut best[index]);
            }
        }
        let inside: Vec<&ScopedCue> = cues
            .iter()
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
        located
            .iter()
            .zip(best)
            .map(|(mention, mut best)| {
                let section = sections::section_at(&self.sections, mention.first());
                let section = section.map(|section| &self.sections[section]);
                self.apply_priors(section, mention, &mut best);
                self.context(mention, section, &best)
            })
            .collect()
    }

    fn direction(&self, cue: &ScopedCue) -> Option<Direction> {
        match self.set.actions.get(self.set.rules[cue.rule].action) {
            Some(Action::Cue { direction, .. }) => Some(*direction),
            _ => None,
        }
    }

    fn locate(&self, target: &Target) -> Located {
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
                if let Some(found) = self.set.phrases.longest(&self.tokens[..*end], at) {
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
        }
    }

    /// Lets a cue set properties of a mention, if it reaches it and is nearer than others.
    fn apply(&self, cue: &ScopedCue, mention: &Located, best: &mut [Option<Best>; 4]) {
        let Some(Action::Cue {
            direction,
            condition,
            ..
        }) = self.set.actions.get(self.set.rules[cue.rule].action)
        else {
            return;
        };
        let inside = mention
            .pieces
            .iter()
            .any(|(first, end)| *first <= cue.first && cue.end <= *end);
        let opens = cue.first == mention.first();
        let contains = |scope: (usize, usize), token: usize| scope.0 <= token && token < scope.1;
        let reached = if *direction == Direction::Inside {
            (inside && opens).then_some((0, (cue.first, cue.end)))
        } else if inside {
            None
        } else if contains(cue.after, mention.first()) {
            Some((mention.first() - cue.end, cue.after))
        } else if mention.end() > 0 && contains(cue.before, mention.end() - 1) {
            Some((cue.first - mention.end(), cue.before))
        } else {
            None
        };
        let Some((distance, scope)) = reached else {
            return;
        };
        if !mention.satisfies(condition) {
            return;
        }
        let effect = cue.effect;
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
            (rank(effect), best.distance) > (rank(best.effect), distance)
        });
        if nearer {
            *slot = Some(Best {
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
    fn apply_priors(
        &self,
        section: Option<&Section>,
        mention: &Located,
        best: &mut [Option<Best>; 4],
    ) {
        let since_start = self.since_start(mention.first());
        for prior in &self.set.priors {
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
            for effect in &prior.effects {
                let slot = &mut best[effect.property().index()];
                if slot.is_none() {
                    *slot = Some(Best {
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

    fn context(
        &self,
        mention: &Located,
        section: Option<&Section>,
        best: &[Option<Best>; 4],
    ) -> Context {
        let mut context = Context {
            section: section
                .filter(|_| !mention.pieces.is_empty())
                .and_then(|section| self.section_name(section)),
            ..Context::default()
        };
        if mention.pieces.is_empty() {
            return context;
        }
        for best in best.iter().flatten() {
            match best.effect {
                Effect::Negated => context.negated = true,
                Effect::Uncertain => context.certainty = Certainty::Uncertain,
                Effect::Hypothetical => context.certainty = Certainty::Hypothetical,
                Effect::Historical => context.temporality = Temporality::Historical,
                Effect::Future => context.temporality = Temporality::Future,
                Effect::Family => context.experiencer = Experiencer::Family,
                Effect::Other => context.experiencer = Experiencer::Other,
                Effect::Affirmed | Effect::Certain | Effect::Current | Effect::Patient => {}
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
