#!/usr/bin/env python3
"""Writes the seeds of the targets `documents`, `docx` and `pdf`. Needs no packages."""
import base64
import pathlib
import zipfile
import zlib

SEEDS = pathlib.Path(__file__).parent / "seeds"
STAMP = (2026, 1, 3, 10, 15, 0)


def write(target, name, content):
    path = SEEDS / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def docx(method):
    space = "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'"
    run = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>"
    cell = "<w:tc><w:p>" + run + "</w:p></w:tc>"
    body = (
        "<w:p><w:pPr><w:pStyle w:val='Heading1'/></w:pPr>" + run.format("Labs") + "</w:p>"
        "<w:p>" + run.format("No fever &amp; ") + "<w:del><w:r><w:delText>x</w:delText></w:r></w:del><w:r><w:br/><w:tab/>"
        "<w:sym w:font='Symbol' w:char='F061'/></w:r></w:p><w:tbl><w:tr>" + cell.format("Na") + cell.format("140") + "</w:tr></w:tbl>"
    )
    parts = {
        "word/document.xml": f"<w:document {space}><w:body>{body}</w:body></w:document>",
        "word/footnotes.xml": f"<w:footnotes {space}><w:footnote w:type='separator'/><w:footnote><w:p>{run.format('note')}</w:p></w:footnote></w:footnotes>",
        "docProps/core.xml": "<cp><dc:title>Op</dc:title><dc:creator>Roe</dc:creator><dcterms:created>2026-01-03T10:15:00Z</dcterms:created></cp>",
    }
    path = SEEDS / "docx" / ("packed.docx" if method else "stored.docx")
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            info = zipfile.ZipInfo(name, STAMP)
            info.compress_type = method
            archive.writestr(info, text)


def stream(head, content):
    return b"<<" + head + b"/Length %d>>stream\n" % len(content) + content + b"\nendstream"


def pdf(objects, trailer=b""):
    out = b"%PDF-1.5\n"
    for number, content in enumerate(objects, 1):
        out += b"%d 0 obj\n" % number + content + b"\nendobj\n"
    return out + b"trailer<</Root 1 0 R" + trailer + b">>\n%%EOF\n"


def pdfs():
    page = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1/Rotate 0/Resources<</Font<</F1 5 0 R/F2 6 0 R>>/XObject<</X 7 0 R>>>>>>",
        b"<</Type/Page/Parent 2 0 R/Contents[4 0 R]>>",
    ]
    text = b"q 1 0 0 1 0 0 cm BT /F1 12 Tf 72 700 Td (Na) Tj 90 0 Td (140) Tj -90 -14 Td [(No fe)20(ver)-400(x\\351)] TJ /F2 9 Tf T* <00010002> Tj ET Q /X Do"
    fonts = [
        b"<</Type/Font/Subtype/Type1/BaseFont/Times-Roman/Encoding<</Differences[1/alpha/f_i]>>/FirstChar 1/Widths[500 500]>>",
        b"<</Type/Font/Subtype/Type0/Encoding/Identity-H/ToUnicode 8 0 R/DescendantFonts[<</Subtype/CIDFontType2/DW 600/W[1[500] 2 3 600]>>]>>",
    ]
    form = stream(b"/Subtype/Form/Matrix[1 0 0 1 0 -50]", b"BT /F1 9 Tf 0 1 -1 0 90 90 Tm /Span<</ActualText(ok)>>BDC (no) Tj EMC ET BI /W 1 ID x EI")
    cmap = b"1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfchar <0001> <0041> endbfchar 1 beginbfrange <0002> <0004> <0061> endbfrange"
    info = b"<</Title(Op)/Author<FEFF0041>/CreationDate(D:20260103101500Z)>>"
    write("pdf", "plain.pdf", pdf([*page, stream(b"", text), *fonts, form, stream(b"", cmap), info], b"/Info 9 0 R"))
    a85 = base64.a85encode(zlib.compress(text)) + b"~>"
    packed = [*page, stream(b"/Filter[/ASCII85Decode/FlateDecode]", a85), *fonts, form]
    write("pdf", "packed.pdf", pdf([*packed, stream(b"/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 4>>", zlib.compress(b"\2abcd"))]))
    inside = b"3 0 5 24 " + page[2].ljust(24) + fonts[0]
    runs = b"".join(bytes([len(run) - 1]) + run for run in (text[:100], text[100:]))
    written = [*page[:2], b"null", stream(b"/Filter/RL", runs + b"\x80"), b"null", *fonts[1:], form]
    write("pdf", "objects.pdf", pdf([*written, stream(b"/Type/ObjStm/N 2/First 9/Filter/FlateDecode", zlib.compress(inside))]))
    write("pdf", "encrypted.pdf", pdf([*page, stream(b"", text)], b"/Encrypt<</Filter/Standard>>"))


def texts():
    write("documents", "html", "<!DOCTYPE html><title>T</title><style>p</style><h2>Labs</h2><table><tr><td><p>Na<td>140</table><p hidden>x<pre>a  b\n c</pre>10<sup>9</sup> &eacute;<br><input type=checkbox checked>")
    write("documents", "rtf", "{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 A;}{\\f1\\fcharset238 B;}}{\\info{\\title T}}\\f1\\'b9 \\u945?\\par{\\v x}{\\field{\\*\\fldinst P}{\\fldrslt b}}\\trowd a\\cell b\\cell\\row\\bin2 {}}")
    write(
        "documents",
        "cda",
        "<?xml version='1.0' encoding='UTF-8'?><ClinicalDocument xmlns='urn:hl7-org:v3'><id extension='1'/><title>T</title><effectiveTime value='20260103'/><recordTarget><patientRole><id extension='9'/></patientRole></recordTarget><component><structuredBody><component><section><code code='10160-0'/><title>Drugs</title><text><list><item>ASA &amp; x</item></list><table><tr><td>a</td><td>b</td></tr></table></text></section></component></structuredBody></component></ClinicalDocument>",
    )
    write("documents", "unstructured", "<ClinicalDocument><component><nonXMLBody><text mediaType='text/rtf' representation='B64'>e1xydGYxIEdvdXQufQ==</text></nonXMLBody></component></ClinicalDocument>")
    write("documents", "hl7", "MSH|^~\\&|A|B|C|D|20260103101500-0500||ORU^R01|M1|P|2.5|||||| UNICODE UTF-8\rPID|1||9^^^H^MR\rPV1|1|I|||||||||||||||||V1\rOBR|1|||1^CT^L|||20260102\rOBX|1|TX|I^Imp^L||No \\T\\ PE\\.br\\x~y||||||F\rOBX|2|NM|K^K^LN||5.9|mmol/L|3-5|H|||F\rOBX|3|ED|D||T^TEXT^RTF^Base64^e1xydGYxIEdvdXQufQ==||||||F\rNTE|1||end\r")
    document = '{"resourceType":"DocumentReference","id":"d","content":[{"attachment":{"contentType":"text/html","data":"PHA+R291dC4="}}]}'
    write("documents", "fhir", '{"resourceType":"Bundle","entry":[{"resource":%s},{"resource":{"resourceType":"Composition","id":"c","section":[{"title":"S","code":{"coding":[{"system":"http://loinc.org","code":"8716-3"}]},"text":{"div":"<div>x</div>"}}]}}]}' % document)
    write("documents", "lines", document + "\n" + document[:40] + '\n{"resourceType":"DiagnosticReport","id":"r","conclusion":"PE"}\n')


if __name__ == "__main__":
    texts()
    docx(zipfile.ZIP_DEFLATED)
    docx(zipfile.ZIP_STORED)
    pdfs()
