//! Tests of allergens and reactions.

use super::*;

/// Allergy and the rest, in short.
fn told(context: &Context) -> String {
    let allergy = context.allergy.map(Allergy::name);
    let rest = short(context);
    let words = allergy.into_iter().chain([rest.as_str()]);
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

fn check(marked: &str) {
    check_by(ContextRules::english(), marked, told);
}

fn check_in(language: &str, marked: &str) {
    let rules = ContextRules::built_in(language)
        .expect("built in")
        .expect("valid");
    check_by(&rules, marked, told);
}

#[test]
fn what_an_allergies_section_lists_is_an_allergen() {
    check(
        "Allergies: [penicillin|allergen|drug], [sulfa|allergen|drug] and [latex|allergen|device].",
    );
    check(
        "ALLERGIES:\n1. [Cefaclor|allergen|drug]\n2. [Shrimp|allergen|drug]\n- [Tape|allergen|device]",
    );
    check("Drug allergies: [morphine|allergen|drug].\nMedications: [oxycodone||drug]");
    check("Allergies: [codeine|allergen|drug].\nStopped [lisinopril|historical|drug] last week.");
    check("Allergies: [codeine|allergen|drug]\n[Latex|allergen|device]");
    check("Intolerances: [simvastatin|allergen|drug]");
    check("Allergies: [bee stings|allergen], [pollen|allergen]");
    check("Allergies: [liver function test||measurement], [left arm||anatomy]");
}

#[test]
fn reactions_belong_to_the_allergen_of_their_entry() {
    check(
        "Allergies: [penicillin|allergen|drug] ([rash|reaction], [hives|reaction]), [sulfa|allergen|drug] - [hives|reaction], [codeine|allergen|drug]",
    );
    check("Allergies: [lisinopril|allergen|drug] caused [cough|reaction].");
    check(
        "ALLERGIES\n[Enalapril|allergen|drug] | [angioedema|reaction]\n[Ibuprofen|allergen|drug] | [bronchospasm|reaction]",
    );
    check("[PCN|allergen|drug] -> [rash|reaction]");
    check("Adverse reactions: [anaphylaxis|reaction] to [cefazolin|allergen|drug].");
    check("He is allergic to [aspirin|allergen|drug] ([hives|reaction] and [wheezing|reaction]).");
    check("Allergic to [codeine|allergen|drug], which causes [nausea|reaction].");
}

#[test]
fn sentences_name_allergens() {
    check(
        "She is allergic to [penicillin|allergen|drug], [codeine|allergen|drug] and [latex|allergen|device].",
    );
    check("Has a [penicillin|allergen|drug] allergy.");
    check("[Penicillin|allergen|drug]-allergic patient with [cellulitis].");
    check("[PCN|allergen|drug] allergic.");
    check("Intolerant of [statins|allergen|drug].");
    check("Known intolerance to [metformin|allergen|drug].");
    check("History of [anaphylaxis|reaction] to [peanuts|allergen|drug].");
    check("Reacts to [adhesive tape|allergen|device].");
    check("Allergy reaction was to [sulfa|allergen|drug].");
    check("She had an adverse reaction to [contrast dye|allergen|drug].");
    check("Develops [hives|reaction] with [sulfa|allergen|drug].");
    check("Could not tolerate [metformin|allergen|drug] because of [diarrhea|reaction].");
}

#[test]
fn denied_allergies_are_negated() {
    check("No allergy to [latex|allergen negated|device].");
    check("He is not allergic to [penicillin|allergen negated|drug].");
    check("Allergies: [NKDA|negated]. Medications: [metformin||drug]");
    check("No known [drug allergies|negated].");
    check("Allergies: none.\nHe takes [losartan||drug].");
    check("Allergies: [NKDA|negated]\n[Hypertension] on [losartan||drug]\n[Aspirin||drug]");
    check(
        "Allergies: no known [drug allergies|negated]. [Shrimp|allergen|drug] ([hives|reaction])",
    );
    check("Allergies: none known\n[Ramipril||drug]");
    check("Avoid [aspirin|allergen|drug] because of an allergy.");
}

#[test]
fn what_treats_an_allergy_and_allergies_themselves_stay() {
    check("Given [epinephrine||drug] for the [allergic reaction].");
    check("[Benadryl||drug] for [allergies].");
    check("[Seasonal allergies], takes [loratadine||drug].");
    check("Takes [prednisone||drug] and has [allergic rhinitis].");
    check("Tolerated [cefazolin||drug] despite [penicillin|allergen|drug] allergy.");
    check("Allergies reviewed. Takes [metformin||drug].");
    check(
        "Allergic to [penicillin|allergen|drug]. She takes [lisinopril||drug] for [hypertension].",
    );
    check("Allergic to [penicillin|allergen|drug] and has [asthma].");
    check("Allergies: [penicillin|allergen|drug]. He presents with [chest pain].");
    check("Allergies: [hay fever], [asthma].");
    check("Good response to [prednisone||drug].");
    check("[Headache], [rash] and [fever] since Monday.");
}

#[test]
fn other_languages_know_allergens() {
    check_in(
        "german",
        "Allergien: [Penicillin|allergen|drug] ([Exanthem|reaction]), [Latex|allergen|device]",
    );
    check_in(
        "german",
        "Allergisch auf [Nickel|allergen|drug]. Nimmt [Ramipril||drug].",
    );
    check_in(
        "german",
        "Keine Allergie gegen [Penicillin|allergen negated|drug] bekannt.",
    );
    check_in("german", "Verträgt kein [Ibuprofen|allergen|drug].");
    check_in(
        "french",
        "Allergies : [pénicilline|allergen|drug] ([urticaire|reaction])\nTraitement : [metformine||drug]",
    );
    check_in(
        "french",
        "Patient allergique à l'[amoxicilline|allergen|drug], traité par [aspirine||drug].",
    );
    check_in(
        "french",
        "Pas d'allergie à la [pénicilline|allergen negated|drug].",
    );
    check_in(
        "spanish",
        "Alergias: [penicilina|allergen|drug]. Tratamiento: [metformina||drug] 850 mg.",
    );
    check_in(
        "spanish",
        "Alérgica a las [sulfamidas|allergen|drug] con [exantema|reaction].",
    );
    check_in("spanish", "No tolera [ibuprofeno|allergen|drug].");
}

#[test]
fn fields_and_lists_name_allergens() {
    for marked in [
        "Allergen: [amoxicillin|allergen|drug] | Reaction: [hives|reaction] | Severity: mild",
        "Offending agent: [naproxen|allergen|drug]; manifestation: [angioedema|reaction].",
        "Allergy list updated to include [codeine|allergen|drug] ([itching|reaction]).",
        "[Cefazolin|allergen|drug] was added to her allergy list.",
        "[Phenytoin|allergen|drug] documented as an allergy.",
        "[Clindamycin|allergen|drug] is contraindicated because of a previous anaphylactic reaction.",
        "[Ketorolac|allergen|drug] was stopped following a severe rash; [morphine||drug] given.",
        "[Sotalol|allergen|drug] makes her [dizzy|reaction].",
        "[Codeine|allergen|drug] -> [fever|reaction]",
        "[Ramipril|allergen|drug] caused [angioedema|reaction] in 2019.",
        "Severe reaction to [atracurium|allergen|drug] in theatre with [bronchospasm|reaction] and [hypotension|reaction].",
    ] {
        check(marked);
    }
}

#[test]
fn lists_of_allergens_end() {
    for marked in [
        "Allergies: [codeine|allergen|drug] - [nausea|reaction]; [tramadol||drug] taken without problems.",
        "ADRs: [codeine|allergen|drug] ([rash|reaction]). [Allopurinol||drug] for [gout].",
        "Allergies: [codeine|allergen|drug]. Current: [quetiapine||drug] 25 mg for [insomnia].",
        "Allergies: [sulfa|allergen|drug]. [Bisoprolol||drug] 5 mg daily.",
    ] {
        check(marked);
    }
}

#[test]
fn a_mention_may_be_a_whole_allergy() {
    for marked in [
        "ALERT! [Latex allergy|allergen].",
        "[Ondansetron allergy|allergen] ([rash|reaction]).",
        "She is [allergic to eggs|allergen].",
        "No [allergy to latex|allergen negated].",
        "Asked about an [iodine allergy|allergen negated], which she denied.",
        "[Seasonal allergies] and [lactose intolerance].",
        "Some [sensitivity to light] now.",
    ] {
        check(marked);
    }
}

#[test]
fn allergies_without_the_word() {
    for marked in [
        "Allergic to [peanuts|allergen|drug], with [wheeze|reaction] on exposure.",
        "Reports [vomiting|reaction] with [erythromycin|allergen|drug].",
        "Came out in an [urticarial rash|reaction] on [sulfasalazine|allergen|drug].",
        "[Hives|reaction] within minutes of taking [amoxicillin|allergen|drug].",
        "[Rash|reaction] appeared two days after starting [lamotrigine|allergen|drug].",
        "[Codeine|allergen|drug] causes [nausea|reaction] and [vomiting|reaction].",
        "[Tramadol|allergen|drug] makes her feel [dizzy|reaction].",
        "No [rash|negated] on [amoxicillin||drug]. [Hives] on [cetirizine||drug].",
        "No improvement of [rash] with [clotrimazole||drug].",
    ] {
        check(marked);
    }
}

#[test]
fn headings_of_allergies() {
    for marked in [
        "Allergies as of 3/14/2023: [Penicillin|allergen|drug] (Reaction: [Rash|reaction])",
        "Allergies reviewed with patient: [sulfa|allergen|drug] ([rash|reaction]).",
        "Sensitivities: [azathioprine|allergen|drug] ([vomiting|reaction])",
        "Known allergies: none. [Rheumatoid arthritis] on [leflunomide||drug].",
    ] {
        check(marked);
    }
}

#[test]
fn allergies_in_lists_with_headers() {
    for marked in [
        "Allergies (drug/reaction/severity):\n[penicillin|allergen|drug] / [rash|reaction] / mild\n[codeine|allergen|drug] / [nausea|reaction] / moderate",
        "Allergies (from GP record): [doxycycline|allergen|drug] - [photosensitivity|reaction].",
        "Allergy status checked with wife: [aspirin|allergen|drug] - [wheeze|reaction].",
        "[Carboplatin|allergen|drug] hypersensitivity reaction ([urticaria|reaction]) at cycle 7.",
        "[Cefuroxime|allergen|drug]: reaction unknown. On [warfarin||drug].",
        "Wristband red: [morphine|allergen|drug] ([pruritus|reaction]).",
        "[Penicillin|allergen|drug] - [anaphylaxis|reaction]. No other known allergies.",
    ] {
        check(marked);
    }
}

#[test]
fn allergies_told_by_what_happened() {
    for marked in [
        "Allergic to [trimethoprim|allergen|drug], which brings her out in a [rash|reaction].",
        "Cannot take [ibuprofen|allergen|drug] as it brings on [angioedema|reaction]; uses [paracetamol||drug] instead.",
        "Every time he takes [azithromycin|allergen|drug] he gets [diarrhea|reaction].",
        "[Nausea|reaction] and [vomiting|reaction] from [codeine|allergen|drug].",
        "[Dizziness|reaction] attributed to [gabapentin|allergen|drug].",
        "[Nitrofurantoin|allergen|drug] caused [pneumonitis|reaction].",
        "Gets [stomach upset|reaction] on [erythromycin|allergen|drug].",
        "She becomes [wheezy|reaction] after [aspirin|allergen|drug]; [paracetamol||drug] is safe.",
        "Skin test positive to [amoxicillin|allergen|drug]; the boy has [eczema].",
        "Sensitive to [codeine|allergen|drug]: gets [constipation|reaction] and [vomiting|reaction].",
        "[Nausea] treated with [ondansetron||drug].",
        "[Itching] relieved by [loratadine||drug].",
        "[Swelling] reduced with [furosemide||drug].",
    ] {
        check(marked);
    }
}
