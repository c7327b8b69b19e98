//! HTML and XHTML: what a browser shows, without scripts, styles and hidden elements.
//!
//! html5gum 0.9 cuts the tokens: MIT, released in 2026, without dependencies and `unsafe`, in linear
//! time, also in WebAssembly. html5ever and scraper build a tree, whose repair of nested tags has no
//! bound in time; tl does not read entities as the standard says. No tree is needed for a text:
//! tags that are not closed change no line.

use crate::decode::lenient;
use crate::document::Document;
use crate::flow::Flow;
use html5gum::{DefaultEmitter, HtmlString, StartTag, Token, Tokenizer};
use std::borrow::Cow;

/// Elements that begin and end lines.
const BLOCKS: [&str; 37] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "hr",
    "html",
    "legend",
    "li",
    "main",
    "menu",
    "nav",
    "ol",
    "optgroup",
    "option",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "tfoot",
    "thead",
    "ul",
];

/// Elements with an empty line before and after them.
const PARAGRAPHS: [&str; 7] = ["h1", "h2", "h3", "h4", "h5", "h6", "p"];

/// Elements whose content is not shown.
const UNSEEN: [&str; 11] = [
    "audio", "canvas", "datalist", "iframe", "noembed", "noframes", "object", "script", "style",
    "template", "video",
];

/// Elements without content: none of them hides what follows.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Elements that another one of their kind ends.
const UNNESTED: [&str; 8] = ["dd", "dt", "li", "option", "p", "td", "th", "tr"];

/// The bytes in which a document declares its character set.
const DECLARATION: usize = 2048;

/// Reads a document in a named character set, else that of its byte order mark or `<meta>`.
pub(crate) fn read(bytes: &[u8], charset: Option<&str>) -> Document {
    let declared = charset.map(str::to_owned).or_else(|| meta_charset(bytes));
    let text = lenient(bytes, declared.as_deref());
    let mut page = Page::default();
    page.read(&text);
    page.finish()
}

/// Reads a fragment into a text under construction: an XHTML narrative.
pub(crate) fn read_into(flow: &mut Flow, text: &str) {
    let mut page = Page {
        flow: std::mem::take(flow),
        ..Page::default()
    };
    page.read(text);
    *flow = page.flow;
}

/// The character set of `<meta charset="...">`, `<meta content="text/html; charset=...">`, or an
/// XML declaration.
fn meta_charset(bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(DECLARATION)];
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let declaration = head
        .strip_prefix("<?xml")
        .and_then(|rest| rest.split("?>").next());
    let after = |text: &str, name: &str| {
        let (_, value) = text.split_once(name)?;
        let value = value.trim_start().strip_prefix('=')?.trim_start();
        let value = value.trim_start_matches(['"', '\'']);
        let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c)));
        Some(value[..end.unwrap_or(value.len())].to_owned())
    };
    let metas = head.split("<meta").skip(1);
    let tags = metas.filter_map(|tag| tag.split('>').next());
    declaration
        .and_then(|text| after(text, "encoding"))
        .or_else(|| tags.filter_map(|tag| after(tag, "charset")).next())
        .filter(|name| !name.is_empty())
}

/// The state of a page.
#[derive(Default)]
struct Page {
    flow: Flow,
    title: String,
    in_title: bool,
    /// The element whose content is not shown, and how many of its kind are open in it.
    hidden: Option<(HtmlString, usize)>,
    /// The open `<pre>` and `<textarea>`.
    preformatted: usize,
    /// The open `<sup>`.
    raised: usize,
    author: Option<String>,
}

impl Page {
    fn read(&mut self, text: &str) {
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        for Ok(token) in Tokenizer::new_with_emitter(text, emitter) {
            match token {
                Token::StartTag(tag) => self.start(&tag),
                Token::EndTag(tag) => self.end(&tag.name),
                Token::String(text) => self.text(&String::from_utf8_lossy(&text)),
                Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
            }
        }
    }

    fn finish(self) -> Document {
        let (text, sections) = self.flow.finish();
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        Document {
            text,
            sections,
            title: Some(title).filter(|title| !title.is_empty()),
            author: self.author,
            ..Document::default()
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = as_text(&tag.name);
        let name = &*name;
        if let Some((hidden, open)) = &mut self.hidden {
            if ***hidden != **tag.name {
                return;
            }
            if !UNNESTED.contains(&name) {
                *open += usize::from(!tag.self_closing);
                return;
            }
            self.hidden = None;
        }
        let unseen = UNSEEN.contains(&name) || is_hidden(tag);
        if unseen && !VOID.contains(&name) {
            // In XHTML `<script src="..."/>` is whole; in HTML the slash has no meaning.
            if !tag.self_closing || UNSEEN.contains(&name) {
                self.hidden = Some((tag.name.clone(), 1));
            }
            return;
        }
        match name {
            "title" => self.in_title = true,
            "br" => self.flow.brk(),
            "pre" | "textarea" => {
                self.flow.line();
                self.preformatted += 1;
            }
            "sup" => self.raised += 1,
            "input" if !unseen => self.input(tag),
            "meta" => self.meta(tag),
            name => edge(&mut self.flow, name, true),
        }
    }

    fn end(&mut self, name: &HtmlString) {
        if let Some((hidden, open)) = &mut self.hidden {
            if *hidden == *name {
                *open -= 1;
                if *open == 0 {
                    self.hidden = None;
                }
            }
            return;
        }
        match &*as_text(name) {
            "title" => self.in_title = false,
            "pre" | "textarea" => {
                self.flow.line();
                self.preformatted = self.preformatted.saturating_sub(1);
            }
            "sup" => self.raised = self.raised.saturating_sub(1),
            // Browsers read it as an empty paragraph.
            "br" => self.flow.brk(),
            name => edge(&mut self.flow, name, false),
        }
    }

    fn text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        if self.in_title {
            self.title.push_str(text);
        } else if self.preformatted > 0 {
            self.flow.verbatim(text);
        } else if self.raised > 0 {
            let power = self.flow.last().is_some_and(|c| c.is_ascii_digit());
            let text = if power {
                raised(text)
            } else {
                Cow::Borrowed(text)
            };
            self.flow.collapsed(&text);
        } else {
            self.flow.collapsed(text);
        }
    }

    /// What is filled in: a box that is ticked or not, or the words of a field.
    fn input(&mut self, tag: &StartTag<()>) {
        let kind = attribute(tag, "type").unwrap_or_default().to_lowercase();
        match &*kind {
            "checkbox" | "radio" => {
                let ticked = attribute(tag, "checked").is_some();
                self.flow.collapsed(if ticked { "[x] " } else { "[ ] " });
            }
            "" | "text" | "number" | "date" | "time" | "search" => {
                self.flow
                    .collapsed(&attribute(tag, "value").unwrap_or_default());
            }
            _ => {}
        }
    }

    fn meta(&mut self, tag: &StartTag<()>) {
        let is_author =
            attribute(tag, "name").is_some_and(|name| name.eq_ignore_ascii_case("author"));
        if is_author {
            self.author = attribute(tag, "content")
                .map(|author| author.trim().to_owned())
                .filter(|author| !author.is_empty());
        }
    }
}

/// The start or end of an element of a table, or of one that ends a line.
pub(crate) fn edge(flow: &mut Flow, name: &str, starts: bool) {
    match (name, starts) {
        ("td" | "th", true) => flow.cell(),
        ("td" | "th", false) => flow.end_cell(),
        ("tr", true) => flow.row(),
        ("tr", false) => flow.end_row(),
        _ => {}
    }
    if PARAGRAPHS.contains(&name) {
        flow.block();
    } else if BLOCKS.binary_search(&name).is_ok() {
        flow.line();
    }
}

fn as_text(bytes: &HtmlString) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn attribute<'t>(tag: &'t StartTag<()>, name: &str) -> Option<Cow<'t, str>> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value))
}

/// Whether an element says that it is not shown.
fn is_hidden(tag: &StartTag<()>) -> bool {
    if attribute(tag, "hidden").is_some() {
        return true;
    }
    let Some(style) = attribute(tag, "style") else {
        return false;
    };
    let style: String = style
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect::<String>()
        .to_lowercase();
    style.split(';').any(|rule| {
        ["display:none", "visibility:hidden", "mso-hide:all"]
            .iter()
            .any(|hides| rule.starts_with(hides))
    })
}

/// Digits of a power: the 9 of 10⁹, which would be 109 otherwise.
pub(crate) fn raised(text: &str) -> Cow<'_, str> {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let of = |c: char| match c {
        '+' => '⁺',
        '-' | '−' => '⁻',
        c => match c.to_digit(10) {
            Some(digit) => DIGITS[digit as usize],
            None => c,
        },
    };
    let is_power = !text.is_empty() && text.chars().all(|c| of(c) != c);
    match is_power {
        true => Cow::Owned(text.chars().map(of).collect()),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        read(html.as_bytes(), None).text
    }

    #[test]
    fn names_of_elements_are_in_order() {
        assert!(BLOCKS.is_sorted() && PARAGRAPHS.is_sorted() && UNSEEN.is_sorted());
    }

    #[test]
    fn blocks_are_lines_and_cells_are_apart() {
        assert_eq!(
            text(
                "<html><head><title>A  note</title><style>p{}</style></head><body>\
                 <h2>Labs</h2><table><tr><th>Test<th>Value</tr>\n<tr><td>Na</td> <td>140</td></tr>\
                 </table><p>No fever,<br>no <b>cou</b>gh.</p><ul><li>CHF<li>DM</ul>x</body>"
            ),
            "Labs\n\nTest\tValue\nNa\t140\n\nNo fever,\nno cough.\n\nCHF\nDM\nx"
        );
    }

    #[test]
    fn what_is_not_shown_is_left_out() {
        for html in [
            "a<script>if (a < b) '</p>'</script> b",
            "a<div hidden>x<div>y</div>z</div> b",
            "a<span style='Display : none'>x<i>y</i></span> b",
            "a<!-- x --> b",
            "a<p hidden>x<p> b",
            "a <img alt='x'>b",
            "a <input type=hidden value=x>b",
            "a<template><b>x</b></template>\nb",
        ] {
            let found = text(html);
            assert_eq!(
                found.split_whitespace().collect::<Vec<_>>(),
                ["a", "b"],
                "{html}: {found}"
            );
        }
    }

    #[test]
    fn entities_and_powers_are_read() {
        assert_eq!(
            text("WBC 12 x10<sup>9</sup>/L &lt;5&nbsp;mg &Eacute; SpO<sub>2</sub> m<sup>2</sup>"),
            "WBC 12 x10⁹/L <5 mg É SpO2 m2"
        );
    }

    #[test]
    fn preformatted_text_keeps_its_lines_and_forms_their_ticks() {
        assert_eq!(
            text("<pre>Na  140\n K  4</pre><input type=checkbox checked>Fever"),
            "Na  140\n K  4\n[x] Fever"
        );
    }

    #[test]
    fn character_set_is_the_declared_one() {
        let html = b"<meta http-equiv=x content='text/html; charset=ISO-8859-2'>\xb9";
        assert_eq!(read(html, None).text, "š");
        assert_eq!(read(b"<META CHARSET=utf-8><p>\xc3\xa8", None).text, "è");
        assert_eq!(read(b"\xe8", None).text, "è");
    }

    #[test]
    fn title_and_author_are_stated() {
        let html = "<title>Op\nnote</title><meta name=Author content='Dr. Roe'>x";
        let page = read(html.as_bytes(), None);
        assert_eq!(page.title.as_deref(), Some("Op note"));
        assert_eq!(page.author.as_deref(), Some("Dr. Roe"));
        assert_eq!(page.text, "x");
    }
}
