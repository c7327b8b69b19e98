//! Boxes, blanks and answers of forms. Brackets of the text are written as braces.

use super::*;

/// Checks a form whose brackets are braces, as brackets mark mentions.
fn check_form(marked: &str) {
    let (mut text, mut mentions, mut expected) = (String::new(), Vec::new(), Vec::new());
    for part in marked.split(']') {
        let (before, inner) = part.split_once('[').unwrap_or((part, ""));
        text.push_str(&before.replace('{', "[").replace('}', "]"));
        if let Some((mention, context)) = inner.split_once('|') {
            expected.push(context);
            mentions.push((mention, Some(Group::Problem)));
            text.push_str(mention);
        }
    }
    let found = judge(ContextRules::english(), &text, &mentions);
    let found: Vec<String> = found.iter().map(short).collect();
    assert_eq!(found, expected, "{marked}");
}

#[test]
fn each_box_states_its_own_item() {
    for marked in [
        "{x} [Gout|] { } [Asthma|hypothetical] {X} [Rash|]",
        "(x) [Gout|] ( ) [Asthma|hypothetical]",
        "[Gout|] (x) [Asthma|hypothetical] ( )",
        "[Gout|hypothetical] {} , [Asthma|] {x}",
        "☒ [Gout|] ☐ [Asthma|hypothetical]",
        "✓ [Gout|]  ✗ [Asthma|negated]",
        "O [Gout|hypothetical]  ● [Asthma|]",
        "_x_ [Gout|]  ___ [Asthma|hypothetical]",
        "{Y} [gout|] {N} [asthma|negated]",
        "PMH: {x} [gout|] { } [asthma|hypothetical]",
        "* [Gout|hypothetical] { }\n* [Asthma|] {x}\n* [Rash|hypothetical] { }",
        "- {x} [Gout|]\n- { } history of [asthma|hypothetical]\n[Cough|] for a week",
        "{x} No [gout|negated]\n{x} [Asthma|], no [wheeze|negated]",
        "[Smoking|hypothetical]: { } never { } former { } current",
    ] {
        check_form(marked);
    }
}

#[test]
fn boxes_of_yes_and_no_are_one_answer() {
    for marked in [
        "[Gout|] {x} yes { } no",
        "[Gout|negated] { } yes {x} no [Asthma|] {x} yes { } no",
        "[Gout|]: ☒ yes ☐ no",
        "[Gout|negated] Yes { } No {x}",
        "[Gout|hypothetical]: ( ) Yes ( ) No",
        "{ } Yes {x} No [Chest pain|negated]",
        "[Gout|negated]: ____ Yes __x__ No",
        "[Gout|negated]:{ }Y {x}N  [Asthma|]:{x}Y { }N",
        "| [Gout|] | {x} yes | { } no |\n| [Asthma|negated] | { } yes | {x} no |",
        "COPD [Gout|] (Y) N  [Asthma|negated] Y (N)",
        "[Gout|]: {x} yes { } no { } unknown",
        "[Gout|hypothetical]: { } yes { } no {x} unknown",
    ] {
        check_form(marked);
    }
}

#[test]
fn open_answers_and_blanks_state_nothing() {
    for marked in [
        "[Gout|hypothetical]: Y / N    [Asthma|hypothetical]: Y / N",
        "[Gout|hypothetical]  Y  N",
        "[Gout|hypothetical] (circle): yes no",
        "[Gout|hypothetical] (yes/no)",
        "[Gout|hypothetical]: ____\n[Asthma|hypothetical] ____  [Rash|hypothetical] ____",
        "[Gout|hypothetical] __ [asthma|hypothetical] __",
        "[Gout|hypothetical] ...... [Asthma|hypothetical] ......",
        "[Pain|hypothetical]: __/10",
        "[Gout|hypothetical]:\n[Asthma|hypothetical]:\n[Rash|hypothetical]:",
        "[Gout|hypothetical]:   [Asthma|hypothetical]:   [Rash|hypothetical]:",
        "[Gout|hypothetical] -\n[Asthma|hypothetical] -\n[Rash|hypothetical] -",
        "[Gout|hypothetical] -, [asthma|hypothetical] -, [rash|hypothetical] -",
        "[Gout|hypothetical]:\n[Asthma|hypothetical]:\n[Rash|]: yes, on both arms",
        "[Fever|] +   [Chills|negated] -",
        "[Fever|] Y   [Chills|negated] N",
        "[Ulcer|]: present on admission   [Incontinence|negated]: no",
    ] {
        check_form(marked);
    }
}

#[test]
fn text_that_looks_like_a_form_is_read_as_text() {
    for marked in [
        "[Gout|]:\nContinue allopurinol.",
        "[Gout|]:\n- stable\n[Asthma|]:\n- albuterol",
        "[Gout|] -\ncolchicine daily",
        "[Depression|]:\nSuicidal thoughts: none",
        "With [dysarthria|], answers yes/no questions.",
        "h/o [gout|] ___, seen at ___ for [cough|]",
        "[Gout|] since 2010 (x 3 flares)",
        "● [Gout|]\n● [Asthma|]",
    ] {
        check_form(marked);
    }
}

#[test]
fn blanks_and_answers_of_more_kinds() {
    for marked in [
        "1. [Gout|hypothetical] ..... 2. [Asthma|hypothetical] ..... 3. [Rash|hypothetical] .....",
        "[Gout|hypothetical] ____, [asthma|hypothetical] ____, [rash|hypothetical] ____.",
        "[Gout|hypothetical]? (Y/N) ___   [Asthma|hypothetical]? (Y/N) ___",
        "[Gout|] Yes X No __  [Asthma|negated] Yes __ No X",
        "[Gout|hypothetical] - not assessed",
        "GU: [dysuria|hypothetical] / [urgency|hypothetical] (circle those that apply)",
    ] {
        check_form(marked);
    }
}
