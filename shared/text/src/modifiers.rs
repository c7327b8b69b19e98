//! Words around what a mention names. Words of side and severity: a link keeps them as
//! [`Context`](super::context::Context), so "left-sided pneumonia" names pneumonia. Words of a
//! drug's form, route, strength and frequency, which few names of drugs have: "fluticasone nasal
//! spray". Results, counts and stages: "BNP 1240", "CKD stage 3b".
//!
//! By vectors, "fluticasone nasal spray" is nearest to "nasal spray". So such words are removed
//! before a mention is encoded.

/// Words of side and severity, in lower case, and short forms of limbs with a side.
const MODIFIERS: [&str; 36] = [
    "left",
    "right",
    "bilateral",
    "bilaterally",
    "bilat",
    "left-sided",
    "right-sided",
    "left-side",
    "right-side",
    "sided",
    "side",
    "lt",
    "rt",
    "l",
    "r",
    "b/l",
    "lue",
    "rue",
    "bue",
    "lle",
    "rle",
    "ble",
    "mild",
    "moderate",
    "severe",
    "marked",
    "slight",
    "trace",
    "mod",
    "mild-moderate",
    "moderate-severe",
    "mod-severe",
    "both",
    // The course of a disease, of which few names have a form of their own.
    "refractory",
    "relapsed",
    "longstanding",
];

/// Words that join a side to what is before it: "pain on the left".
const JOINING: [&str; 4] = ["on", "the", "in", "of"];

/// A text without its first words that are `extra`; these get the rest too. The last word stays.
fn without_first_words(mut text: &str, extra: impl Fn(&str, &str) -> bool) -> &str {
    while let Some((word, rest)) = text.split_once(char::is_whitespace)
        && extra(word, rest)
    {
        text = rest.trim_start();
    }
    text
}

/// A text without its last words that are `extra`, which are asked for from the end. The first word
/// stays.
fn without_last_words(mut text: &str, mut extra: impl FnMut(&str) -> bool) -> &str {
    while let Some((rest, word)) = text.rsplit_once(char::is_whitespace)
        && extra(word)
    {
        text = rest.trim_end();
    }
    text
}

/// Whether a word tells side or severity.
pub fn is_modifier(word: &str) -> bool {
    let word = word.trim_matches(['.', ',', '(', ')']).to_lowercase();
    MODIFIERS.contains(&word.as_str())
}

/// Whether a word is two levels of the spine: "L4-L5", "C5/6".
fn is_spinal_level(word: &str) -> bool {
    let is_vertebra = |part: &str, letter: bool| {
        let digits = part.strip_prefix(['C', 'T', 'L', 'S']);
        let digits = digits.or((!letter).then_some(part)).unwrap_or_default();
        (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let parts = word.split_once(['-', '/', '–']);
    parts.is_some_and(|(one, other)| is_vertebra(one, true) && is_vertebra(other, false))
}

/// What a mention names without words of side, severity and levels of the spine at its ends; `None`
/// if it has no such words, or no other ones.
pub fn without_modifiers(mention: &str) -> Option<&str> {
    let is_extra = |word: &str| is_modifier(word) || is_spinal_level(word);
    let core = without_first_words(mention.trim(), |word, _| is_extra(word));
    let mut has_side = false;
    let core = without_last_words(core, |word| {
        let joins = has_side && JOINING.contains(&word.to_lowercase().as_str());
        has_side |= is_modifier(word);
        joins || is_modifier(word)
    });
    let core = core.trim_end_matches(',');
    let is_rest = core.len() < mention.trim().len() && !is_modifier(core);
    (is_rest && !core.is_empty()).then_some(core)
}

/// Words of a side alone, in lower case.
const SIDES: [&str; 9] = [
    "left",
    "right",
    "bilateral",
    "bilat",
    "lt",
    "rt",
    "l",
    "r",
    "b/l",
];

/// What is before and behind a side in a mention: "cellulitis" and "foot" of "cellulitis R foot".
/// `None` without a side between words, or with words behind it that have no letter.
pub fn at_side(mention: &str) -> Option<(&str, &str)> {
    let mut words = mention.split_whitespace().skip(1);
    let side = words.find(|word| SIDES.contains(&word.to_lowercase().as_str()))?;
    // The word is a part of the mention.
    let at = side.as_ptr() as usize - mention.as_ptr() as usize;
    let (before, behind) = (mention[..at].trim(), mention[at + side.len()..].trim());
    let is_place = behind.starts_with(char::is_alphabetic);
    is_place.then_some((before, behind))
}

/// Words of the form, route, strength, frequency or use of a drug, in lower case.
const DRUG_WORDS: &str = "\
    tablet tablets tab tabs capsule capsules cap caps pill pills cream creams ointment gel \
    lotion shampoo wash foam powder solution suspension syrup syp elixir drops drop gtt gtts \
    spray sprays inhaler inhalers inhalation inhalations mdi nebulizer nebulizers \
    nebuliser nebulisers neb nebs patch patches injection injections inj shot shots \
    infusion infusions drip bolus suppository suppositories enema lozenge lozenges \
    mouthwash generic xr er sr cr dr la xl extended-release slow-release immediate-release \
    enteric-coated delayed-release \
    oral topical intravenous intramuscular subcutaneous sublingual transdermal intranasal \
    nasal ophthalmic otic eye ear rectal vaginal inhaled nebulized nebulised iv im sc sq \
    subq sl po pr \
    mg mcg g ml units unit mg/ml mg/day % low-dose high-dose dose doses daily bid \
    tid qid qd qhs prn nightly weekly monthly twice once home long-term \
    therapy treatment treatments medication medications medicine regimen course \
    prophylaxis";

fn is_drug_word(word: &str) -> bool {
    DRUG_WORDS.split_ascii_whitespace().any(|own| own == word)
}

/// What a mention names without words of a drug's form, route, strength and frequency at its ends;
/// `None` if it has no such words, or no other ones.
pub fn without_drug_form(mention: &str) -> Option<&str> {
    let is_strength = |word: &str| {
        let unit = word
            .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '/'));
        unit.len() < word.len() && (unit.is_empty() || is_drug_word(unit))
    };
    let is_form = |word: &str| {
        let word = word.trim_matches(['.', ',', '(', ')']).to_lowercase();
        is_drug_word(&word) || is_strength(&word)
    };
    // "Low dose aspirin", but not "low potassium".
    let begins_dose = |word: &str, rest: &str| {
        let is_share = ["low", "high"].contains(&word.to_lowercase().as_str());
        is_share && rest.to_lowercase().starts_with("dose ")
    };
    let mention = mention.trim();
    let core = without_first_words(mention, |word, rest| {
        is_form(word) || begins_dose(word, rest)
    });
    let core = without_last_words(core, is_form).trim_end_matches(',');
    (core.len() < mention.len() && !core.is_empty() && !is_form(core)).then_some(core)
}

/// Words before the number of a stage.
const STAGES: [&str; 5] = ["stage", "grade", "class", "nyha", "asa"];

/// The numbers of stages.
const STAGE_NUMBERS: &str = "0 1 2 3 3a 3b 4 5 i ii iia iib iii iiia iiib iv v";

/// Results in words, in lower case, what notes say of a test or a treatment (that it is repeated, or
/// on which days it takes place), and what became of a finding.
const RESULTS: [&str; 33] = [
    "neg",
    "negative",
    "pos",
    "positive",
    "pending",
    "wnl",
    "nl",
    "nonreactive",
    "non-reactive",
    "reactive",
    "repeat",
    "untreated",
    "mwf",
    "m/w/f",
    "tts",
    "decreased",
    "developed",
    "disappeared",
    "fell",
    "improved",
    "increased",
    "occurred",
    "persisted",
    "recurred",
    "regressed",
    "resolved",
    "rose",
    "subsided",
    "today",
    "tomorrow",
    "tonight",
    "worsened",
    "yesterday",
];

/// Units of time behind a count: "x2d".
const TIMES: [&str; 11] = [
    "d", "days", "day", "h", "hr", "hrs", "wk", "wks", "mo", "yr", "yrs",
];

/// A word of a result in lower case, without the marks around it.
fn bare(word: &str) -> String {
    word.trim_matches(['.', ',', '(', ')', '<', '>', '=', '~', ':'])
        .to_lowercase()
}

/// Whether a word is a result or a count: "1240", "9.2%", "x2", "x2d", "neg", or the day after an
/// operation, "POD3". A number has a point, a slash, a percent sign, or at least three digits: others
/// are parts of names ("interleukin 33").
fn is_result(word: &str) -> bool {
    let word = bare(word);
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let number = word.strip_suffix('%').unwrap_or(&word);
    let is_number = number
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'/' | b','));
    let is_count = word.strip_prefix('x').is_some_and(|rest| {
        let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() - unit.len() == digits && (unit.is_empty() || TIMES.contains(&unit))
    });
    let is_day = word.strip_prefix("pod").is_some_and(|day| {
        let day = day.strip_prefix('#').unwrap_or(day);
        day.len() == digits
    });
    let has_digits = digits > 0
        && (is_count || is_day || is_number && (digits > 2 || word.contains(['.', '/', '%'])));
    has_digits || RESULTS.contains(&word.as_str())
}

/// A mention without a number at its end, of any length: "ferritin 22". `None` if it has none.
pub fn without_last_number(mention: &str) -> Option<&str> {
    let (rest, word) = mention.trim_end().rsplit_once(char::is_whitespace)?;
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| rest.trim_end_matches([' ', ',', ':', '=']))
}

/// A mention without the results and counts at its end; the empty string if it has nothing else.
pub fn without_last_results(mention: &str) -> &str {
    let core = without_last_words(mention.trim_end(), is_result);
    match is_result(core) {
        true => "",
        false => core.trim_end_matches([',', ':', '=']),
    }
}

/// What a mention names without results, counts and a stage at its ends; `None` if it has none, or
/// nothing else.
pub fn without_result(mention: &str) -> Option<&str> {
    let is_stage = |word: &str| STAGES.contains(&bare(word).as_str());
    let is_stage_number = |word: &str| STAGE_NUMBERS.split(' ').any(|number| number == bare(word));
    let mention = mention.trim();
    let mut core = mention;
    while let Some((rest, word)) = core.rsplit_once(char::is_whitespace) {
        let rest = rest.trim_end();
        let before = rest.rsplit_once(char::is_whitespace);
        if is_result(word) || is_stage(word) {
            core = rest;
        } else if let Some((rest, stage)) = before
            && is_stage_number(word)
            && is_stage(stage)
        {
            core = rest.trim_end();
        } else {
            break;
        }
    }
    let mut words = core.split_whitespace().skip_while(|word| is_stage(word));
    if words.next().is_some_and(is_stage_number)
        && is_stage(core.split_whitespace().next().unwrap_or_default())
        && let Some(first) = words.next()
    {
        // The words of `words` are parts of `core`.
        core = &core[first.as_ptr() as usize - core.as_ptr() as usize..];
    }
    let core = core.trim_end_matches([',', ':', '=']);
    let is_other = core.len() < mention.len() && !is_stage(core) && !is_result(core);
    (is_other && !core.is_empty()).then_some(core)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_the_spine_and_courses_are_removed() {
        for (mention, name) in [
            ("L4-L5 disc herniation", Some("disc herniation")),
            ("C5/6 stenosis", Some("stenosis")),
            ("severe L4/5 stenosis", Some("stenosis")),
            ("Refractory multiple myeloma", Some("multiple myeloma")),
            ("T2 diabetes", None),
            ("C3 deficiency", None),
            ("L4-L5", None),
        ] {
            assert_eq!(without_modifiers(mention), name, "{mention:?}");
        }
    }

    #[test]
    fn a_side_divides_a_mention() {
        for (mention, parts) in [
            ("cellulitis R foot", Some(("cellulitis", "foot"))),
            ("Fx lt distal radius", Some(("Fx", "distal radius"))),
            ("AOM  L  ear ", Some(("AOM", "ear"))),
            ("left knee pain", None),
            ("knee pain left", None),
            ("TKR R 2015", None),
            ("fever", None),
            ("", None),
        ] {
            assert_eq!(at_side(mention), parts, "{mention:?}");
        }
    }

    #[test]
    fn results_and_stages_are_removed_at_the_ends() {
        for (mention, name) in [
            ("BNP 1240", "BNP"),
            ("HbA1c 9.2%", "HbA1c"),
            ("troponin x2", "troponin"),
            ("HCV Ab pos", "HCV Ab"),
            ("metanephrines nl", "metanephrines"),
            ("HD MWF", "HD"),
            ("Troponin neg x2", "Troponin"),
            ("CKD stage 3b", "CKD"),
            ("heart failure, NYHA class III", "heart failure"),
            ("stage IV pressure ulcer", "pressure ulcer"),
            ("NYHA class III heart failure", "heart failure"),
        ] {
            assert_eq!(without_result(mention), Some(name), "{mention}");
        }
        for mention in [
            "interleukin 33",
            "trisomy 21",
            "stage 3",
            "120/80",
            "stage",
            "",
        ] {
            assert_eq!(without_result(mention), None, "{mention:?}");
        }
    }

    #[test]
    fn last_results_are_removed_and_stages_stay() {
        for (mention, rest) in [
            ("PPD neg", "PPD"),
            ("docetaxel x6", "docetaxel"),
            ("CP x2d", "CP"),
            ("ileus POD3", "ileus"),
            ("UTI POD#2", "UTI"),
            ("blood pressure: 120/80", "blood pressure"),
            ("cardiac rhabdomyomas regressed", "cardiac rhabdomyomas"),
            ("CKD stage 3", "CKD stage 3"),
            ("interleukin 33", "interleukin 33"),
            ("neg x2", ""),
            ("negative", ""),
        ] {
            assert_eq!(without_last_results(mention), rest, "{mention}");
        }
    }

    #[test]
    fn a_number_of_any_length_is_removed_at_the_end() {
        assert_eq!(without_last_number("ferritin 22"), Some("ferritin"));
        assert_eq!(without_last_number("ALT: 88 "), Some("ALT"));
        for mention in ["ferritin", "22", "vitamin B12", ""] {
            assert_eq!(without_last_number(mention), None, "{mention:?}");
        }
    }

    #[test]
    fn words_of_a_form_are_removed_at_the_ends() {
        for (mention, drug) in [
            ("Fluticasone nasal spray", "Fluticasone"),
            ("IV vancomycin", "vancomycin"),
            ("metoprolol tartrate 25 mg tablets", "metoprolol tartrate"),
            ("lisinopril 10mg PO daily", "lisinopril"),
            ("timolol 0.5% eye drops", "timolol"),
            ("low dose aspirin", "aspirin"),
            ("long-term warfarin therapy", "warfarin"),
        ] {
            assert_eq!(without_drug_form(mention), Some(drug), "{mention}");
        }
        for mention in [
            "aspirin",
            "low potassium",
            "eye drops",
            "",
            "  ",
            "25 mg",
            "po",
        ] {
            assert_eq!(without_drug_form(mention), None, "{mention:?}");
        }
    }

    #[test]
    fn words_of_side_and_severity_are_removed_at_the_ends() {
        for (mention, core) in [
            ("Left-sided pneumonia", "pneumonia"),
            ("severe left knee pain", "knee pain"),
            ("R TKA", "TKA"),
            ("right kidney stone", "kidney stone"),
            ("Mod. severe  asthma", "asthma"),
            ("trace TR", "TR"),
            ("knee pain on the left", "knee pain"),
            ("weakness, left side", "weakness"),
            ("B/L LE edema", "LE edema"),
            ("DVT LLE", "DVT"),
        ] {
            assert_eq!(without_modifiers(mention), Some(core), "{mention}");
        }
        for mention in [
            "asthma",
            "left",
            "Rt.",
            "left right",
            "",
            " ",
            "pain on the",
            "lateral wall",
        ] {
            assert_eq!(without_modifiers(mention), None, "{mention:?}");
        }
    }
}
