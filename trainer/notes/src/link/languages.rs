//! Notes that are not in the language of the rules of context.

use pel_text::context::ContextRules;
use pel_text::language::Language;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Counts notes by language. Threads share it.
#[derive(Debug, Default)]
pub struct Languages(Mutex<BTreeMap<Language, Notes>>);

/// Notes of a language.
#[derive(Debug)]
struct Notes {
    count: u64,
    /// The place of one.
    example: String,
}

impl Languages {
    /// Counts a note if its text is in a language that the rules are not made for.
    pub fn add(&self, text: &str, rules: &ContextRules, place: impl FnOnce() -> String) {
        let Some(language) = Language::of(text) else {
            return;
        };
        if rules.languages().is_empty() || rules.languages().contains(&language) {
            return;
        }
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let notes = found.entry(language).or_insert_with(|| Notes {
            count: 0,
            example: place(),
        });
        notes.count += 1;
    }

    /// A warning for each language that was found.
    pub fn warnings(&self, rules: &ContextRules) -> Vec<String> {
        let of_rules: Vec<&str> = rules.languages().iter().map(|own| own.name()).collect();
        let of_rules = of_rules.join(" and ");
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let warning = |(language, notes): (&Language, &Notes)| {
            let name = language.name();
            let what = match notes.count {
                1 => format!("{} seems to be in {name}", notes.example),
                count => format!(
                    "{count} notes seem to be in {name}, such as {}",
                    notes.example
                ),
            };
            let option = name.to_lowercase();
            let hint = match ContextRules::built_in_names().any(|known| known == option) {
                true => format!("use --context-rules {option}, and names of that language"),
                false => "use rules (--context-rules FILE) and names of that language".to_owned(),
            };
            format!("warning: {what}, but the rules of context are {of_rules}; {hint}")
        };
        found.iter().map(warning).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRENCH: &str = "La patiente est venue aux urgences pour une fièvre depuis trois jours, \
                          sans douleur. Elle ne prend pas de traitement et son état est stable avec \
                          une toux.";

    fn rules(name: &str) -> ContextRules {
        ContextRules::built_in(name).expect("known").expect("valid")
    }

    #[test]
    fn notes_in_another_language_than_the_rules_are_told() {
        let languages = Languages::default();
        for place in ["a.txt", "b.txt"] {
            languages.add(FRENCH, ContextRules::english(), || place.to_owned());
        }
        languages.add("No fever.", ContextRules::english(), || "c.txt".to_owned());
        assert_eq!(
            languages.warnings(ContextRules::english()),
            [
                "warning: 2 notes seem to be in French, such as a.txt, but the rules of context are \
                 English; use --context-rules french, and names of that language"
            ]
        );
    }

    #[test]
    fn notes_in_the_language_of_the_rules_are_not_told() {
        let own = ContextRules::parse("include french", "own.rules").expect("valid");
        let alone = ContextRules::parse("cue negated forward: pas de", "own.rules").expect("valid");
        for rules in [rules("french"), own, alone] {
            let languages = Languages::default();
            languages.add(FRENCH, &rules, String::new);
            assert!(languages.warnings(&rules).is_empty());
        }
        assert_eq!(rules("contextkit").languages(), [Language::English]);
    }
}
