//! Boxes, blanks and answers of forms. Brackets of the text are written as braces.

use super::*;

/// Checks a form whose brackets are braces, as brackets mark mentions.
fn check_form(marked: &str) {
    check_form_with(ContextRules::english(), marked);
}

/// Checks a form by rules of any language.
pub(super) fn check_form_with(rules: &ContextRules, marked: &str) {
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
    let found = judge(rules, &text, &mentions);
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

#[test]
fn an_answer_behind_a_choice_is_the_state() {
    for marked in [
        "[Gout|negated] (Yes/No): No\n[Asthma|] (Yes/No): Yes",
        "[Gout|negated]: Y / N   circled: N",
        "[Gout|]: Y / N   ticked: Y",
        "[Gout|negated] Y/N: N   [Asthma|] Y/N: Y",
        "[gout|] (Y/N) Y [asthma|negated] (Y/N) N",
        "[Gout|]: Yes/No -> yes",
        "[Gout|negated]: Yes / No → No",
        "[Gout|negated] (yes/no) selected: No",
        "[Gout|negated] Yes/No (No circled)",
        "[Gout|negated]? Yes/No: No. [Asthma|]? Yes/No: Yes.",
        "Do you have [gout|negated]? (Yes/No) No",
        "[Gout|] (Y/N): Y, on both feet",
        "[Gout|] (yes or no): yes",
        "[Gout|negated]: N (Y/N)",
        "[Gout|hypothetical] (Yes/No/Unknown): Unknown",
        "History of [gout|negated] (Y/N): N. Presents with [cough|].",
    ] {
        check_form(marked);
    }
}

#[test]
fn choices_in_a_line_may_have_items_in_small_letters() {
    for marked in [
        "Intake: [gout|hypothetical] Y / N   [asthma|hypothetical] Y / N",
        "[gout|hypothetical] yes / no   [asthma|hypothetical] yes / no",
        "[gout|hypothetical] Y/N [asthma|hypothetical] Y/N",
        "[gout|hypothetical]: yes/no, [asthma|hypothetical]: yes/no",
        "[gout|hypothetical] Y / N; [asthma|hypothetical] Y / N",
        "[Gout|hypothetical] Yes/No/Not sure   [Asthma|hypothetical] Yes/No/Not sure",
    ] {
        check_form(marked);
    }
}

#[test]
fn one_of_two_answers_is_ticked_or_enclosed() {
    for marked in [
        "[Gout|]: Yes ✓ No\n[Asthma|negated]: Yes No ✓",
        "[Gout|]: ✓ Yes  No",
        "[Gout|]: X Yes   No",
        "[Gout|] Yes* No\n[Asthma|negated] Yes No*",
        "[Gout|] **Yes** No\n[Asthma|negated] Yes **No**",
        "[Gout|] <Yes> No",
        "[Gout|negated] __Yes _X_No",
        "[Gout|negated] Yes__ No_x_\n[Asthma|] Yes_x_ No__",
        "[Gout|] (•) Yes ( ) No\n[Asthma|negated] ( ) Yes (•) No",
        "Any [gout|negated]? A: No. Any [asthma|]? A: Yes.",
        "[Gout|].......Yes\n[Asthma|negated].......No",
    ] {
        check_form(marked);
    }
}

#[test]
fn answers_below_a_line_state_it() {
    for marked in [
        "[Gout|negated]\n{ } Yes {x} No\n[Asthma|]\n{x} Yes { } No",
        "Do you have [gout|negated]?\n☐ Yes ☒ No\nDo you have [asthma|]?\n☒ Yes ☐ No",
        "Do you have [gout|negated]?\nNo\nDo you have [asthma|]?\nYes",
        "[Gout|hypothetical]\n{ } Yes { } No",
        "Seen for [gout|].\nNo [fever|negated].",
        "[Gout|]\n{x} [Asthma|]\n{ } [Rash|hypothetical]",
    ] {
        check_form(marked);
    }
}

#[test]
fn the_column_of_a_tick_is_its_answer() {
    for marked in [
        "Symptom | Yes | No\n[Cough|] | X | \n[Rash|negated] | | X",
        "| Symptom | Yes | No |\n|---|---|---|\n| [Cough|] | X | |\n| [Rash|negated] | | X |\n\
         | [Gout|hypothetical] | | |",
        "Symptom\tYes\tNo\n[Cough|]\tx\t\n[Rash|negated]\t\tx",
        "Condition    Yes    No\n[Gout|]          X\n[Rash|negated]               X",
        "Finding | Absent | Present\n[Rash|negated] | ✓ |\n[Edema|] | | ✔",
        "Condition | Y | N | Unknown\n[Gout|] | x | |\n[Rash|negated] | | x |\n\
         [Cough|hypothetical] | | | x",
        "Symptom | Yes | No\n[Cough|] | ✓ | ✗\n[Rash|negated] | ✗ | ✓",
        "Symptom | Yes | No\n[Cough|] | {x} | { }\n[Rash|negated] | { } | {x}",
        "Symptom | Yes | No | Comment\n[Cough|] | x | | for weeks\n[Rash|negated] | | x |",
        "Symptom | Yes | No | Symptom | Yes | No\n[Cough|] | x | | [Rash|negated] | | x",
        "Yes | No | Symptom\nx | | [Cough|]\n | x | [Rash|negated]",
        "YES NO\n{x} { } [Gout|]\n{ } {x} [Asthma|negated]\n{ } { } [Rash|hypothetical]",
        "NO YES\n{x} { } [Gout|negated]\n{ } {x} [Asthma|]",
        "Yes  No\n( )  (x)  [Gout|negated]\n(x)  ( )  [Asthma|]",
        "     No  Yes\n[Gout|negated]  ☒  ☐\n[Asthma|]  ☐  ☒",
        "Symptom | Yes | No\n[Cough|] | x |\n\nNo [fever|negated]. [Rash|] for days.",
    ] {
        check_form(marked);
    }
}

#[test]
fn signs_state_the_items_behind_or_before_them() {
    for marked in [
        "(+) [fever|] (-) [cough|negated] (-) [rash|negated] (+) [gout|]",
        "+ [cough|], - [rash|negated], + [gout|]",
        "+ [cough|] - [rash|negated] + [gout|]",
        "ROS: + [fever|], [cough|]; - [rash|negated], [wheeze|negated]",
        "ROS + [fever|] - [cough|negated] - [rash|negated]",
        "CV: (-) [edema|negated] (+) [cough|]. Skin: (+) [rash|].",
        "She has (+) [cough|], (-) [fever|negated].",
        "[Rash|] for days; (+) [itch|], (-) [fever|negated]",
        "(+ve) [fever|], (-ve) [cough|negated]",
        "[Fever|] (+) [Cough|negated] (-) [Rash|] (+)",
        "[Fever|]: + [Cough|negated]: - [Rash|negated]: -",
        "[Fever|] - yes; [cough|negated] - no; [rash|negated] - no",
        "[Fever|] = Y; [cough|negated] = N",
        "[Fever|] (Y) [cough|negated] (N) [rash|negated] (N)",
    ] {
        check_form(marked);
    }
}

#[test]
fn letters_and_ticks_state_the_items_of_lines() {
    for marked in [
        "Y [Gout|]\nN [Asthma|negated]",
        "y [gout|]\nn [asthma|negated]",
        "(Y) [Gout|]\n(N) [Asthma|negated]",
        "Y - [Gout|]\nN - [Asthma|negated]\nN - [Rash|negated]",
        "1. Y [Gout|]\n2. N [Asthma|negated]",
        "Y [gout|], N [asthma|negated], N [rash|negated]",
        "[Gout|] - Y\n[Asthma|negated] - N",
        "X [Gout|]\n__ [Asthma|hypothetical]\nX [Rash|]",
        "[Gout|] _X_\n[Asthma|hypothetical] ___",
    ] {
        check_form(marked);
    }
}

#[test]
fn bullets_values_and_prose_are_no_answers() {
    for marked in [
        "- [fever|]\n- [cough|]\n+ [rash|]",
        "- [Fever|] + [cough|] for days\n- [Rash|] - on both arms",
        "+ [Gout|]\n+ [Asthma|]\n- [Rash|] treated",
        "Skin: [rash|negated] (-), [itch|] (+), [edema|negated] (-)",
        "Neuro: [headache|negated]: (-)   [seizures|negated]: no   [tremor|negated]: none",
        "A/P:\n+ [Gout|] - colchicine\n+ [Asthma|] - albuterol",
        "[Fever|] > 38 - [cough|] for 2 weeks",
        "K+ 3.2, Na+ 140, [weakness|] - improving, [cough|] - improving",
        "[Edema|] 2+, [pain|] 5-6/10",
        "[Gout|] x 10 years\n[Asthma|] x 5 years",
        "N = 20 patients with [gout|]\nN = 30 with [asthma|]",
        "Table 1 | 2 | 3\n[gout|] | x | y",
        "Yes | No\n[Gout|] is stable.",
        "[Gout|hypothetical]: Yes No\n[Asthma|negated] {x} No { } Yes",
        "[Gout|] | Yes, since 2010 | colchicine\n[Asthma|negated] | No |",
        "Spouse says yes or no. [Gout|] is better.",
    ] {
        check_form(marked);
    }
}
