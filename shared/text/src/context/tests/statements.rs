//! What tests rule out, where lists end, conditions of drugs, and time.

use super::*;

#[test]
fn a_test_that_rules_out_is_not_denied() {
    for marked in [
        "[CT||procedure] ruled out [PE|negated].",
        "[PE|negated] ruled out by [culture||procedure].",
        "[PE|negated] was ruled out on [CTA||procedure].",
        "[Fracture|negated] excluded radiographically, [sprain] treated.",
        "[DVT|negated] excluded with [ultrasound||procedure], [cellulitis] treated.",
        "[SAH|negated] r/o by [LP||procedure].",
        "[ACS|negated] ruled out, discharged on [omeprazole||drug].",
    ] {
        check(marked);
    }
}

#[test]
fn spellings_of_denials() {
    for marked in [
        "This is not only [pneumonia] but also [empyema].",
        "Without further [bleeding|negated].",
        "No [fever|negated], [heart rate||measurement] 80.",
        "No [leukocytosis|negated], [Hb||measurement] 12.1, [creatinine||measurement] 0.9",
        "Mother denies that the child has [fever|negated].",
        "Parents deny [rash|negated] or [fever|negated].",
        "[Edema|negated]: 0. [Clubbing|negated]: 0/4. 0+ [edema|negated]. [Pain] 0.5",
        "[Rigidity|negated] 0/4, [bradykinesia] 2/4",
        "Neg. for [cough|negated] and [rash|negated].",
        "[Strep|negated] neg. [Hepatitis A|negated], B and C negative.",
        "[MRSA|negated] swab negative. [RSV|negated]: not detected.",
        "[Antibiotics|negated|drug] were not required.",
        "[Oxygen|negated|drug] is no longer needed.",
        "[Wheezing|negated] was not heard.",
        "[NSAIDs|negated|drug] to avoid.",
        "This does not fit with [lupus|negated].",
        "Findings argue against [hemolysis|negated].",
    ] {
        check(marked);
    }
}

#[test]
fn a_new_topic_after_a_comma_is_stated() {
    for marked in [
        "No current [inhalers|negated|drug], [psoriasis].",
        "No [rash|negated], [knee pain] since March.",
        "No [rash|negated], [cough] x 3 days.",
        "No [rash|negated], [hypertension] on [lisinopril||drug].",
        "No [rash|negated], [asthma since 2004].",
        "No specific treatment, [tennis elbow].",
        "[PE|negated] unlikely, [procalcitonin|future|measurement] pending.",
        "No [bowel sounds|negated], [tenderness] present",
        // The list goes on.
        "No [rash|negated], [fever|negated] or [cough|negated] since March.",
        "No [rash|negated], [fever|negated], [cough|negated] today.",
        "Denies [cough|negated], [pain|negated] at night, or [rash|negated].",
    ] {
        check(marked);
    }
}

#[test]
fn what_a_drug_is_taken_for_if_need_be_is_hypothetical() {
    for marked in [
        "[Tylenol||drug] prn [pain|hypothetical] or [fever|hypothetical].",
        "as needed for [nausea|hypothetical]; [sertraline||drug] for [depression]",
        "prn [wheezing|hypothetical], [lisinopril||drug] for [hypertension]",
        "[Tylenol PRN pain|hypothetical].",
        "[Metoprolol||drug] daily, hold for [hypotension|hypothetical].",
        "[Lorazepam||drug] 0.5 mg tid prn [anxiety|hypothetical] or [nausea|hypothetical]",
        "titrated to [sedation|hypothetical|procedure]",
        "Takes [albuterol||drug] prn. [Pneumonia] improving.",
        "Return to ED for [fever|hypothetical].",
        "RTC if [rash|hypothetical].",
        "Call with [fever|hypothetical] or [chills|hypothetical].",
        "Seen in the ED for [chest pain].",
        "Education given about [diabetes|hypothetical].",
        "Informed of side effects: [nausea|hypothetical], [rash|hypothetical].",
        "Has side effects: [nausea].",
    ] {
        check(marked);
    }
}

#[test]
fn plans_and_history_reach_their_entries() {
    for marked in [
        "s/p [CABG|historical|procedure] c/o [chest pain].",
        "s/p [CABG|historical|procedure] 2016, [AF] on [apixaban||drug]",
        "s/p [stroke|historical] with [hemiparesis]",
        "Plan: [ECG|future|procedure], also [D-dimer|future|measurement], [CRP|future|measurement].",
        "Pending: [lactate|future|measurement], [cultures|future|procedure]",
        "[Anemia|uncertain] suspected: [colonoscopy|future|procedure] once she has recovered.",
        "[Anemia|uncertain] suspected: [ferritin|future|measurement], [EGD|future|procedure]",
        "PLAN\nHis [x-ray||procedure] showed a [fracture].",
        "[MI|historical] 2009, [CABG|historical|procedure] 2010",
        "Former [tobacco use|historical]. [Alcohol abuse|historical], sober since 2010.",
        "[Migraines|historical] as a teenager.",
        "Plan: continue [metformin||drug], add [insulin|future|drug].",
        "[Lisinopril|historical|drug] stopped in May, [losartan||drug] since then.",
        "[Gastroscopy||procedure]: [ulcer]",
        "Had [chemotherapy|historical|procedure] in 2018 for [breast cancer].",
    ] {
        check(marked);
    }
}

#[test]
fn orders_and_due_results_are_planned() {
    for marked in [
        "Bloods to be rechecked tomorrow: [urea|future|measurement], [CRP|future|measurement].",
        "Orders: [CT|future|procedure], [lactate|future|measurement].",
        "Possible [embolism|uncertain]: [D-dimer|future|measurement], then [CT|future|procedure].",
        "[Swab|future|measurement] outstanding, [ECG||procedure] shows [flutter].",
        "[Chemotherapy|future|procedure] to begin in two weeks.",
        "Plan to restart [metformin|future|drug] in a week.",
        "Changed from [ramipril|historical|drug] to [losartan||drug].",
        "[Hypokalemia|historical] corrected before transfer; [diarrhea] continues.",
        "[Measles|historical] aged six.",
    ] {
        check(marked);
    }
}

#[test]
fn rule_out_and_secondary_to_have_no_side() {
    for marked in ["[asthma], r/o [COPD]", "[AKI] 2/2 [sepsis], r/o [PE]"] {
        check_by(ContextRules::english(), marked, attributes);
    }
}

#[test]
fn denials_behind_a_mention() {
    for marked in [
        "[Ventilation|negated|procedure] never proved necessary.",
        "[Laparotomy|negated historical|procedure] was ultimately not performed.",
        "[Sedation|negated|drug] not needed on the ward.",
        "They decided against [chemotherapy|negated historical|procedure].",
        "Asked about [bruising|negated], which he denied.",
        "[Tremor|negated] N, [rigidity] Y (right arm), [numbness|negated] N",
        "[Cough] - present",
    ] {
        check(marked);
    }
}

#[test]
fn semicolons_divide_a_list_behind_a_colon() {
    for marked in [
        "Negative for: [fever|negated]; [rash|negated]; [night sweats|negated]. [Cough] present.",
        "Denies: [hematuria|negated]; [dysuria|negated].",
        "No [fever|negated]; [cough] for a week.",
    ] {
        check(marked);
    }
}

#[test]
fn what_is_found_behind_a_denial_is_stated() {
    for marked in [
        "[Echo||procedure] ruled out [endocarditis|negated], [fever] attributed to [phlebitis].",
        "Parents deny that their daughter has [wheeze|negated], but they report [snoring].",
        "Son denies [chest pain|negated] on his father's behalf, confirms [cough].",
        "Not on [inhalers|negated|device], [eczema].",
        "No [fever|negated], [pulse||measurement] 112, [dyspnea].",
        "No current creams, [eczema].",
        "Her daughter has [eczema|family].",
    ] {
        check(marked);
    }
}

#[test]
fn conditions_in_more_wordings() {
    for marked in [
        "[Zopiclone||drug] to be used only when [insomnia|hypothetical] returns.",
        "[Atenolol||drug] - hold parameters: [bradycardia|hypothetical], [hypotension|hypothetical].",
        "Should [vomiting|hypothetical] recur, give [ondansetron|hypothetical|drug].",
        "Come back at once should [fever|hypothetical] set in.",
        "[Methotrexate||drug] counselling: [cough|hypothetical] or [mouth ulcers|hypothetical].",
        "[Rizatriptan||drug] 10 mg at onset of [migraine|hypothetical].",
        "[Midazolam||drug] 10 mg for [seizure|hypothetical] of more than 5 minutes.",
        "Told to report [dark urine|hypothetical] or [jaundice|hypothetical].",
        "No [red flags|negated], [sciatica] for three weeks.",
    ] {
        check(marked);
    }
}

#[test]
fn a_cue_at_the_start_of_a_sentence_says_nothing_of_the_one_before() {
    for marked in [
        "Has [fever]. Ruled out: [pneumonia|negated], [PE|negated].",
        "Has [gout]. Not present: [fever|negated], [cough|negated].",
        "Known [COPD]. Resolved: [pneumonia|historical].",
        "RULED OUT:\n- [Pneumonia|negated]\n- [PE|negated]",
    ] {
        check(marked);
    }
}

#[test]
fn a_denial_behind_a_list_ends_at_other_words() {
    for marked in [
        "[Ascites] present, [perforation|negated] not seen.",
        "[Fever|negated], [chills|negated] and [rash|negated] denied.",
        "[Chlamydia|negated], [gonorrhea|negated] and [syphilis|negated] negative.",
    ] {
        check(marked);
    }
}

#[test]
fn differentials_end_with_the_sentence_of_their_heading() {
    for marked in [
        "DDx: [MI|uncertain], [PE|uncertain]. [Leukocytosis] of 15.",
        "DDx:\n- [Pneumonia|uncertain]\n- [PE|uncertain]",
        // The dash is of the line before.
        "Shx -\nFhx\nFather - [gout|family].\n[Stroke|family] too",
    ] {
        check(marked);
    }
}

#[test]
fn cues_for_other_kinds_leave_a_mention_to_the_rest() {
    for marked in [
        "[MRI|future|procedure] is scheduled for Monday.",
        "In her teens she had [anorexia|historical].",
        "No longer takes [lithium|historical|drug].",
        "[Cough] x 3 wks. [Bronchiolitis|historical] in infancy.",
    ] {
        check(marked);
    }
}
