//! Times that dates tell: what is past, ahead, or goes on.

use super::*;
use crate::attributes::{Anchor, AttributeRules, Kind, times};

/// Checks a text whose dates are known.
fn check_dated(marked: &str) {
    let (text, mentions, expected) = read(marked);
    let spans: Vec<[Span; 1]> = mentions.iter().map(|(span, _)| [*span]).collect();
    let both = || spans.iter().zip(&mentions);
    let anchors: Vec<Anchor> = both()
        .map(|(pieces, (_, group))| Anchor {
            pieces,
            kind: Kind::of_group(*group),
        })
        .collect();
    let targets: Vec<Target> = both()
        .map(|(pieces, (_, group))| Target {
            pieces,
            group: *group,
        })
        .collect();
    let dates = times(&text, &AttributeRules::english().find(&text, &anchors));
    let found = ContextRules::english().judge_dated(&text, &targets, &dates);
    let found: Vec<String> = found.iter().map(short).collect();
    assert_eq!(found, expected, "{marked}");
}

/// A mention with its group.
type Marked = (Span, Option<Group>);

/// The text of `[mention|context|kind]`, the mentions and their contexts.
fn read(marked: &str) -> (String, Vec<Marked>, Vec<&str>) {
    let (mut text, mut mentions, mut expected) = (String::new(), Vec::new(), Vec::new());
    for part in marked.split(']') {
        let (before, inner) = part.split_once('[').unwrap_or((part, ""));
        text.push_str(before);
        let mut fields = inner.split('|');
        let mention = fields.next().unwrap_or_default();
        if !mention.is_empty() {
            expected.push(fields.next().unwrap_or_default());
            let group = fields.next().and_then(Group::of_name);
            let start = text.len();
            text.push_str(mention);
            let span = Span::new(start, text.len());
            mentions.push((span, group.or(Some(Group::Problem))));
        }
    }
    (text, mentions, expected)
}

#[test]
fn dated_procedures_and_events_are_over() {
    for marked in [
        "[CABG|historical|procedure] 2010.",
        "[Appendectomy|historical|procedure] at age 9.",
        "[Colonoscopy|historical|procedure] 3/2018 normal.",
        "[Lumbar fusion|historical|procedure], 2008.",
        "[EGD|historical|procedure] on 4/2/2019, [colonoscopy|historical|procedure] 5/6/2020, seen 2/1/2023.",
        "[Bone scan|historical|procedure] 3 days ago.",
        "[Thyroidectomy|historical|procedure] '98.",
        "[Cholecystectomy|historical|procedure] (1995)",
        "[Coronary angiogram|historical|procedure] 6 months ago.",
        "[Stress test|historical|procedure] last year.",
        "PSH: [hip replacement|historical|procedure] 2015.",
        "[Radiation therapy|historical|procedure] 2009-2010.",
        "[Mastectomy|historical|procedure] in the late 90s.",
        "[Biopsy|historical|procedure] 02/14/2021: benign. Seen today, 3/1/2023.",
        "[MRI brain|historical|procedure] dated 3/4/2020. Today's date 5/1/2024.",
        "[Carotid ultrasound|historical|procedure] 2 weeks ago",
        "[MI|historical] 2016.",
        "[Stroke|historical] (2018).",
        "[DVT|historical] 2/2020",
        "[Pneumonia|historical] x2, 2015 and 2017.",
        "[Hip fracture|historical] - 2012.",
        "[Kidney stones|historical] '05.",
        "[TIA|historical] 3 years ago",
        "[Shingles|historical] in 1998",
        "[Pancreatitis|historical] Jan 2014",
        "[Pulmonary embolism|historical] 12/2011, on warfarin.",
        "[GI bleed|historical] in the 1990s",
        "[Concussion|historical] at age 12",
        "[Meningitis|historical] aged 4",
        "[Miscarriage|historical] 2008, [preeclampsia|historical] 2010",
        "She had a [laminectomy|historical|procedure] performed by Dr. Smith at Mercy in 2011.",
        "h/o [MI|historical] (inferior, 2016), [HTN].",
        "[Stroke|historical]: left MCA, 2017.",
        "On 3/4/2019 he underwent [carotid endarterectomy|historical|procedure].",
        "Hospitalized 2018 with [sepsis|historical].",
        "[Ankle fracture|historical], 6/14/2012, healed well.",
        "[Bariatric surgery|historical|procedure] in Mexico, Sept 2013.",
        "2014 - [CABG|historical|procedure], 2016 - [stroke|historical], 2019 - [DVT|historical].",
        "Last [tetanus booster|historical|procedure] 2018.",
        "[Cardiac catheterization|historical|procedure] (6/2017): nonobstructive [CAD].",
        "[Echo|historical|procedure] done March 2021 showed EF 50%.",
        "He was admitted in July 2022 for [pneumonia|historical].",
        "Known [epilepsy] since a [head injury|historical] in 2003.",
        "Surgery date: 4/3/2022. [Rotator cuff repair|historical|procedure].",
        "[Appendicitis|historical] at 14, [mono|historical] at 16.",
        "[Nephrectomy|historical|procedure] for [renal cell carcinoma|historical] in 2012.",
        "[Breast cancer|historical] 2005, [lumpectomy|historical|procedure] and [radiation|historical|procedure] 2006.",
        "[CABG|historical|procedure]: 2011.",
        "[Colonoscopy|historical|procedure]: 5/2019, normal",
        "[EGD|historical|procedure]: in 2020",
        "[Hysterectomy|historical|procedure]: March 2003",
        "[MRI|historical|procedure]: 2021 - no change",
        "[Wrist fracture|historical], age 12",
        "[Concussion|historical] (age 19)",
        "[Pneumonia|historical] in hospital, age 7",
        "[Meningitis|historical] - age 2",
        "[DVT|historical] (at age 30)",
        "[Angioplasty|historical|procedure] of the leg by Dr. Roe, 8/2017",
        "[Sinus surgery|historical|procedure] with Dr. May (2009)",
        "[Stroke|historical] affecting his speech, 2013",
        "[Lung biopsy|historical|procedure] at the Mayo Clinic six days ago",
        "[Pneumonia|historical] in 4/2020.",
    ] {
        check_dated(marked);
    }
}

#[test]
fn chronic_diseases_with_a_date_go_on() {
    for marked in [
        "[Diabetes] since 2010",
        "[COPD] dx 2014",
        "[HTN] (2003), [hyperlipidemia] (2005)",
        "[Rheumatoid arthritis] diagnosed in 2012",
        "[Asthma] since age 5",
        "[CKD stage 3] from 2019",
        "[Hypothyroidism], 1999",
        "[Parkinson disease], onset 2016",
        "[Atrial fibrillation] first noted 8/2021",
        "[Crohn's disease] x 15 years",
        "[Multiple sclerosis] dx'd 2007.",
        "[Back pain] since 2019",
        "[HIV] (dx 1994)",
        "[Cough] started 3 days ago",
        "[Chest pain] 2 hours ago",
        "[Rash] since last week",
        "[Headache] for 6 months",
        "[Glaucoma] since the 1990s",
        "[Osteoporosis] on DEXA 2020",
        "[Depression] began in 2015",
        "[Hepatitis C], treated 2015 with Harvoni.",
        "[Gout] flares in 2019 and 2021, on allopurinol.",
        "[Diabetes] diagnosed at age 40, [retinopathy] since 2018.",
        "[Endometriosis], laparoscopy-proven 2011.",
        "[Hip pain] got worse 2 weeks ago.",
        "[Atrial fibrillation], new 3/2023, on apixaban.",
        "[Pneumonia] since 4/2/2023, still coughing.",
        "[Physical therapy||procedure] since 2021",
        "[Dialysis||procedure] since 2019, three times a week.",
        "[Abdominal pain] 6/3/2023, ED visit 6/4/2023.",
        "[Cellulitis] for 3 days. Seen 5/5/2023.",
        "[Hemodialysis||procedure] since March 2021.",
        "[Speech therapy||procedure] since age 4.",
        "[UTI] since 3/14/2024, on nitrofurantoin.",
        "[Cellulitis] of the leg since June 2.",
        "[Bronchitis] since 5 May, not better.",
    ] {
        check_dated(marked);
    }
}

#[test]
fn what_is_ahead_is_planned() {
    for marked in [
        "[Colonoscopy|future|procedure] in 3 months",
        "[Hip replacement|future|procedure] scheduled for 3/12",
        "[MRI|future|procedure] next week",
        "Repeat [CT chest|future|procedure] in 6-8 weeks",
        "[BMP|future|measurement] in 48 hours",
        "[Mammogram|future|procedure] due 2025",
        "[Echo|future|procedure] tomorrow",
        "[Stress test|future|procedure] booked 12/5",
        "[A1c|future|measurement] in 3 months",
        "Will have [knee replacement|future|procedure] on June 3.",
        "[Follow-up MRI|future|procedure] due in 1 year.",
        "Next [mammogram|future|procedure] 10/2025. Visit 11/4/2024.",
        "[Pap smear|future|procedure] due 3/2026.",
        "[Thyroid ultrasound|future|procedure] to be done in 12 months.",
        "[Surgery|future|procedure] is set for the 14th of May.",
        "[Eye exam|future|procedure] due in June.",
        "[Tdap|future|procedure] due again 2027.",
        "[DEXA|future|procedure] is due 05/2025.",
        "[Prolia injection|future|procedure] due by March 2026.",
        "[Mammogram|future|procedure] due 9/12.",
        "[Cataract surgery|future|procedure] is set for Tuesday.",
        "[C-section|future|procedure] is slated for next week.",
        "[Angiogram|future|procedure] was listed for 4 May.",
        "[Hernia repair|future|procedure] is on the books for June.",
        "[ERCP|future|procedure] is set for the 3rd.",
        "Repeat [lipids|future|measurement] within 3 months",
    ] {
        check_dated(marked);
    }
}
