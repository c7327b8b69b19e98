//! Relatives and others who have a disease, and those who only tell of the patient.

use super::*;

#[test]
fn what_is_told_of_relatives_is_theirs() {
    for marked in [
        "A cousin is said to have [Marfan syndrome|family].",
        "Her aunt was reported to have [breast cancer|family].",
        "His uncle was thought to have [Huntington disease|uncertain family].",
        "Her sister is known to have [celiac disease|family].",
        "Two maternal cousins are believed by the family to have [epilepsy|family].",
        "One of her nieces, said to have [Turner syndrome|family], lives abroad.",
        "The patient's older brother has been confirmed to have [hemochromatosis|family].",
        "Both sisters were later found to carry [BRCA1 mutation|family].",
        "His mother recalls having had [gestational diabetes|family].",
        "Her aunt mentioned having been diagnosed with [lupus|family].",
        "Her partner has been known to have [hepatitis B|other].",
        "A coworker was reported to have [tuberculosis|other].",
    ] {
        check(marked);
    }
}

#[test]
fn what_relatives_tell_is_the_patients() {
    for marked in [
        "Mother says the child has [fever].",
        "Wife reports that he has [chest pain].",
        "Mother noted that the baby has [rash].",
        "The child is said by his mother to have [asthma].",
        "The child was found to have [otitis media].",
        "Mom reports having seen [jaundice] on the second day.",
        "Wife has noted [tremor] and [confusion].",
        "Sister was asked to bring [insulin||drug].",
    ] {
        check(marked);
    }
}
