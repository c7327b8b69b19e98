#!/usr/bin/env python3
"""Compares the texts that PEL reads from documents with those of independent readers.

Usage: bench/documents.py [--files N] [--keep FOLDER]

Makes N files (default 40) of each format from invented notes, in the styles of several programs, and reads them with the example
`text` of pel-documents and with another reader: python-docx, striprtf, PDFium and pypdf, BeautifulSoup, hl7apy, lxml. Prints for
each format how many words agree, in order, with the text that was written and with the other reader, and pages or files a second.
Before: `pip install reportlab fpdf2 python-docx striprtf pypdf pypdfium2 beautifulsoup4 lxml hl7apy`.
"""
import argparse
import base64
import difflib
import html
import io
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROBLEMS = "chest pain,type 2 diabetes mellitus,atrial fibrillation,chronic kidney disease,pneumonia,gout,Sjögren's syndrome,ménière disease,deep vein thrombosis,hyperkalaemia".split(",")
DRUGS = "lisinopril 10 mg daily,metformin 500 mg BID,apixaban 5 mg BID,furosemide 40 mg IV,insulin glargine 20 units,aspirin 81 mg".split(",")
LABS = [("Sodium", "138", "mmol/L", "135-145"), ("Potassium", "5.9", "mmol/L", "3.5-5.1"), ("Creatinine", "1.42", "mg/dL", "0.6-1.3"), ("Hemoglobin", "9.8", "g/dL", "12-16")]
HEADINGS = ["Chief Complaint", "History of Present Illness", "Medications", "Laboratory Results", "Assessment and Plan"]
SECTION_CODES = ["10154-3", "10164-2", "10160-0", "30954-2", "51847-2"]


def make_note(rng):
    """A note: (heading, paragraphs, list, table) of each section."""
    def sentence():
        start = rng.choice(["The patient denies", "He reports", "She was admitted with", "No evidence of", "There is a history of", "Work-up showed"])
        return f"{start} {rng.choice(PROBLEMS)} and {rng.choice(PROBLEMS)}, {rng.choice(['T < 38 °C', 'SpO2 > 92 %', 'BP 142/88', '“stable” at rest', 'R&B deferred'])}."
    sections = []
    for heading in HEADINGS:
        paragraphs = [" ".join(sentence() for _ in range(rng.randint(1, 6))) for _ in range(rng.randint(1, 3))]
        items = rng.sample(DRUGS, 3) if heading == "Medications" else []
        table = rng.sample(LABS, 3) if heading == "Laboratory Results" else []
        sections.append((heading, paragraphs, items, table))
    return sections


def words_of_note(note):
    out = []
    for heading, paragraphs, items, table in note:
        out += [heading, *paragraphs, *items, *(" ".join(row) for row in table)]
    return words("\n".join(out))


def words(text):
    """The words of a text. Bullets, numbers of lists and other marks of layout are none."""
    text = text.replace("\u00ad", "").replace("\u200b", "").replace("ﬁ", "fi").replace("ﬂ", "fl")
    found = (word.strip("|•·-–:*") for word in text.split())
    return [word for word in found if word]


def agreement(left, right):
    """The share of words that agree in order, of the longer text."""
    if left == right:
        return 1.0
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    same = sum(block.size for block in matcher.get_matching_blocks())
    return same / max(len(left), len(right), 1)


def make_html(note, style):
    body = []
    tag = ["h2", "b", "h4", "div"][style % 4]
    for heading, paragraphs, items, table in note:
        h = html.escape(heading)
        body.append(f"<{tag}>{h}</{tag}>" if tag != "b" else f"<p><b>{h}</b></p>")
        if style % 3 == 0:
            body += [f"<p style='margin:0'>{html.escape(p)}</p>" for p in paragraphs]
        elif style % 3 == 1:
            body.append("<div>" + "<br>\n".join(html.escape(p).replace(" ", "&nbsp;", 1) for p in paragraphs) + "</div>")
        else:
            body += [f"<div><span class=x>{html.escape(p[: len(p) // 2])}</span><span>{html.escape(p[len(p) // 2 :])}</span></div>" for p in paragraphs]
        if items:
            body.append("<ul>" + "".join(f"<li>{html.escape(i)}" for i in items) + "</ul>")
        if table:
            cell = "<td><p>{}</p></td>" if style % 2 else "<td>{}</td>"
            rows = ["<tr>" + "".join(cell.format(html.escape(c)) for c in row) + "</tr>" for row in table]
            body.append("<table border=1><tbody>" + "\n".join(rows) + "</tbody></table>")
    head = "<style>p{color:red}</style><script>var a = '<p>no</p>';</script>"
    charset = ["utf-8", "windows-1252"][style % 2]
    page = f"<!DOCTYPE html><html><head><meta charset={charset}><title>Visit</title>{head}</head><body>{''.join(body)}<div hidden>never shown</div></body></html>"
    return page.encode(charset, "xmlcharrefreplace")


def rtf_escape(text, style):
    out = []
    for c in text:
        if c in "\\{}":
            out.append("\\" + c)
        elif ord(c) < 128:
            out.append(c)
        elif style % 2 and c.encode("cp1252", "ignore"):
            out.append("\\'%02x" % c.encode("cp1252")[0])
        else:
            out.append(f"\\u{ord(c)}?")
    return "".join(out)


def make_rtf(note, style):
    out = ["{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0\\fswiss\\fcharset0 Arial;}{\\f1\\froman Times;}}"]
    out.append("{\\colortbl;\\red255\\green0\\blue0;}{\\*\\generator Riched20 10.0;}{\\info{\\author A. Roe}}\n\\viewkind4\\uc1\\pard\\f0\\fs20 ")
    for heading, paragraphs, items, table in note:
        out.append(f"{{\\b {rtf_escape(heading, style)}}}\\par\n")
        for p in paragraphs:
            out.append(rtf_escape(p, style) + ("\\line\n" if style % 3 == 1 else "\\par\n"))
        for item in items:
            out.append("\\pard{\\pntext\\f1\\'B7\\tab}{\\*\\pn\\pnlvlblt\\pnf1}" + rtf_escape(item, style) + "\\par\n")
        for row in table:
            cells = "".join(f"{rtf_escape(c, style)}\\cell " for c in row)
            out.append("\\trowd" + "".join(f"\\cellx{(n + 1) * 1500}" for n in range(len(row))) + f"\\intbl {cells}\\row\n")
    return ("".join(out) + "{\\*\\themedata 00}}").encode("ascii")


def make_docx(note, style):
    import docx
    document = docx.Document()
    for heading, paragraphs, items, table in note:
        if style % 2:
            document.add_heading(heading, 1)
        else:
            document.add_paragraph().add_run(heading).bold = True
        for p in paragraphs:
            paragraph = document.add_paragraph()
            for at, part in enumerate(re.split(r"(?<= )", p)):
                paragraph.add_run(part).italic = at % 5 == style % 5
        for item in items:
            document.add_paragraph(item, style="List Bullet")
        if table:
            made = document.add_table(rows=0, cols=len(table[0]))
            for row in table:
                for cell, text in zip(made.add_row().cells, row):
                    cell.text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def make_pdf(note, style):
    return (make_pdf_reportlab if style % 3 else make_pdf_fpdf)(note, style)


def make_pdf_reportlab(note, style):
    from reportlab.lib.pagesizes import letter
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import ListFlowable, Paragraph, SimpleDocTemplate, Table
    sheet, flow = getSampleStyleSheet(), []
    body = sheet["BodyText"]
    body.fontName = ["Helvetica", "Times-Roman"][style % 2]
    body.alignment = 4 if style % 4 == 1 else 0
    for heading, paragraphs, items, table in note:
        flow.append(Paragraph(html.escape(heading), sheet["Heading2"]))
        flow += [Paragraph(html.escape(p), body) for p in paragraphs]
        if items:
            flow.append(ListFlowable([Paragraph(html.escape(i), body) for i in items], bulletType="bullet"))
        if table:
            flow.append(Table([list(row) for row in table]))
    out = io.BytesIO()
    SimpleDocTemplate(out, pagesize=letter, title="Visit", author="A. Roe", pageCompression=style % 2).build(flow)
    return out.getvalue()


def make_pdf_fpdf(note, style):
    from fpdf import FPDF
    pdf = FPDF(format="A4")
    pdf.add_page()
    for heading, paragraphs, items, table in note:
        plain = lambda text: text.replace("“", '"').replace("”", '"')
        pdf.set_font("Helvetica", "B", 13)
        pdf.cell(0, 8, heading, new_x="LMARGIN", new_y="NEXT")
        pdf.set_font(["Helvetica", "Times", "Courier"][style % 3], size=10)
        for p in paragraphs:
            pdf.multi_cell(0, 5, plain(p), new_x="LMARGIN", new_y="NEXT", align="J" if style % 2 else "L")
        for item in items:
            pdf.multi_cell(0, 5, "- " + item, new_x="LMARGIN", new_y="NEXT")
        for row in table:
            for cell in row:
                pdf.cell(40, 6, cell, border=1)
            pdf.ln()
    return bytes(pdf.output())


def make_cda(note, style):
    parts = []
    for (heading, paragraphs, items, table), code in zip(note, SECTION_CODES):
        text = "".join(f"<paragraph>{html.escape(p, quote=False)}</paragraph>" for p in paragraphs)
        if style % 2:
            text = "<br/>".join(f"<content ID='c{n}'>{html.escape(p, quote=False)}</content>" for n, p in enumerate(paragraphs))
        if items:
            text += "<list>" + "".join(f"<item>{html.escape(i)}</item>" for i in items) + "</list>"
        if table:
            text += "<table border='1'><tbody>" + "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in table) + "</tbody></table>"
        parts.append(
            f"<component><section><templateId root='2.16.840.1.113883.10.20.22.2.1'/><code code='{code}' codeSystem='2.16.840.1.113883.6.1'/>"
            f"<title>{html.escape(heading)}</title><text>{text}</text><entry><act classCode='ACT'/></entry></section></component>"
        )
    return (
        "<?xml version='1.0' encoding='UTF-8'?><?xml-stylesheet href='CDA.xsl'?><ClinicalDocument xmlns='urn:hl7-org:v3'><title>Visit</title>"
        "<effectiveTime value='20260103101500-0500'/><recordTarget><patientRole><id extension='998991' root='1.2'/></patientRole></recordTarget>"
        f"<component><structuredBody>{''.join(parts)}</structuredBody></component></ClinicalDocument>"
    ).encode()


def hl7_escape(text):
    for c, code in (("\\", "E"), ("|", "F"), ("^", "S"), ("&", "T"), ("~", "R")):
        text = text.replace(c, f"\\{code}\\") if c != "\\" else text.replace("\\", "\\E\\")
    return text


def make_hl7(note, style):
    lines = ["MSH|^~\\&|LAB|H|EHR|H|20260103101500||ORU^R01|M1|P|2.5.1||||||UNICODE UTF-8", "PID|1||998991^^^H^MR||Roe^Ann", "PV1|1|I||||||||||||||||||V12"]
    number = 0
    for at, (heading, paragraphs, items, table) in enumerate(note):
        lines.append(f"OBR|{at + 1}|O{at}|F{at}|{at}^{hl7_escape(heading)}^L|||20260103")
        texts = [hl7_escape(text) for text in [*paragraphs, *items]]
        if style % 2:
            texts = ["\\.br\\".join(texts)]
        for text in texts:
            number += 1
            lines.append(f"OBX|{number}|{['TX', 'FT'][style % 2]}|{at}^{hl7_escape(heading)}^L||{text}||||||F")
        for name, value, unit, range_ in table:
            number += 1
            lines.append(f"OBX|{number}|NM|{name}^{name}^L||{value}|{unit}|{range_}||||F")
    return (["\r", "\n"][style % 2]).join(lines).encode()


def make_fhir(note, style):
    inner = make_html(note, 2 * style) if style % 2 else make_rtf(note, style)
    attachment = {"contentType": "text/html" if style % 2 else "application/rtf", "data": base64.b64encode(inner).decode()}
    return json.dumps({"resourceType": "DiagnosticReport", "id": "r1", "subject": {"reference": "Patient/p1"}, "presentedForm": [attachment]}).encode()


def other_html(content, note, style):
    from bs4 import BeautifulSoup
    soup = BeautifulSoup(content, "lxml")
    for tag in [*soup(["script", "style", "title"]), *soup.select("[hidden]")]:
        tag.decompose()
    for tag in soup(["td", "p", "div", "br", "li", "h2", "h4", "b"]):
        tag.append("\n")
        tag.insert_before("\n") if tag.name == "br" else None
    return soup.get_text()


def other_rtf(content, note, style):
    from striprtf.striprtf import rtf_to_text
    return rtf_to_text(content.decode("ascii")).replace("|", "\n")


def other_docx(content, note, style):
    import docx
    document, out = docx.Document(io.BytesIO(content)), []
    for block in document.iter_inner_content():
        if hasattr(block, "rows"):
            out += ["\t".join(cell.text for cell in row.cells) for row in block.rows]
        else:
            out.append(block.text)
    return "\n".join(out)


def other_pdf(content, note, style):
    import pypdfium2
    document = pypdfium2.PdfDocument(content)
    return "\n".join(page.get_textpage().get_text_range() for page in document)


def other_pdf_pypdf(content, note, style):
    import pypdf
    return "\n".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(content)).pages)


def other_cda(content, note, style):
    from lxml import etree
    root, out = etree.fromstring(content), []
    for section in root.iter("{urn:hl7-org:v3}section"):
        for child in section:
            if etree.QName(child).localname in ("title", "text"):
                out += list(child.itertext())
    return "\n".join(out)


def other_hl7(content, note, style):
    from hl7apy.parser import parse_message
    message = parse_message(content.decode().replace("\n", "\r"), find_groups=False)
    out, last = [], None
    for segment in message.children:
        if segment.name == "OBR":
            out.append(segment.obr_4.obr_4_2.value)
        if segment.name == "OBX" and segment.obx_2.value == "NM":
            out.append(f"{segment.obx_3.obx_3_2.value}: {segment.obx_5.value} {segment.obx_6.value} ({segment.obx_7.value})")
        elif segment.name == "OBX":
            text = segment.obx_5.to_er7()
            for code, c in (("\\.br\\", "\n"), ("\\F\\", "|"), ("\\S\\", "^"), ("\\T\\", "&"), ("\\R\\", "~"), ("\\E\\", "\\")):
                text = text.replace(code, c)
            out.append(text)
    return "\n".join(out).replace("\\T\\", "&")


def other_fhir(content, note, style):
    inner = base64.b64decode(json.loads(content)["presentedForm"][0]["data"])
    return other_html(inner, note, style) if style % 2 else other_rtf(inner, note, style)


FORMATS = {
    "html": (make_html, {"BeautifulSoup": other_html}),
    "rtf": (make_rtf, {"striprtf": other_rtf}),
    "docx": (make_docx, {"python-docx": other_docx}),
    "pdf": (make_pdf, {"PDFium": other_pdf, "pypdf": other_pdf_pypdf}),
    "xml": (make_cda, {"lxml": other_cda}),
    "hl7": (make_hl7, {"hl7apy": other_hl7}),
    "json": (make_fhir, {"striprtf, BeautifulSoup": other_fhir}),
}


def pel_text():
    """The example program, built with optimisation."""
    given = os.environ.get("PEL_DOCUMENTS_TEXT")
    if given:
        return given
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
    subprocess.run(["cargo", "build", "--release", "-q", "-p", "pel-documents", "--example", "text"], cwd=ROOT, check=True)
    return str(pathlib.Path(target) / "release/examples/text")


def read_by_pel(program, folder, names):
    """The lines of the program for files, its seconds of reading, and its peak memory in MB."""
    command = ["/usr/bin/env", "python3", "-c", "import resource,subprocess,sys\nr=subprocess.run(sys.argv[1:],capture_output=True,text=True)\nprint(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss//1024)\nprint(r.stdout,end='')\nprint(r.stderr,file=sys.stderr,end='')"]
    done = subprocess.run([*command, program, "--json", *names], cwd=folder, capture_output=True, text=True, check=True)
    memory, *lines = done.stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    return {row["file"]: row for row in rows}, sum(row.get("seconds", 0) for row in rows), int(memory)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--keep")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    program = pel_text()
    print(f"| format | files | PEL against the source | other reader | it against the source | PEL against it | worst | files/s | other files/s | MB |")
    print("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(args.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for ending, (make, others) in FORMATS.items():
            rng, made = random.Random(ending), []
            for number in range(args.files):
                note = make_note(rng)
                content = make(note, number)
                name = f"{number:02}.{ending}"
                (folder / name).write_bytes(content)
                made.append((name, note, content, number))
            found, seconds, memory = read_by_pel(program, folder, [name for name, *_ in made])
            own = []
            for name, note, _, _ in made:
                if "text" not in found.get(name, {}):
                    print(f"{name}: {found.get(name)}", file=sys.stderr)
                own.append(words(found.get(name, {}).get("text", "")))
            source = [words_of_note(note) for _, note, _, _ in made]
            for label, other in others.items():
                begun = time.perf_counter()
                theirs = [words(other(content, note, number)) for _, note, content, number in made]
                took = time.perf_counter() - begun
                mean = lambda pairs: sum(pairs) / len(pairs)
                right = [agreement(a, b) for a, b in zip(own, source)]
                their_right = [agreement(a, b) for a, b in zip(theirs, source)]
                both = [agreement(a, b) for a, b in zip(own, theirs)]
                print(
                    f"| {ending} | {len(made)} | {mean(right):.2%} | {label} | {mean(their_right):.2%} | {mean(both):.2%} | {min(right):.2%} "
                    f"| {len(made) / max(seconds, 1e-9):.0f} | {len(made) / took:.0f} | {memory} |"
                )


if __name__ == "__main__":
    main()
