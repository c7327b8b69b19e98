//! Boxes, blanks, answers and words before lists in German, French and Spanish. Brackets of the text are
//! written as braces.

use super::ContextRules;
use super::forms::check_form_with;

#[test]
fn forms_in_german() {
    let rules = ContextRules::built_in("german")
        .expect("rules")
        .expect("valid");
    for marked in [
        "[Diabetes|negated]: nein",
        "[Hypertonie|]: ja",
        "[Fieber|negated]: nein, [Husten|]: ja",
        "[Fieber|negated]: nein [Husten|]: ja [Atemnot|negated]: nein",
        "[Diabetes|negated] - nein",
        "[Diabetes|negated]? nein",
        "[Diabetes|negated] = nein",
        "[Diabetes|negated] (nein)",
        "[Fieber|negated] (-), [Husten|] (+)",
        "{x} [Asthma|]",
        "{ } [Asthma|hypothetical]",
        "☒ [Asthma|]",
        "☐ [COPD|hypothetical]",
        "{x} [Asthma|] { } [COPD|hypothetical]",
        "[Asthma|] {x} ja { } nein",
        "[Asthma|negated] { } ja {x} nein",
        "[Asthma|negated]: ☐ ja ☒ nein",
        "[Diabetes|hypothetical]: ja / nein",
        "[Diabetes|hypothetical]: ____",
        "Keine: [Fieber|negated], [Husten|negated]",
        "Negativ: [Fieber|negated], [Husten|negated]",
        "Verneint: [Fieber|negated], [Husten|negated]",
        "Ausgeschlossen: [Pneumonie|negated], [Lungenembolie|negated]",
        "V.a.: [Lungenembolie|uncertain]",
        "Verdacht: [Pneumonie|uncertain]",
        "Z.n.: [Apoplex|historical]",
        "[Ödeme|negated]: 0",
        "[Ödeme|negated]: keine",
        "[Ödeme|negated]: keine, [Husten|]: seit 3 Tagen",
        "[Fieber|negated]: nicht vorhanden",
        "[HIV|negated] neg.",
        "[HIV|negated]: neg., [Hepatitis C|]: positiv",
        "[Fieber|]: vorhanden",
        "[Tuberkulose|uncertain]: fraglich",
        "[Tuberkulose|uncertain]: ?",
        "[Bluthochdruck|negated]: nicht bekannt",
        "[Übelkeit|negated]/[Erbrechen|negated]: nein",
        "- [Fieber|negated]: nein\n- [Husten|]: ja",
        "[Nikotinabusus|negated]: nie",
        "[Asthma|]: bekannt",
        "Vorerkrankungen: [KHK|negated]: nein, [Diabetes|]: ja, [Asthma|negated]: nein",
        "☑ [Hypertonie|]  ☐ [Schlaganfall|hypothetical]",
        "[Ikterus|negated] (-)",
        "Reizhusten | nein\n[Dyspnoe|negated] | nein",
        "Fehlend: [Zyanose|negated], [Ikterus|negated]",
        "Raucher {x} nein { } ja, [Allergie|hypothetical] ( )",
        "[Ödeme|]: ja, bds",
        "[Lymphknotenschwellung|negated]: keine",
        "[Thrombose|uncertain]: wahrscheinlich",
        "[Thoraxschmerz|negated] = nein; [Palpitationen|] = ja",
    ] {
        check_form_with(&rules, marked);
    }
}

#[test]
fn forms_in_french() {
    let rules = ContextRules::built_in("french")
        .expect("rules")
        .expect("valid");
    for marked in [
        "[Diabète|negated] : non",
        "[HTA|] : oui",
        "[Fièvre|negated] : non, [toux|] : oui",
        "[Fièvre|negated] : non [toux|] : oui [dyspnée|negated] : non",
        "[Diabète|negated] - non",
        "[Diabète|negated] ? non",
        "[Diabète|negated] = non",
        "[Diabète|negated] (non)",
        "[Fièvre|negated] (-), [toux|] (+)",
        "{x} [asthme|]",
        "{ } [asthme|hypothetical]",
        "☒ [asthme|]",
        "☐ [BPCO|hypothetical]",
        "{x} [asthme|] { } [BPCO|hypothetical]",
        "[Asthme|] {x} oui { } non",
        "[Asthme|negated] { } oui {x} non",
        "[Asthme|negated] : ☐ oui ☒ non",
        "[Diabète|hypothetical] : oui / non",
        "[Diabète|hypothetical] : ____",
        "Pas de : [fièvre|negated], [toux|negated]",
        "Négatif : [fièvre|negated], [toux|negated]",
        "Absence : [fièvre|negated], [toux|negated]",
        "Éliminé : [pneumopathie|negated], [embolie pulmonaire|negated]",
        "Suspicion : [embolie pulmonaire|uncertain]",
        "ATCD : [AVC|historical]",
        "[Œdèmes|negated] : 0",
        "[Œdèmes|negated] : aucun",
        "[Œdèmes|negated] : absents",
        "[Œdèmes|negated] : absents, [toux|] : depuis 3 jours",
        "[VIH|negated] nég.",
        "[VIH|negated] : négatif, [hépatite C|] : positif",
        "[Fièvre|] : présente",
        "[Tuberculose|uncertain] : douteuse",
        "[Tuberculose|uncertain] : ?",
        "[Tuberculose|uncertain] : possible",
        "[Diabète|negated] : RAS",
        "[Nausées|negated]/[vomissements|negated] : non",
        "- [Fièvre|negated] : non\n- [toux|] : oui",
        "[Tabac|negated] : jamais",
        "[Asthme|] : connu",
        "Antécédents : [coronaropathie|negated] : non, [diabète|] : oui, [asthme|negated] : non",
        "☑ [HTA|]  ☐ [AVC|hypothetical]",
        "[Ictère|negated] (-)",
        "Absents : [cyanose|negated], [ictère|negated]",
        "[Dyspnée|negated] : nie",
        "[Œdèmes|] : oui, bilatéraux",
        "[Adénopathies|negated] : aucune",
        "[Phlébite|uncertain] : probable",
        "[Douleur thoracique|negated] = non ; [palpitations|] = oui",
        "[Allergie|hypothetical] : oui / non",
    ] {
        check_form_with(&rules, marked);
    }
}

#[test]
fn forms_in_spanish() {
    let rules = ContextRules::built_in("spanish")
        .expect("rules")
        .expect("valid");
    for marked in [
        "[Diabetes|negated]: no",
        "[HTA|]: sí",
        "[Fiebre|negated]: no, [tos|]: sí",
        "[Fiebre|negated]: no [tos|]: sí [disnea|negated]: no",
        "[Diabetes|negated] - no",
        "[Diabetes|negated]? no",
        "[Diabetes|negated] = no",
        "[Diabetes|negated] (no)",
        "[Fiebre|negated] (-), [tos|] (+)",
        "{x} [asma|]",
        "{ } [asma|hypothetical]",
        "☒ [asma|]",
        "☐ [EPOC|hypothetical]",
        "{x} [asma|] { } [EPOC|hypothetical]",
        "[Asma|] {x} sí { } no",
        "[Asma|negated] { } sí {x} no",
        "[Asma|negated]: ☐ sí ☒ no",
        "[Diabetes|hypothetical]: sí / no",
        "[Diabetes|hypothetical]: ____",
        "Sin: [fiebre|negated], [tos|negated]",
        "sin: [fiebre|negated]",
        "Niega: [fiebre|negated], [tos|negated]",
        "Negativo: [fiebre|negated], [tos|negated]",
        "Descartado: [neumonía|negated], [embolia|negated]",
        "Sospecha: [embolia|uncertain]",
        "[Edemas|negated]: 0",
        "[Edemas|negated]: ninguno",
        "[Edemas|negated]: ausentes",
        "[Edemas|negated]: no, [tos|]: desde hace 3 días",
        "[VIH|negated] neg.",
        "[VIH|negated]: negativo, [hepatitis C|]: positivo",
        "[Fiebre|]: presente",
        "[Tuberculosis|uncertain]: dudosa",
        "[Tuberculosis|uncertain]: ?",
        "[Tuberculosis|uncertain]: posible",
        "[Náuseas|negated]/[vómitos|negated]: no",
        "- [Fiebre|negated]: no\n- [tos|]: sí",
        "[Tabaquismo|negated]: nunca",
        "[Asma|]: conocida",
        "Antecedentes: [cardiopatía|negated]: no, [diabetes|]: sí, [asma|negated]: no",
        "☑ [HTA|]  ☐ [ictus|hypothetical]",
        "[Ictericia|negated] (-)",
        "Ausentes: [cianosis|negated], [ictericia|negated]",
        "[Disnea|negated]: niega",
        "[Edemas|]: sí, bilaterales",
        "[Adenopatías|negated]: ninguna",
        "[Trombosis|uncertain]: probable",
        "[Dolor torácico|negated] = no; [palpitaciones|] = sí",
        "sin: [fiebre|negated], [vómitos|negated]. [Tos|] productiva.",
    ] {
        check_form_with(&rules, marked);
    }
}
