//! Cues and priors that need another mention beside them: the "(" of "penicillin (rash)".

use super::judge::{Bests, Located, Note};
use super::parser::MAX_WITHIN;
use super::places::Order;
use super::rules::{Action, Prior, SUBHEADING};
use super::scope::ScopedCue;
use super::values::Effect;

/// The words that may stand between a cue and the mention at its other side: those of "sulfa drugs
/// in 2019 (rash)".
const GAP: usize = 4;

/// The mentions by their first token, and by the one after their last.
pub(super) struct Beside {
    by_first: Order,
    by_end: Order,
}

impl Beside {
    pub fn new(by_first: Order, by_end: Order) -> Self {
        Self { by_first, by_end }
    }
}

/// Whether a mention is set to an effect.
fn is(best: &Bests, effect: Effect) -> bool {
    best[effect.property().index()].is_some_and(|best| best.effect == effect)
}

impl Note<'_, '_> {
    /// What a mention at the other side of a cue must be set to.
    pub fn beside(&self, cue: &ScopedCue) -> Option<Effect> {
        match self.set.actions.get(self.set.rules[cue.rule].action) {
            Some(Action::Cue { condition, .. }) => condition.beside,
            _ => None,
        }
    }

    /// Lets cues set properties of mentions at one side if one at the other side has an effect:
    /// forward from the start of the text, backward from its end, so that each may follow another.
    pub fn apply_beside(
        &self,
        cues: &[&ScopedCue],
        located: &[Located],
        order: &Beside,
        best: &mut [Bests],
    ) {
        for cue in cues {
            if self.tokens[cue.first].border.ends_sentence() {
                continue;
            }
            let gap = self.gap(|count| cue.first.checked_sub(count + 1));
            let others = order.by_end.between(cue.first - gap, cue.first + 1);
            if self.any_is(others, cue, best) {
                for index in order.by_first.between(cue.after.0, cue.after.1) {
                    self.apply(cue, &located[index], &mut best[index]);
                }
                self.apply_within(cue, located, order, best);
            }
        }
        for cue in cues.iter().rev() {
            let gap = self.gap(|count| Some(cue.end + count));
            let others = order.by_first.between(cue.end, cue.end + gap + 1);
            if self.any_is(others, cue, best) {
                for index in order.by_end.between(cue.before.0 + 1, cue.before.1 + 1) {
                    self.apply(cue, &located[index], &mut best[index]);
                }
                self.apply_within(cue, located, order, best);
            }
        }
    }

    /// Lets a cue set a property of mentions that it overlaps: the hives of "develops hives with",
    /// and the rash of "maculopapular rash after".
    fn apply_within(
        &self,
        cue: &ScopedCue,
        located: &[Located],
        order: &Beside,
        best: &mut [Bests],
    ) {
        let ending = order.by_end.between(cue.first + 1, cue.end + MAX_WITHIN);
        let overlapping = ending.filter(|index| located[*index].first() < cue.end);
        for index in overlapping.filter(|_| cue.or_inside) {
            self.apply_ending(cue, &located[index], &mut best[index]);
        }
    }

    fn any_is(
        &self,
        mut mentions: impl Iterator<Item = usize>,
        cue: &ScopedCue,
        best: &[Bests],
    ) -> bool {
        let effect = self.beside(cue);
        effect.is_some_and(|effect| mentions.any(|index| is(&best[index], effect)))
    }

    /// How many tokens may be between a cue and a mention at its other side, in words of the
    /// sentence: `step` leads away from the cue.
    fn gap(&self, step: impl Fn(usize) -> Option<usize>) -> usize {
        let is_word = |count: &usize| {
            let token = step(*count).and_then(|at| self.tokens.get(at));
            token.is_some_and(|token| {
                token.mark == ' ' && !token.in_mention && !token.border.ends_sentence()
            })
        };
        (0..GAP).take_while(is_word).count()
    }

    /// Lets priors that need another mention in the sentence set what nothing has set.
    pub fn apply_priors_beside(&self, located: &[Located], order: &Beside, best: &mut [Bests]) {
        for prior in &self.set.priors {
            let Some(effect) = prior.condition.beside else {
                continue;
            };
            let priors: [&Prior; 1] = [prior];
            for (index, mention) in located.iter().enumerate() {
                if !self.is_of(prior, mention) {
                    continue;
                }
                let (from, to) = self.sentence(mention.first());
                let mut others = order.by_first.between(from, to);
                if others.any(|other| is(&best[other], effect)) {
                    self.apply_those(priors.into_iter(), mention, &mut best[index]);
                }
            }
        }
    }

    /// Whether a prior may set properties of a mention, wherever that is in its sentence.
    fn is_of(&self, prior: &Prior, mention: &Located) -> bool {
        let in_section = || {
            let section = self.section_of(mention);
            section.is_some_and(|section| section.known == Some(prior.section))
        };
        mention.satisfies(&prior.condition) && (prior.section == SUBHEADING || in_section())
    }

    /// The tokens of the sentence that a token is in, as far as a rule may look.
    fn sentence(&self, token: usize) -> (usize, usize) {
        let starts = |at: &usize| {
            let token = self.tokens.get(*at);
            token.is_none_or(|token| token.border.ends_sentence())
        };
        let least = token.saturating_sub(MAX_WITHIN);
        let most = token.saturating_add(MAX_WITHIN).min(self.tokens.len());
        (
            (least..=token).rev().find(starts).unwrap_or(least),
            (token + 1..most).find(starts).unwrap_or(most),
        )
    }
}
