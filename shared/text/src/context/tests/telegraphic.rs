//! Check lists, lists that end in a new finding, and sides side by side.

use super::*;

/// An item in lower case starts after an answer, if each item has one.
#[test]
fn check_lists_in_lower_case() {
    for marked in [
        "[fever|negated]: no [cough]: yes",
        "[fever]: yes [cough|negated]: no",
        "[fever|negated]: no [cough]: yes [rash|negated]: no [chills|negated]: none",
        "ros [fever|negated]: no [sore throat]: yes [vomiting|negated]: no",
        "[fever|negated]: no [SOB]: yes [wt loss|negated]: no",
        "[nausea|negated]: n [vomiting]: y [diarrhea|negated]: n.",
        "[nausea|negated] = no [vomiting] = yes",
        "[nausea|negated] - no [vomiting] - yes",
        "[fever|negated]? no [cough]? yes",
        "[chest pain|negated]: denied [leg swelling]: yes [palpitations|negated]: denied",
        "[nausea|negated]/[vomiting|negated]: no [diarrhea]: yes",
        "[fever|negated]: no\n[cough]: yes",
        "[fever|negated]: NO [cough]: YES [rash|negated]: NO",
        "PMH: [gout]. [fever|negated]: no [cough]: yes",
        // No check lists.
        "chest: no [wheeze|negated], abd: no [tenderness|negated]",
        "lungs: no [wheezes|negated] or [crackles|negated]",
        "neuro: no [focal deficit|negated]",
        "[cough]: yes, no [fever|negated]",
        "CV: No [chest pain|negated] GI: No [nausea|negated]",
    ] {
        check(marked);
    }
}

/// "No bleed, new infarct" says that there is an infarct.
#[test]
fn a_new_finding_after_a_comma_ends_a_denial() {
    for marked in [
        "no [bleed|negated], new [infarct]",
        "no [bleed|negated], [new infarct]",
        "CT head: no [hemorrhage|negated], acute [infarct] in the left MCA territory.",
        "No [edema|negated], [acute rash] on both arms.",
        "No [fever|negated], worsening [cough].",
        "Without [chest pain|negated], new [dyspnea].",
        "No [fracture|negated], new [lytic lesion] of L2.",
        "no [fever|negated], [chills|negated], now has [cough]",
        "no [fever|negated], now [cough]",
        "No [effusion|negated], increasing [consolidation].",
        "no [pneumothorax|negated] - new [effusion]",
        "no [mass|negated], recurrent [stenosis], no [leak|negated]",
        "No [bleed|negated], persistent [hydrocephalus].",
        // The list goes on.
        "No [bleed|negated], new [infarct|negated] or [mass|negated].",
        "No [bleed|negated], new [infarct|negated], or [mass|negated].",
        "No [bleed|negated], [acute infarct|negated], or [mass effect|negated].",
        "Denies [fever|negated], new [rash|negated] or [joint pain|negated].",
        "Denies [fever|negated], worsening [cough|negated], new [rash|negated] or [pain|negated].",
        "no [fever|negated], new [cough|negated] nor [rash|negated]",
        "No [bleed|negated], acute [infarct|negated] and no [shift|negated].",
        "no new [infarct|negated]",
        "No new or worsening [pain|negated].",
        "No acute [infarct|negated], no [bleed|negated].",
        // The "or" of another clause joins nothing.
        "No [bleed|negated], new [infarct]; [seizure] or [migraine].",
        "No [bleed|negated], new [infarct]. [Seizure] or [migraine].",
        "No [bleed|negated], new [infarct], but [seizure] or [migraine].",
    ] {
        check(marked);
    }
}

#[test]
fn a_new_finding_ends_a_denial_in_other_languages() {
    for (name, marked) in [
        ("german", "Keine [Blutung|negated], neuer [Infarkt]."),
        (
            "german",
            "Keine [Blutung|negated], neuer [Infarkt|negated] oder [Tumor|negated].",
        ),
        ("french", "Pas de [fièvre|negated], nouvelle [toux]."),
        ("spanish", "Niega [fiebre|negated], nueva [tos]."),
        (
            "spanish",
            "Niega [fiebre|negated], nueva [tos|negated] o [disnea|negated].",
        ),
    ] {
        let rules = ContextRules::built_in(name).expect("rules").expect("valid");
        check_with(&rules, marked);
    }
}

#[test]
fn a_statement_of_its_own_ends_a_denial_in_other_languages() {
    for (name, marked) in [
        ("german", "Kein [Husten|negated], [Fieber] seit gestern."),
        (
            "german",
            "Kein [Husten|negated], kein [Fieber|negated] seit gestern.",
        ),
        (
            "german",
            "Kein [Husten|negated], [Auswurf|negated] oder [Fieber|negated] seit gestern.",
        ),
        (
            "german",
            "Keine [Übelkeit|negated], [Asthma] gut eingestellt.",
        ),
        ("french", "Pas de [toux|negated], [fièvre] depuis hier."),
        (
            "french",
            "Pas de [toux|negated], ni [fièvre|negated] depuis hier.",
        ),
        (
            "french",
            "Pas de [douleur|negated], [asthme] bien équilibré.",
        ),
        ("spanish", "Niega [tos|negated], [fiebre] desde ayer."),
        (
            "spanish",
            "Niega [tos|negated], [dolor] de tres días de evolución.",
        ),
        (
            "spanish",
            "Niega [tos|negated], [expectoración|negated] o [fiebre|negated] desde ayer.",
        ),
    ] {
        let rules = ContextRules::built_in(name).expect("rules").expect("valid");
        check_with(&rules, marked);
    }
}

/// Of two sides the nearer one counts.
#[test]
fn the_nearest_side_counts() {
    for marked in [
        "Right [hydronephrosis|right], bilateral [renal stones|bilateral].",
        "[Right hydronephrosis|right], bilateral [renal stones|bilateral].",
        "Bilateral [renal stones|bilateral], right [hydronephrosis|right].",
        "Bilateral renal stones, right [hydronephrosis|right].",
        "Bilateral renal stones right [hydronephrosis|right].",
        "Bilateral right [hydronephrosis|right].",
        "Bilateral stones and right [hydronephrosis|right].",
        "Bilateral/right [hydronephrosis|right].",
        "Right [hydronephrosis|right] bilateral [renal stones|bilateral]",
        "Right [hydronephrosis|right] / bilateral [stones|bilateral]",
        "Right [hydronephrosis|right], bilateral.",
        "Right [hydronephrosis|right], stones bilaterally.",
        // A side before the mention, even if words stand between them.
        "Right moderate [hydronephrosis|right moderate], bilateral.",
        "Right moderate [hydronephrosis|right moderate] in both kidneys.",
        "Right grade 3 [hydronephrosis|right] bilaterally small kidneys",
        "Right renal [hydronephrosis|right] bilateral stones",
        "Right new severe [hydronephrosis|right severe] both kidneys scarred",
        "Left lower leg [swelling|left], bilaterally.",
        "Right [hydronephrosis|right] and [stones|bilateral] bilaterally.",
        "Right [hydronephrosis|right] with bilateral [stones|bilateral].",
        "Right [hydronephrosis|right] with stones in both kidneys.",
        "Right [hydronephrosis|right] (bilateral [stones|bilateral]).",
        "Right [hydronephrosis|right] in bilateral renal disease.",
        "Right [hydronephrosis|right] of bilateral kidneys.",
        "Mild right [hydronephrosis|right mild], bilateral [cysts|bilateral].",
        "Left [pleural effusion|left], bilateral [crackles|bilateral].",
        "[Crackles|bilateral] bilaterally, left [effusion|left].",
        "[Edema|bilateral] in both legs, right [calf pain|right].",
    ] {
        check_by(ContextRules::english(), marked, attributes);
    }
}
