//! What can be changed of a linker after its bundle was opened.

use crate::linker::Settings;
use pel_kb::error::{Error, Result};
use pel_kb::score::Scorer;
use pel_model::nil::NilPolicy;
use pel_text::attributes::AttributeRules;
use pel_text::context::ContextRules;
use pel_text::wordings::Wordings;
use std::borrow::Cow;

impl Settings<'_> {
    /// Sets the weight of the template in a score
    /// ([`ViewOptions::mix`](pel_model::tokens::ViewOptions::mix)).
    ///
    /// # Errors
    /// As [`ViewOptions::check_mix`](pel_model::tokens::ViewOptions::check_mix).
    pub fn set_mix(&mut self, mix: f32) -> Result<()> {
        let mixed = self.linker.bundle.index.info().mixed;
        if mixed > 0.0 {
            return match mix == mixed {
                true => Ok(()),
                false => Err(Error::input(format!(
                    "expected the weight {mixed} of the template, which the rows of the index hold, found {mix}; index again \
                     with --mix {mix}"
                ))),
            };
        }
        let view = &mut self.linker.bundle.manifest.view;
        view.mix = mix;
        view.check_mix()?;
        self.linker.bundle.index.set_mix(mix);
        self.linker
            .bundle
            .token_vectors
            .iter_mut()
            .for_each(|store| store.set_mix(mix));
        Ok(())
    }

    /// Sets the weight of spelling in a score
    /// ([`ViewOptions::spelling`](pel_model::tokens::ViewOptions::spelling)).
    ///
    /// # Errors
    /// As [`ViewOptions::check_spelling`](pel_model::tokens::ViewOptions::check_spelling).
    pub fn set_spelling(&mut self, share: f32) -> Result<()> {
        let manifest = &mut self.linker.bundle.manifest;
        manifest.view.spelling = share;
        manifest
            .view
            .check_spelling(manifest.encoder.reduction.score)
    }

    /// Sets the rule for NIL.
    pub fn set_policy(&mut self, policy: NilPolicy) {
        self.linker.bundle.manifest.nil = policy;
    }

    /// Sets which vectors are compared. With another scorer than the bundle's, the NIL policy
    /// becomes the default one: its threshold does not hold for other scores.
    ///
    /// # Errors
    /// If the bundle has no token vectors for Sum-of-Max, or concepts were added, which may have
    /// none.
    pub fn set_scorer(&mut self, scorer: Scorer) -> Result<()> {
        self.linker.use_scorer(scorer)
    }

    /// Sets whether mentions that are plainly a name of one concept are encoded and searched as the
    /// others. Their probability stays, and they get further candidates. By default a bundle that
    /// has probabilities of plain names leaves both out: more than half of the mentions of a
    /// clinical note then need no encoder.
    pub fn set_search_names(&mut self, search: bool) {
        self.linker.search_names = search;
    }

    /// Sets the wordings that stand for names, in place of those of English.
    pub fn set_wordings(&mut self, wordings: Wordings) {
        self.linker.bundle.set_wordings(wordings);
    }

    /// Sets the rules of context, in place of those of English.
    pub fn set_context_rules(&mut self, rules: ContextRules) {
        self.linker.context_rules = Cow::Owned(rules);
    }

    /// Sets the rules of attributes, in place of those of English.
    pub fn set_attribute_rules(&mut self, rules: AttributeRules) {
        self.linker.attribute_rules = Cow::Owned(rules);
    }
}
