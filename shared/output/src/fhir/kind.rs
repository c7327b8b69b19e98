//! Which resource a mention becomes.

use super::allergies;
use crate::Record;
use pel_kb::group::Group;
use pel_text::context::{Allergy, Certainty, Context, Experiencer, Temporality};

/// The resources that a mention can become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Condition,
    /// A measurement.
    Measurement,
    /// A mention of a kind that is not known: there, or not.
    Observation,
    Medication,
    Procedure,
    /// A procedure or measurement that is planned.
    Plan,
    FamilyHistory,
    /// A substance that the patient does not tolerate, or that it is none.
    Allergy,
    /// The statement that no allergy is known, by its code and name in SNOMED CT.
    NoAllergy((&'static str, &'static str)),
}

impl Kind {
    /// The kind of a record with its words; `None` if it says nothing that a resource could say of
    /// the patient or the family.
    pub(super) fn of(record: &Record, words: &str) -> Option<Self> {
        let Context {
            negated,
            certainty,
            temporality,
            experiencer,
            ..
        } = &record.context;
        if *certainty == Certainty::Hypothetical || *experiencer == Experiencer::Other {
            return None;
        }
        match record.context.allergy {
            Some(Allergy::Allergen) => {
                return (*experiencer == Experiencer::Patient).then_some(Self::Allergy);
            }
            // It is part of the allergy, or no resource: an active condition it is not.
            Some(Allergy::Reaction) => return None,
            None => {}
        }
        if let Some(code) = allergies::none_known(words, &record.context) {
            return Some(Self::NoAllergy(code));
        }
        let group = record.group_of_concept();
        if *experiencer == Experiencer::Family {
            // A family history can state neither absence nor doubt.
            let stated = !negated && *certainty == Certainty::Certain;
            return (stated && group == Some(Group::Problem)).then_some(Self::FamilyHistory);
        }
        let planned = *temporality == Temporality::Future;
        match group {
            // It is not there yet.
            Some(Group::Problem) if planned && !negated => None,
            Some(Group::Problem) if allergies::names_substance(words) => Some(Self::Allergy),
            Some(Group::Procedure | Group::Measurement) if planned && !negated => Some(Self::Plan),
            Some(Group::Problem) => Some(Self::Condition),
            Some(Group::Drug) => Some(Self::Medication),
            Some(Group::Procedure) => Some(Self::Procedure),
            Some(Group::Measurement) => Some(Self::Measurement),
            // A part of the body by itself is no statement. The use of a device has no status for
            // what is not confirmed.
            Some(Group::Anatomy | Group::Device) => None,
            None => (record.decision.is_ok() && !planned).then_some(Self::Observation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use pel_text::Span;

    fn kind(group: Option<Group>, change: impl Fn(&mut Context)) -> Option<Kind> {
        let mut context = Context::default();
        change(&mut context);
        let record = Record {
            group,
            context,
            ..record(Span::new(0, 5))
        };
        Kind::of(&record, "fever")
    }

    #[test]
    fn kind_follows_group_and_context() {
        let stated = |_: &mut Context| {};
        for (group, expected) in [
            (Some(Group::Problem), Some(Kind::Condition)),
            (Some(Group::Drug), Some(Kind::Medication)),
            (Some(Group::Procedure), Some(Kind::Procedure)),
            (Some(Group::Measurement), Some(Kind::Measurement)),
            (Some(Group::Anatomy), None),
            (Some(Group::Device), None),
            (None, None),
        ] {
            assert_eq!(kind(group, stated), expected, "{group:?}");
        }
        let planned = |context: &mut Context| context.temporality = Temporality::Future;
        assert_eq!(kind(Some(Group::Procedure), planned), Some(Kind::Plan));
        assert_eq!(kind(Some(Group::Problem), planned), None);
        assert_eq!(kind(Some(Group::Drug), planned), Some(Kind::Medication));
    }

    #[test]
    fn an_allergen_is_no_drug_taken_and_a_reaction_no_condition() {
        let of = |group, allergy, experiencer| {
            kind(Some(group), |context| {
                context.allergy = Some(allergy);
                context.experiencer = experiencer;
            })
        };
        use Experiencer::{Family, Patient};
        for group in [Group::Drug, Group::Device, Group::Problem] {
            let found = of(group, Allergy::Allergen, Patient);
            assert_eq!(found, Some(Kind::Allergy), "{group:?}");
            assert_eq!(of(group, Allergy::Allergen, Family), None);
            assert_eq!(of(group, Allergy::Reaction, Patient), None);
        }
        let denied = |context: &mut Context| context.negated = true;
        let record = |group| {
            let mut context = Context::default();
            denied(&mut context);
            Record {
                group,
                context,
                ..record(Span::new(0, 4))
            }
        };
        for group in [Some(Group::Drug), Some(Group::Problem), None] {
            let found = Kind::of(&record(group), "NKDA");
            assert!(matches!(found, Some(Kind::NoAllergy(_))), "{found:?}");
        }
    }

    #[test]
    fn nothing_of_others_becomes_a_condition_of_the_patient() {
        let of = |experiencer, negated, certainty| {
            kind(Some(Group::Problem), |context| {
                context.experiencer = experiencer;
                context.negated = negated;
                context.certainty = certainty;
            })
        };
        use Certainty::{Certain, Hypothetical, Uncertain};
        use Experiencer::{Family, Other, Patient};
        assert_eq!(of(Family, false, Certain), Some(Kind::FamilyHistory));
        assert_eq!(of(Family, true, Certain), None);
        assert_eq!(of(Family, false, Uncertain), None);
        assert_eq!(of(Other, false, Certain), None);
        assert_eq!(of(Patient, false, Hypothetical), None);
        assert_eq!(of(Patient, true, Uncertain), Some(Kind::Condition));
        let drug = kind(Some(Group::Drug), |context| context.experiencer = Family);
        assert_eq!(drug, None);
    }
}
