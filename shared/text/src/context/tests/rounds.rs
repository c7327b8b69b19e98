//! Conditions, denials and times in many wordings.

use super::*;

#[test]
fn negation_tests_that_do_not_exclude() {
    for marked in [
        "Neg [head CT||procedure] does not exclude [SAH|uncertain], and her [headache] is severe.",
        "On [chest x-ray||procedure] an early [pneumonia|uncertain] could not be excluded.",
        "[Ultrasound||procedure]: [ascites], [perforation|uncertain] cannot be ruled out.",
        "[Fracture|uncertain] has not been ruled out; [splint||device] applied.",
        "[Troponins||measurement] flat, [infarction|negated] excluded.",
        "[Abscess|negated] has been excluded by [CT||procedure].",
        "A normal [D-dimer||measurement] rules out [PE|negated] in this low-risk [chest pain].",
    ] {
        check(marked);
    }
}

#[test]
fn negation_behind_mentions() {
    for marked in [
        "[Fever|negated] and [chills|negated] denied; [abdominal pain] for two days.",
        "[Diarrhea|negated]: denied by mother. [Vomiting]: 4 episodes.",
        "[Paranoia] noted by staff; [hallucinations|negated] he denies.",
        "Repeat film: [pneumothorax|negated] not seen, [emphysema] unchanged.",
        "Absent: [neck stiffness|negated], [photophobia|negated]. Present: [fever].",
        "[Stridor not heard|negated]. [Croup] clinically.",
        "[Edema] 2+, [crackles|negated] none.",
    ] {
        check(marked);
    }
}

#[test]
fn negation_ends() {
    for marked in [
        "No [seizures|negated] on [levetiracetam||drug].",
        "Free of [angina|negated] and takes [metoprolol||drug].",
        "No [effusion|negated] on the [CT||procedure].",
        "Neither [rash|negated] nor [fever|negated] followed the [vaccination||procedure].",
    ] {
        check(marked);
    }
}

#[test]
fn what_looks_like_negation() {
    for marked in [
        "He does not deny [alcohol use].",
        "I do not doubt that the [fibromyalgia] is driving her symptoms.",
        "She was not aware of her [hypertension]; denies [chest pain|negated].",
        "No [change in the leg edema].",
        "No [change in bowel habits|negated].",
        "[Cough] is not controlled by [codeine||drug].",
        "Missed no doses of [warfarin||drug].",
        "No problems with [metformin||drug]. No problems with [breathing|negated].",
        "No further work-up of the [nodule].",
    ] {
        check(marked);
    }
}

#[test]
fn denials_of_relatives() {
    for marked in [
        "Husband has not noticed any [slurred speech|negated], only her [dizziness].",
        "Mom cannot control the [fever] with [paracetamol||drug].",
        "Parents have not seen any [seizures|negated].",
    ] {
        check(marked);
    }
}

#[test]
fn conditions_of_drugs_that_are_in_use() {
    for marked in [
        "If [vomiting|hypothetical] occurs, stop the [metformin||drug].",
        "Pt told to stop [metformin||drug] should [vomiting|hypothetical] occur.",
        "[Oxytocin||drug] infusion, stop for [fetal bradycardia|hypothetical].",
        "PRN chart: [midazolam||drug] for [agitation|hypothetical].",
        "PRN [lorazepam||drug] for [agitation|hypothetical].",
        "You may take [ibuprofen||drug] for [cramps|hypothetical].",
        "Do not give [metoclopramide|negated|drug].",
    ] {
        check(marked);
    }
}

#[test]
fn conditions_of_returns_and_warnings() {
    for marked in [
        "Attend A&E with any [loss of vision|hypothetical].",
        "Mom told to bring him back with any [cyanosis|hypothetical].",
        "Go to the nearest ER for sudden [weakness|hypothetical].",
        "Worrisome signs discussed: [lethargy|hypothetical], [stiff neck|hypothetical].",
        "Side effects of [lithium||drug]: [tremor|hypothetical].",
        "Watch for [refeeding syndrome|hypothetical]; [anorexia].",
        "As required for [agitation|hypothetical], known [dementia].",
    ] {
        check(marked);
    }
}

#[test]
fn words_behind_the_last_item_of_a_denial() {
    for marked in [
        "No [effusion|negated], L [rib fracture].",
        "No [hydronephrosis|negated] on [US||procedure].",
        "No [nausea|negated], [flatus] passed.",
        "No [rebound|negated], [tenderness] in the RLQ.",
        "No [rash|negated], [eczema] on hands.",
        "No [abscess|negated], surrounding [cellulitis].",
        "No [fever|negated] on [paracetamol||drug].",
        "Not currently on [insulin|negated|drug].",
        "No [rash|negated], [itching|negated] or [swelling|negated] of the face.",
        "[Fever] day 2, bacterial cause unlikely.",
    ] {
        check(marked);
    }
}

#[test]
fn forms_and_abbreviations() {
    for marked in [
        "[Depression|negated] - N, [anxiety] - Y, [insomnia|negated] - N",
        "[Rash|negated] (N), [itch] (Y)",
        "[Cough] present, [wheeze|negated] absent",
        "-ve [fever|negated], +ve [cough]",
    ] {
        check(marked);
    }
}

#[test]
fn time_of_drugs_that_were_changed() {
    for marked in [
        "No longer takes [lithium|historical|drug].",
        "Came off [prednisone|historical|drug] in May.",
        "[Prednisone|historical|drug] tapered off in May.",
        "[Amoxicillin||drug] started yesterday.",
        "Restarted [lithium||drug] last week.",
        "[Ramipril|historical|drug] was switched to [losartan||drug] last year.",
        "[Lisinopril|historical|drug] was stopped in March because of [hyperkalemia|historical].",
        "Restart [metformin|future|drug] in 48 hours.",
        "Advised to have [flu vaccine|future|drug].",
    ] {
        check(marked);
    }
}

#[test]
fn time_of_illness_that_is_over() {
    for marked in [
        "Childhood [asthma|historical], now [eczema].",
        "[Asthma] since childhood.",
        "Last [seizure|historical] in May.",
        "[Hepatitis C|historical], cured in 2018.",
        "[Gout|historical] 10 years ago, no attacks since.",
        "2015: [stroke|historical]. 2019: [hip fracture|historical]. Today: [confusion].",
        "History of [melanoma|historical].",
        "Admitted with [pneumonia].",
        "[Stroke|historical] in 2020, residual [dysarthria].",
        "Presented with [chest pain] after [CABG|historical|procedure] last year.",
    ] {
        check(marked);
    }
}

#[test]
fn time_of_plans_and_results() {
    for marked in [
        "[MRI|future|procedure] is scheduled for Monday.",
        "Review in 6 weeks with [spirometry|future|procedure].",
        "In 3 months: [MRI|future|procedure].",
        "Today: [CT||procedure]. Tomorrow: [MRI|future|procedure].",
        "Yet to have [MRI|future|procedure].",
        "[Urinalysis||procedure] done, [culture|future|procedure] pending.",
    ] {
        check(marked);
    }
}

#[test]
fn tests_with_their_findings() {
    for marked in [
        "Repeat [ECG||procedure] excluded [myocardial infarction|negated].",
        "The [mammogram||procedure] failed to show a [mass|negated].",
        "[MRI||procedure] could not rule out [osteomyelitis|uncertain] beneath the [ulcer].",
        "[Temporal arteritis|uncertain] must be excluded given the [headache].",
        "[Tuberculosis|negated] was considered excluded; [cough] for a week.",
        "It is not possible to exclude [ischaemia|uncertain].",
        "[Suicidal thoughts|negated] were denied, as were [hallucinations|negated]. [Low mood] persists.",
        "Not [pregnant|negated], [anaemia].",
    ] {
        check(marked);
    }
}

#[test]
fn conditions_in_more_words() {
    for marked in [
        "To see GP if no better in three weeks, or at once if [haemoptysis|hypothetical].",
        "Stop [metformin||drug] during [vomiting|hypothetical].",
        "Hold [insulin||drug] if NPO.",
        "[MRI|hypothetical|procedure] if [weakness|hypothetical] develops.",
        "Safety net: [neck stiffness|hypothetical], [drowsiness|hypothetical].",
        "Watch for [bleeding|hypothetical], on [apixaban||drug] for [atrial fibrillation].",
        "Titrate [oxygen||measurement] to sats 88-92% given known [COPD].",
        "Should INR exceed 5, give [vitamin K|hypothetical|drug].",
        "In the event that [seizures|hypothetical] recur, load with [phenytoin|hypothetical|drug].",
        "PRN: [haloperidol||drug] for [agitation|hypothetical].",
        "Keep [prednisolone||drug] at home for [asthma exacerbation|hypothetical].",
    ] {
        check(marked);
    }
}

#[test]
fn persons_in_more_words() {
    for marked in [
        "Family history of [glaucoma|family], currently uses [latanoprost||drug] for [ocular hypertension].",
        "Partner has [chlamydia|other], she has [dysuria].",
        "No family history of [diabetes|negated family], has [hypertension].",
    ] {
        check(marked);
    }
}

#[test]
fn times_before_a_comma() {
    for marked in [
        "[COPD], quit [smoking|historical] in 2009.",
        "[Appendectomy|historical|procedure] 5 years ago, [colonoscopy||procedure] normal.",
        "In 2018, [cholecystectomy|historical|procedure].",
        "[Pneumonia|historical] when he was 30. [Cough] for a week.",
        "[Gonorrhoea|historical] treated 2019. Now [urethral discharge].",
        "[Ulcerative colitis|historical] now in remission.",
        "[AF] was treated with [amiodarone||drug].",
        "Switched from [lisinopril|historical|drug] to [candesartan||drug] last summer.",
        "[Gallstones] on [ultrasound||procedure], [cholecystectomy|future|procedure] scheduled for 14 June.",
        "Once the [pancreatitis] has settled, [cholecystectomy|future|procedure] will be done.",
        "[Kidney transplant|future|procedure] hoped for in autumn, [dialysis||procedure] meanwhile.",
        "Referred him for [spirometry|future|procedure].",
    ] {
        check(marked);
    }
}

#[test]
fn values_on_which_a_drug_is_given_or_held() {
    for marked in [
        "Hold [heparin||drug] if [platelets|hypothetical|measurement] < 40.",
        "[Labetalol||drug] 10 mg IV q4h prn [SBP|hypothetical|measurement] > 165.",
        "If [INR|hypothetical|measurement] > 6 give [vitamin K|hypothetical|drug].",
        "Call MD: [temperature|hypothetical|measurement] > 39, [vomiting|hypothetical].",
        "[INR||measurement] 2.4 today on [warfarin||drug].",
    ] {
        check(marked);
    }
}

#[test]
fn exclusions_and_suspicions_in_short_sentences() {
    for marked in [
        "[Beta-hCG||measurement] low, [molar pregnancy|negated] therefore excluded.",
        "[Gastroscopy||procedure] clear, so [gastric cancer|negated] is out.",
        "[Lupus|negated] not supported by [serology||measurement].",
        "[PCI|historical|procedure] in 2018; [stent thrombosis|uncertain] suspected now.",
        "[Tooth decay] is obvious.",
    ] {
        check(marked);
    }
}

#[test]
fn plans_and_histories_in_short_sentences() {
    for marked in [
        "On [tacrolimus||drug]; plan [renal biopsy|future|procedure] and [steroids|future|drug].",
        "[Etanercept||drug] now, [abatacept|future|drug] from next month.",
        "Remote history of [duodenal ulcer|historical].",
        "In remission from [lymphoma|historical] since 2016.",
        "Dental history: [root canal|historical|procedure].",
        "At age 7 [tonsillectomy|historical|procedure].",
    ] {
        check(marked);
    }
}
