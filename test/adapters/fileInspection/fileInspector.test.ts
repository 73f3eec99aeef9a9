import { describe, expect, spyOn, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { constants, deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { fileInspector } from "../../../src/adapters/fileInspection/fileInspector.ts";
import { OfficeActiveContent } from "../../../src/adapters/fileInspection/officeActiveContent.ts";
import { XmlReader } from "../../../src/adapters/fileInspection/xmlReader.ts";
import type { InspectionResult } from "../../../src/ports/attachmentInspector.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import type { MalwareScanner } from "../../../src/ports/malwareScanner.ts";
import { odf, ooxml, SAMPLE_FILES, windowsProgram } from "../../support/files/sampleFiles.ts";
import { writeZip, type ZipPart } from "../../support/files/zipWriter.ts";

const NO_ARCHIVES = { archiveAttachments: false };
const ARCHIVES = { archiveAttachments: true };

const inspector = fileInspector({ scanner: null });
const types = new Map(SAMPLE_FILES.map(([extension, type]) => [extension, type]));
const samples = new Map(SAMPLE_FILES.map(([extension, , bytes]) => [extension, bytes]));

function sample(extension: string): Buffer {
  const bytes = samples.get(extension);
  if (!bytes) throw new Error(`no sample of ${extension}`);
  return bytes;
}

/** The verdict on a file of this format with this content. */
function inspect(extension: string, content: Uint8Array | string, allowances = NO_ARCHIVES) {
  const contentType = types.get(extension) ?? "application/zip";
  return inspector.inspect(
    { filename: `file.${extension}`, contentType, bytes: Buffer.from(content) },
    allowances,
    "owner",
  );
}

function named(
  filename: string,
  contentType = "application/pdf",
  allowances = NO_ARCHIVES,
): InspectionResult {
  return inspector.inspectName({ filename, contentType }, allowances);
}

function reasonOf(result: InspectionResult): string {
  return result.kind === "clean" ? "clean" : `${result.kind}: ${result.reason}`;
}

describe("a small well-formed file", () => {
  test.each(SAMPLE_FILES)(
    "with the extension %s and the type %s is sound",
    async (extension, type, bytes) => {
      const file = { filename: `Überweisung 1.2 ${extension}.${extension}`, contentType: type, bytes };
      expect(reasonOf(await inspector.inspect(file, NO_ARCHIVES, "owner"))).toBe("clean");
      expect(inspector.inspectName(file, NO_ARCHIVES)).toEqual({ kind: "clean" });
    },
  );

  test.each(SAMPLE_FILES)("of %s is not taken for any other format", async (extension, _, bytes) => {
    const sameFormat = [
      ["jpg", "jpeg"],
      ["tif", "tiff"],
      ["txt", "md", "csv", "json"],
    ].find((group) => group.includes(extension));
    const text = ["txt", "md", "csv"];
    for (const [other, type] of SAMPLE_FILES) {
      if (other === extension || sameFormat?.includes(other)) continue;
      const result = await inspector.inspect(
        { filename: `a.${other}`, contentType: type, bytes },
        NO_ARCHIVES,
        "owner",
      );
      // JSON is also valid text; no other two formats overlap.
      if (extension === "json" && text.includes(other)) continue;
      expect([extension, other, result.kind]).toEqual([extension, other, "invalid"]);
    }
  });

  test.each(SAMPLE_FILES)("of %s with no content is invalid", async (extension) => {
    expect(reasonOf(await inspect(extension, ""))).toBe("invalid: the file is empty");
  });

  test.each(SAMPLE_FILES)("of %s must have its own type", (extension, type) => {
    for (const other of ["application/octet-stream", "", "*/*", `${type}x`, ` ${type}`, `${type};`])
      expect(named(`a.${extension}`, other).kind).toBe("invalid");
    for (const other of [type.toUpperCase(), `${type}; charset=utf-8`, `${type};charset=utf-8`])
      expect(named(`a.${extension}`, other).kind).toBe("invalid");
    expect(named(`A.${extension.toUpperCase()}`, type)).toEqual({ kind: "clean" });
  });
});

describe("a name", () => {
  test.each([
    ["a.pdf"],
    ["Rechnung Nr. 5.pdf"],
    ["счёт.pdf"],
    ["請求書.pdf"],
    ["فاتورة.pdf"],
    ["a'b\"c;d%20=?utf-8?q?e?=.pdf"],
    ["exe.pdf"],
    ["letter.doc.pdf"],
    ["1.0.0-rc.1.pdf"],
    ["می‌خواهم.pdf"],
    ["क्‍ष.pdf"],
    ["👨‍👩‍👧‍👦 ❤️ 👩🏽‍🚀.pdf"],
    ["报告：第一季度。附件….pdf"],
  ])("%s is sound", (filename) => {
    expect(reasonOf(named(filename))).toBe("clean");
  });

  test.each([
    ["", "empty"],
    ["e\u0301.pdf", "NFC"],
    ["\ud800.pdf", "NFC"],
    ["a\0.pdf", "control characters"],
    ["a\r\nBcc: eve@example.org.pdf", "control characters"],
    ["a\u0085.pdf", "control characters"],
    ["a\u2028.pdf", "control characters"],
    ["invoice\u202efdp.pdf", "direction"],
    ["a\u2066b.pdf", "direction"],
    ["../a.pdf", "/ \\ or :"],
    ["a\\b.pdf", "/ \\ or :"],
    ["c:a.pdf", "/ \\ or :"],
    [".a.pdf", "begin or end"],
    [" a.pdf", "begin or end"],
    ["a.pdf.", "begin or end"],
    ["a.pdf ", "begin or end"],
    ["a.pdf\u00a0", "begin or end"],
    ["a.exe.pdf", ".exe before its extension"],
    ["a.EXE .pdf", ".EXE before its extension"],
    ["a.js.b.pdf", ".js before its extension"],
    ["a.docm.pdf", ".docm before its extension"],
    ["a\u200b.pdf", "U+200B, which cannot be seen"],
    ["invoice\u200f.pdf", "U+200F, which cannot be seen"],
    ["\ufeffa.pdf", "U+FEFF, which cannot be seen"],
    ["a\u00ad.pdf", "U+00AD, which cannot be seen"],
    ["a\u2060b.pdf", "U+2060, which cannot be seen"],
    ["a\u3164.pdf", "U+3164, which cannot be seen"],
    ["a\u2800.pdf", "U+2800, which cannot be seen"],
    ["a\u034fb.pdf", "U+034F, which cannot be seen"],
    ["a\u{e0041}.pdf", "U+E0041, which cannot be seen"],
    ["pay\u200dment.pdf", "U+200D, which cannot be seen"],
    ["счёт\u200c.pdf", "U+200C, which cannot be seen"],
    ["invoice\u2024exe.pdf", "U+2024, which looks like"],
    ["invoice\uff0eexe.pdf", "U+FF0E, which looks like"],
    ["a\ufe52exe.pdf", "U+FE52, which looks like"],
    ["..\u2215etc.pdf", "U+2215, which looks like"],
    ["a\u2044b.pdf", "U+2044, which looks like"],
    ["a\uff0fb.pdf", "U+FF0F, which looks like"],
    ["a\uff3cb.pdf", "U+FF3C, which looks like"],
    ["c\u2236a.pdf", "U+2236, which looks like"],
    ["c\ua789a.pdf", "U+A789, which looks like"],
  ])("%j is invalid", (filename, reason) => {
    expect(named(filename).kind).toBe("invalid");
    expect(reasonOf(named(filename))).toContain(reason);
  });

  test.each(
    (
      "html htm svg doc xls ppt docm xlsm pptm dotm rtf exe dll msi bat cmd com scr js jse vbs vbe ps1 psm1 jar " +
      "hta lnk iso img dmg apk chm reg url 7z rar tar gz zip eml p7s pkpass bin unknown constructor __proto__"
    ).split(" "),
  )("with the extension %s is unsupported", async (extension) => {
    const file = { filename: `a.${extension}`, contentType: "application/pdf", bytes: sample("pdf") };
    expect(inspector.inspectName(file, NO_ARCHIVES).kind).toBe("unsupported");
    expect((await inspector.inspect(file, NO_ARCHIVES, "owner")).kind).toBe("unsupported");
  });

  test.each(["pdf", "a", "pdf。pdf", "a.pdf b"])(
    "without a supported extension, %s, is unsupported",
    (name) => {
      expect(named(name).kind).toBe("unsupported");
    },
  );
});

describe("a text", () => {
  test.each([
    ["UTF-16", Buffer.from("\ufeffHello", "utf16le")],
    ["Latin-1", Buffer.from("Grüße", "latin1")],
    ["a NUL", "a\0b"],
    ["an escape sequence", "a\u001b[2Jb"],
    ["a DEL", "a\u007fb"],
    ["a form feed", "a\fb"],
    ["half a character", Buffer.from([0x61, 0xe2, 0x82])],
    ["an encoded surrogate", Buffer.from([0xed, 0xa0, 0x80])],
    ["an overlong slash", Buffer.from([0xc0, 0xaf])],
    ["a program", windowsProgram()],
    ["a PDF", sample("pdf")],
    ["RTF", "{\\rtf1 hello}"],
    ["PostScript", "%!PS-Adobe-3.0"],
  ])("with %s is invalid", async (_, content) => {
    for (const extension of ["txt", "md", "csv"])
      expect((await inspect(extension, content)).kind).toBe("invalid");
  });

  test.each(["BMW, price list", "GIF or PNG?", "FORM;NAME", "MAC address;name", "ID3 tags", "II. Chapter"])(
    "that begins with the letters of a binary format is clean: %s",
    async (content) => {
      expect(reasonOf(await inspect("csv", content))).toBe("clean");
    },
  );

  test.each([
    ["json", "{"],
    ["json", "{a:1}"],
    ["json", "1 2"],
    ["ics", "BEGIN:VCARD\r\nEND:VCARD"],
    ["ics", "BEGIN:VCALENDAR\r\n"],
    ["ics", "BEGIN:VCALENDARS\r\nEND:VCALENDAR"],
    ["ics", "x\r\nBEGIN:VCALENDAR\r\nEND:VCALENDAR"],
    ["ics", "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n<script>"],
    ["vcf", "BEGIN:VCARD END:VCARD"],
    ["vcf", "BEGIN:VCARD\nEND:VCARDS"],
    ["xml", "no element"],
    ["xml", "<!-- <a/> "],
    ["xml", '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'],
    ["xml", "<a/><!doctype html>"],
    ["xml", '<?xml version="1.0" encoding="UTF-7"?><a/>'],
    ["xml", "<?xml version='1.0' encoding='ISO-8859-1'?><a/>"],
    ["xml", Buffer.from('\ufeff<?xml version="1.0"?><a/>', "utf16le")],
    ["xml", '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
    ["xml", '<?xml version="1.0"?><!-- a --><?b c?>\n<h:html xmlns:h="http://www.w3.org/1999/xhtml"/>'],
  ])("of the format %s is invalid: %j", async (extension, content) => {
    expect((await inspect(extension, content)).kind).toBe("invalid");
  });

  test.each([
    ["json", '\ufeff"a"'],
    ["ics", "begin:vcalendar\nend:vcalendar\n\n"],
    ["vcf", "BEGIN:VCARD\r\nFN:A\r\nEND:VCARD\r\nBEGIN:VCARD\r\nFN:B\r\nEND:VCARD"],
    ["xml", "\ufeff \n<?b c?><!-- > --><rsm:Invoice/>"],
    ["xml", '<?xml version="1.0" encoding="utf-8" standalone="yes"?>\r\n<a/>'],
  ])("of the format %s is clean: %j", async (extension, content) => {
    expect(reasonOf(await inspect(extension, content))).toBe("clean");
  });
});

test("JSON may be a thousand levels deep, and no deeper", async () => {
  const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
  expect(reasonOf(await inspect("json", nested(1_000)))).toBe("clean");
  expect(reasonOf(await inspect("json", nested(1_001)))).toContain("more than 1000 levels");
});

describe("a document", () => {
  const bomb: ZipPart = { name: "word/a.xml", content: Buffer.alloc(5_000_000) };
  const parts = (count: number): readonly ZipPart[] =>
    Array.from({ length: count }, (_, index) => ({ name: `word/${index}.xml`, stored: true }));

  const hostile: readonly (readonly [string, readonly ZipPart[], string])[] = [
    ["a VBA project", [{ name: "word/vbaProject.bin" }], "macros"],
    ["a VBA project in capitals", [{ name: "word/VBAPROJECT.BIN" }], "macros"],
    ["an ActiveX control", [{ name: "word/activeX/activeX1.xml" }], "macros"],
    ["an Excel 4 macro sheet", [{ name: "xl/macrosheets/sheet1.xml" }], "macros"],
    ["a Basic library", [{ name: "Basic/Standard/Module1.xml" }], "macros"],
    ["a program", [{ name: "word/media/a.exe", content: "text" }], "program"],
    [
      "a program with another extension",
      [{ name: "word/media/a.png", content: windowsProgram() }],
      "program",
    ],
    ["a program under two extensions", [{ name: "word/media/a.exe.png" }], "program"],
    ["an ELF program", [{ name: "a.bin", content: "\x7fELF", stored: true }], "program"],
    ["a script", [{ name: "a.xml", content: "#!/bin/sh" }], "program"],
    ["a path that leads out", [{ name: "../../etc/passwd" }], "path"],
    ["a path that leads out, the other way", [{ name: "..\\..\\a.xml" }], "path"],
    ["an absolute path", [{ name: "/etc/passwd" }], "path"],
    ["a drive", [{ name: "c:a.xml" }], "path"],
    ["a line break in a path", [{ name: "a\nb.xml" }], "path"],
    ["a symbolic link", [{ name: "a.xml", content: "/etc/passwd", mode: 0o120777 }], "symbolic link"],
    ["a file twice", [{ name: "a.xml" }, { name: "A.xml" }], "twice"],
    ["an encrypted file", [{ name: "a.xml", flags: 1 }], "encrypted"],
    ["an unknown packing", [{ name: "a.xml", method: 99 }], "packed"],
    ["a file at a ratio of a thousand", [bomb], "times its size"],
    ["files over 100 MB", [{ name: "a.xml", declaredBytes: 100_000_001 }], "unpacks to more than 100000000"],
    ["2,001 files", parts(1_998), "more than 2000 files"],
    [
      "a size that is too small",
      [{ name: "a.xml", content: "text", declaredBytes: 1 }],
      "unpack to its size",
    ],
    [
      "a size that is too large",
      [{ name: "a.xml", content: "text", declaredBytes: 9 }],
      "unpack to its size",
    ],
    [
      "broken packing",
      [{ name: "a.xml", content: "\xff\xff", stored: true, method: 8 }],
      "unpack to its size",
    ],
    ["an unlisted file", [{ name: "a.exe", unlisted: true }], "not what its directory says"],
    [
      "another name in its directory",
      [{ name: "a.exe", listedName: "a.xml" }],
      "not what its directory says",
    ],
    [
      "two files in one place",
      [{ name: "a.xml" }, { name: "a.xml", listedName: "b.xml", offset: 0 }],
      "directory",
    ],
    ["a file that begins beyond its end", [{ name: "a.xml", offset: 1_000_000 }], "directory"],
    ["a zip archive", [{ name: "a.zip", content: writeZip([{ name: "a.xml" }]) }], "another archive"],
    [
      "a zip archive under another name",
      [{ name: "a.png", content: writeZip([{ name: "a" }]) }],
      "another archive",
    ],
    ["a RAR archive", [{ name: "a.bin", content: "Rar!\x1a\x07\0" }], "another archive"],
    [
      "a document with a macro",
      [{ name: "word/embeddings/a.xlsx", content: ooxml("xlsx", [{ name: "xl/vbaProject.bin" }]) }],
      "macros",
    ],
    [
      "documents four deep",
      [
        {
          name: "a.docx",
          content: ooxml("docx", [
            { name: "b.docx", content: ooxml("docx", [{ name: "c.docx", content: ooxml("docx") }]) },
          ]),
        },
      ],
      "another archive",
    ],
  ];

  test.each(hostile)("with %s is invalid", async (_, more, reason) => {
    for (const [extension, bytes] of [
      ["docx", ooxml("docx", more)],
      ["ods", odf("spreadsheet", more)],
    ] as const) {
      const result = await inspect(extension, bytes);
      expect(result.kind).toBe("invalid");
      expect(reasonOf(result)).toContain(reason);
    }
  });

  test.each([
    ["a font that begins like a program", [{ name: "word/fonts/font1.odttf", content: windowsProgram() }]],
    ["an embedded sheet", [{ name: "word/embeddings/a.xlsx", content: ooxml("xlsx") }]],
    ["a small part that packs well", [{ name: "word/a.xml", content: Buffer.alloc(90_000, " ") }]],
    ["an empty folder", [{ name: "Configurations2/images/", stored: true }]],
    ["2,000 files", parts(1_997)],
  ] as const)("with %s is sound", async (_, more) => {
    expect(reasonOf(await inspect("docx", ooxml("docx", more)))).toBe("clean");
    expect(reasonOf(await inspect("ods", odf("spreadsheet", more)))).toBe("clean");
  });

  const relationships = (...all: readonly string[]): ZipPart => ({
    name: "word/_rels/settings.xml.rels",
    content: `<?xml version="1.0"?><Relationships>${all.join("")}</Relationships>`,
  });
  const relationship = (kind: string, target: string, mode = ' TargetMode="External"') =>
    `<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${kind}" Target="${target}"${mode}/>`;
  const part = (content: string | Uint8Array, name = "word/header9.xml"): ZipPart => ({ name, content });
  const paragraph = (markup: string) => part(`<w:hdr xmlns:w="w"><w:p>${markup}</w:p></w:hdr>`);
  const begin = '<w:fldChar w:fldCharType="begin"/>';
  const end = '<w:fldChar w:fldCharType="separate"/><w:t>DDE</w:t><w:fldChar w:fldCharType="end"/>';
  const instruction = (...runs: readonly string[]) =>
    runs.map((run) => `<w:r><w:instrText xml:space="preserve">${run}</w:instrText></w:r>`).join("");
  const field = (...runs: readonly string[]) => paragraph(begin + instruction(...runs) + end);

  const OUTSIDE = "a link to a template or object outside of it";
  const LINK = "a DDE or OLE link";
  const OLE = "an OLE object";
  const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, "utf16le");

  test.each([
    [
      "a template on the web",
      relationships(relationship("attachedTemplate", "https://a.example/t.dotm")),
      OUTSIDE,
    ],
    ["a template on a share", relationships(relationship("attachedTemplate", "\\\\host\\t.dotx")), OUTSIDE],
    [
      "a template on a share by URL",
      relationships(relationship("attachedTemplate", "file://host/t.dotx")),
      OUTSIDE,
    ],
    [
      "one in strict OOXML",
      part(
        '<r:Relationship xmlns:r="r" Type="http://purl.oclc.org/ooxml/officeDocument/relationships/attachedTemplate" Target="http://a.example/" TargetMode="External"/>',
        "word/_rels/document.xml.rels",
      ),
      OUTSIDE,
    ],
    [
      "one with its mode written otherwise",
      relationships(
        relationship("attachedTemplate", "http://a.example/", " TargetMode = '&#69;xtern&#x00000061;l'"),
      ),
      OUTSIDE,
    ],
    [
      "one behind a comment that looks like it",
      relationships('<!-- <Relationship a=" -->', relationship("frame", "http://a.example/")),
      OUTSIDE,
    ],
    [
      "one with a > in a value",
      relationships(
        relationship("frame", "http://a.example/").replace("<Relationship", '<Relationship x=">"'),
      ),
      OUTSIDE,
    ],
    [
      "one in UTF-16",
      part(utf16(`<Relationships>${relationship("attachedTemplate", "http://a.example/")}</Relationships>`)),
      OUTSIDE,
    ],
    [
      "one behind white space",
      part(" ".repeat(90_000) + relationship("attachedTemplate", "http://a.example/")),
      OUTSIDE,
    ],
    ["a picture on a share", relationships(relationship("image", "file:////host/a.png")), OUTSIDE],
    ["a linked object", relationships(relationship("oleObject", "mhtml:http://a.example/")), OLE],
    ["an embedded object", relationships(relationship("oleObject", "embeddings/oleObject1.bin", "")), OLE],
    [
      "an OLE file under any name",
      part(Buffer.from("d0cf11e0a1b11ae10000", "hex"), "word/media/image1.png"),
      OLE,
    ],
    ["a part in another format", relationships(relationship("aFChunk", "a.rtf", "")), "another format"],
    ["a DDEAUTO field", field(' DDEAUTO c:\\\\windows\\\\system32\\\\cmd.exe "/k calc"'), LINK],
    ["a DDE field", field("dde excel a b"), LINK],
    ["a LINK field", field(" LINK Excel.Sheet.12 a b"), LINK],
    ["one in pieces", field(" D", "DEA", "UTO ", "x"), LINK],
    ["one in references", field("&#68;&#x0000000044;E x"), LINK],
    ["one in a CDATA section", field("<![CDATA[DDEAUTO x]]>"), LINK],
    ["one behind thousands of blanks in references", field("&#32; ".repeat(900), "DDEAUTO x"), LINK],
    [
      "one within a field",
      paragraph(begin + instruction(" IF ") + begin + instruction("DDE x") + end + end),
      LINK,
    ],
    [
      "one that a field spells",
      paragraph(begin + begin + instruction(" QUOTE 68 68 69") + end + instruction(" x") + end),
      LINK,
    ],
    [
      "one that a field spells the end of",
      paragraph(begin + instruction("DDE") + begin + instruction(" QUOTE 65") + end + end),
      LINK,
    ],
    ["one without an end", paragraph(begin + instruction("DDEAUTO x") + begin), LINK],
    ["a simple DDE field", paragraph('<w:fldSimple w:instr=" DDEAUTO a b"/>'), LINK],
    [
      "a DDE link of a sheet",
      part(
        '<externalLink><ddeLink ddeService="cmd" ddeTopic="/c calc"/></externalLink>',
        "xl/externalLinks/externalLink1.xml",
      ),
      LINK,
    ],
    [
      "an OLE link of a sheet",
      part("<x:externalLink xmlns:x='x'><x:oleLink/></x:externalLink>", "xl/a.bin"),
      LINK,
    ],
    [
      "a DDE source of ODF",
      part('<office:dde-source office:dde-application="soffice"/>', "content2.xml"),
      LINK,
    ],
    [
      "a slide that runs a program",
      part('<a:hlinkMouseOver action="ppaction://program"/>', "ppt/slides/slide9.xml"),
      "makes something run",
    ],
    ["a DOCTYPE", part('<!DOCTYPE a [<!ENTITY b "External">]><a/>'), "DOCTYPE"],
    ["a picture's DOCTYPE in another part", part('<!DOCTYPE svg PUBLIC "a" "b"><svg/>'), "DOCTYPE"],
    [
      "a link that an entity hides",
      part(
        `<!DOCTYPE svg [<!ENTITY e "External">]>${relationship("attachedTemplate", "https://a.example/b.dotm", ' TargetMode="&e;"')}`,
        "word/_rels/settings.xml.rels",
      ),
      "DOCTYPE",
    ],
    [
      "a picture that declares an entity",
      part('<!DOCTYPE svg PUBLIC "a" "b" [<!ENTITY e "f">]><svg/>', "word/media/image2.svg"),
      "DOCTYPE",
    ],
    [
      "a picture whose declarations hide what follows",
      part("<!DOCTYPE svg [<!-- ' -->]><svg/>", "word/media/image2.svg"),
      "DOCTYPE",
    ],
    ["XML in another encoding", part('<?xml version="1.0" encoding="UTF-7"?><a/>'), "not Unicode"],
    [
      "XML in another encoding that says so and is not",
      part(Buffer.from('<?xml version="1.0"?><a>\xff</a>', "latin1")),
      "not Unicode",
    ],
    [
      "a tag of two megabytes",
      part(`<a b="${Buffer.from(randomBytes(1_500_000)).toString("hex")}"/>`),
      "cannot be looked through",
    ],
  ] as const)("with %s is invalid", async (_, more, reason) => {
    for (const [extension, bytes] of [
      ["docx", ooxml("docx", [more])],
      ["pptx", ooxml("pptx", [more])],
      ["ods", odf("spreadsheet", [more])],
    ] as const) {
      expect(reasonOf(await inspect(extension, bytes))).toContain(reason);
    }
    const embedded = ooxml("docx", [{ name: "word/embeddings/a.xlsx", content: ooxml("xlsx", [more]) }]);
    expect(reasonOf(await inspect("docx", embedded))).toContain(reason);
  });

  test.each([
    [
      "links for readers",
      relationships(
        relationship("hyperlink", "https://a.example/"),
        relationship("hyperlink", "mailto:a@example.com"),
      ),
    ],
    [
      "the template of its writer",
      relationships(relationship("attachedTemplate", "file:///C:\\Users\\ana\\Letter.dotx")),
    ],
    ["another workbook beside it", relationships(relationship("externalLinkPath", "Prices%202026.xlsx"))],
    ["the usual fields", field(" HYPERLINK &quot;https://a.example/dde&quot; ")],
    [
      "a field within a formula",
      paragraph(begin + instruction("=") + begin + instruction("PAGE") + end + instruction("-1") + end),
    ],
    [
      "a field within a field",
      paragraph(
        begin + instruction(" IF ") + begin + instruction(" PAGE ") + end + instruction(' = 1 "a"') + end,
      ),
    ],
    ["text about DDE", paragraph("<w:t>DDEAUTO and &lt;ddeLink&gt;</w:t>")],
    [
      "a drawing in SVG",
      part('<?xml version="1.0"?><!DOCTYPE svg PUBLIC "[a]" "b"><svg/>', "word/media/image2.SVG"),
    ],
    [
      "a font that begins like XML",
      part(Buffer.concat([Buffer.from("<"), randomBytes(50_000)]), "word/fonts/a.odttf"),
    ],
    ["a long text in UTF-16", part(utf16(`<a>${randomBytes(100_000).toString("hex")}</a>`))],
    [
      "a text of many megabytes",
      part(
        `<w:hdr>${"<w:p><w:t>a text</w:t></w:p>".repeat(5_000)}${randomBytes(500_000).toString("hex")}</w:hdr>`,
      ),
    ],
  ] as const)("with %s is sound", async (_, more) => {
    expect(reasonOf(await inspect("docx", ooxml("docx", [more])))).toBe("clean");
  });

  test("with a macro part under any name is invalid: its type is in the list of content types", async () => {
    const type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
    const macro = "application/vnd.ms-office.vbaProject";
    const bytes = writeZip([
      {
        name: "[Content_Types].xml",
        content: `<Types><Override ContentType="${type}"/><Override ContentType="${macro}"/></Types>`,
      },
      { name: "word/picture.bin", content: "x" },
    ]);
    expect(reasonOf(await inspect("docx", bytes))).toContain("macros");
  });

  test("whose files overlap is invalid", async () => {
    const type = "application/vnd.oasis.opendocument.text";
    const content = writeZip([{ name: "b.xml", content: "text", stored: true }]).subarray(0, 30 + 5 + 4);
    const bytes = writeZip([
      { name: "mimetype", content: type, stored: true },
      { name: "a.xml", content, stored: true },
      // Its header stands in the content of the file before it, behind two headers and their names.
      {
        name: "b.xml",
        content: "text",
        stored: true,
        unwritten: true,
        offset: 30 + 8 + type.length + 30 + 5,
      },
    ]);
    expect(reasonOf(await inspect("odt", bytes))).toContain("not what its directory says");
  });

  test("that unpacks to gigabytes but declares less is caught before it has unpacked", async () => {
    const block = deflateRawSync(Buffer.alloc(10_000_000), { finishFlush: constants.Z_FULL_FLUSH });
    const content = Buffer.concat(Array.from({ length: 480 }, () => block));
    const wrongSize: ZipPart = { name: "a.xml", content, stored: true, method: 8, declaredBytes: 5_000_000 };
    expect(reasonOf(await inspect("docx", ooxml("docx", [wrongSize])))).toContain("unpack to its size");
  });

  test("whose directory holds fewer files than the archive is invalid", async () => {
    const small = writeZip(
      [
        { name: "mimetype", content: "application/vnd.oasis.opendocument.text", stored: true },
        { name: "a.exe", content: "x" },
      ],
      { count: 1 },
    );
    expect((await inspect("odt", small)).kind).toBe("invalid");
  });

  test("with bytes before, after or in a comment of the archive is invalid", async () => {
    const docx = ooxml("docx");
    for (const bytes of [
      Buffer.concat([Buffer.from("#!/bin/sh\n"), docx]),
      Buffer.concat([docx, windowsProgram()]),
      Buffer.concat([docx.subarray(0, -2), Buffer.from([4, 0]), Buffer.from("evil")]),
      docx.subarray(0, -30),
    ])
      expect((await inspect("docx", bytes)).kind).toBe("invalid");
  });

  test("with documents that unpack to more than 100 MB together is invalid", async () => {
    const content = Buffer.concat([randomBytes(400_000), Buffer.alloc(35_000_000)]);
    const embedded = ooxml("docx", [{ name: "word/a.xml", content }]);
    const documents = (count: number): ZipPart[] =>
      Array.from({ length: count }, (_, index) => ({ name: `${index}.docx`, content: embedded }));
    expect(reasonOf(await inspect("docx", ooxml("docx", documents(2))))).toBe("clean");
    expect(reasonOf(await inspect("docx", ooxml("docx", documents(3))))).toContain("more than 100000000");
  });

  test("of another kind, or an archive that is no document, is invalid", async () => {
    expect((await inspect("docx", ooxml("xlsx"))).kind).toBe("invalid");
    expect((await inspect("odt", odf("presentation"))).kind).toBe("invalid");
    expect((await inspect("docx", writeZip([{ name: "a.txt" }]))).kind).toBe("invalid");
  });
});

describe("an archive, a mail or a signature", () => {
  const zip = writeZip([{ name: "a.txt", content: "text" }]);
  const files = [
    ["zip", "application/zip", zip],
    ["zip", "application/zip", writeZip([])],
    ["zip", "application/zip", writeZip([{ name: "Scripts/a.docx", content: ooxml("docx") }])],
    ["pkpass", "application/vnd.apple.pkpass", zip],
    ["eml", "message/rfc822", Buffer.from("From: a@example.com\r\n\r\nHello")],
    ["p7s", "application/pkcs7-signature", Buffer.from([0x30, 0x80, 6, 9])],
    ["p7s", "application/pkcs7-signature", Buffer.from("-----BEGIN PKCS7-----\n")],
  ] as const;

  test.each(files)(
    "%s of the type %s is sound where it is allowed",
    async (extension, contentType, bytes) => {
      const file = { filename: `a.${extension}`, contentType, bytes };
      expect((await inspector.inspect(file, NO_ARCHIVES, "owner")).kind).toBe("unsupported");
      expect(reasonOf(await inspector.inspect(file, ARCHIVES, "owner"))).toBe("clean");
      expect((await inspector.inspect({ ...file, contentType: "text/plain" }, ARCHIVES, "owner")).kind).toBe(
        "invalid",
      );
      const other = { ...file, bytes: Buffer.from("\0nothing of the kind") };
      expect((await inspector.inspect(other, ARCHIVES, "owner")).kind).toBe("invalid");
      expect((await inspector.inspect({ ...file, bytes: Buffer.alloc(0) }, ARCHIVES, "owner")).kind).toBe(
        "invalid",
      );
    },
  );

  test.each([
    ["a program", [{ name: "setup.exe" }]],
    ["another archive", [{ name: "a.zip", content: zip }]],
    ["a path that leads out", [{ name: "../a.txt" }]],
    [
      "a document with macros",
      [{ name: "a.docx", content: ooxml("docx", [{ name: "word/vbaProject.bin" }]) }],
    ],
    ["a bomb", [{ name: "a.txt", content: Buffer.alloc(1_000_000) }]],
  ])("with %s is invalid", async (_, parts) => {
    expect((await inspect("zip", writeZip(parts), ARCHIVES)).kind).toBe("invalid");
  });
});

describe("a malware scanner", () => {
  const pdf = { filename: "a.pdf", contentType: "application/pdf", bytes: sample("pdf") };

  test("has the last word on a file that is sound", async () => {
    const seen: Uint8Array[] = [];
    const scanner: MalwareScanner = {
      async scan(bytes) {
        seen.push(bytes);
        return seen.length === 1 ? { found: `Test.${"x".repeat(1_000)}` } : "clean";
      },
    };
    const scanned = fileInspector({ scanner });
    const result = await scanned.inspect(pdf, NO_ARCHIVES, "owner");
    expect(reasonOf(result)).toStartWith("invalid: the malware scanner found Test.xxx");
    expect(reasonOf(result).length).toBeLessThan(200);
    expect(await scanned.inspect(pdf, NO_ARCHIVES, "owner")).toEqual({ kind: "clean" });
    expect(seen).toEqual([pdf.bytes, pdf.bytes]);
  });

  test("is not asked about a file that cannot be sent, and gives no verdict while it is unavailable", async () => {
    const unavailable = new StoreError("unavailable", "the malware scanner does not answer");
    const scanned = fileInspector({ scanner: { scan: () => Promise.reject(unavailable) } });
    expect((await scanned.inspect({ ...pdf, bytes: sample("png") }, NO_ARCHIVES, "owner")).kind).toBe(
      "invalid",
    );
    expect((await scanned.inspect({ ...pdf, filename: "a.exe" }, NO_ARCHIVES, "owner")).kind).toBe(
      "unsupported",
    );
    expect(scanned.inspect(pdf, NO_ARCHIVES, "owner")).rejects.toBe(unavailable);
  });
});

describe("for any bytes", () => {
  const formats = [...types.keys(), "zip"];
  const heads = SAMPLE_FILES.map(([, , bytes]) => bytes);

  test("random bytes get an answer", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...formats),
        fc.uint8Array({ maxLength: 4_096 }),
        async (format, bytes) => {
          const { kind } = await inspect(format, bytes, ARCHIVES);
          expect(["clean", "invalid"]).toContain(kind);
        },
      ),
      { numRuns: 3_000 },
    );
  });

  test("a sound file that was cut, changed or extended gets an answer", async () => {
    const change = fc.record({ at: fc.nat(), value: fc.nat(255) });
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          format: fc.constantFrom(...formats),
          head: fc.constantFrom(...heads),
          changes: fc.array(change, { maxLength: 20 }),
          cut: fc.option(fc.nat(), { nil: undefined }),
          tail: fc.uint8Array({ maxLength: 200 }),
        }),
        async ({ format, head, changes, cut, tail }) => {
          const bytes = Buffer.concat([head.subarray(0, cut && cut % (head.length + 1)), tail]);
          for (const { at, value } of changes) if (bytes.length > 0) bytes[at % bytes.length] = value;
          const { kind } = await inspect(format, bytes, ARCHIVES);
          expect(["clean", "invalid"]).toContain(kind);
        },
      ),
      { numRuns: 3_000 },
    );
  });

  test("every name and type gets an answer, and no accepted name is dangerous", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.constantFrom("", ".", ".pdf", ".exe.pdf"),
        (stem, end) => {
          const { kind } = named(`${stem}${end}`);
          expect(["clean", "invalid", "unsupported"]).toContain(kind);
          if (kind === "clean")
            expect(`${stem}${end}`).not.toMatch(/[/\\:\p{Cc}\u202a-\u202e]|^[. ]|[. ]$|\.exe/u);
        },
      ),
      { numRuns: 3_000 },
    );
  });

  /** A document that unpacks to the most allowed of this markup; some noise keeps it from looking like a bomb. */
  const documentOf = (markup: string): Buffer => {
    const block = Buffer.from(markup.repeat(Math.ceil(100_000 / markup.length)));
    const noise = () => Buffer.from(randomBytes(3_000).toString("hex"));
    const count = Math.floor(90_000_000 / (block.length + noise().length));
    const content = Buffer.concat(Array.from({ length: count }, () => [block, noise()]).flat());
    return ooxml("docx", [{ name: "word/a.xml", content }]);
  };

  /** Content that takes a careless pattern or parser seconds or minutes: a test ends after five. */
  test.each([
    ["json", `[${'"\\"'.repeat(1_200_000)}`],
    ["json", `"${'\\"'.repeat(2_400_000)}`],
    ["json", "[".repeat(4_900_000)],
    ["json", `[${"[],".repeat(1_600_000)}[]]`],
    ["xml", `${" ".repeat(4_900_000)}x`],
    ["xml", `${"<!---->".repeat(700_000)}x`],
    ["xml", `<?xml ${"encoding ".repeat(500_000)}?>`],
    ["ics", `BEGIN:VCALENDAR${"\n".repeat(4_900_000)}x`],
    ["txt", "\u0300".repeat(2_400_000)],
    ["docx", Buffer.concat([ooxml("docx"), Buffer.from("PK\x05\x06".repeat(1_200_000))])],
    ["docx", Buffer.from("PK\x03\x04".repeat(1_200_000))],
    ["docx", documentOf("<a/>")],
    ["docx", documentOf("<")],
    ["docx", documentOf("<!--")],
    ["docx", documentOf(`<${"a".repeat(900_000)}>`)],
    ["docx", documentOf(`<a ${"b ".repeat(400_000)}>`)],
    ["docx", documentOf('<a b="')],
    ["docx", documentOf("<instrText>a</instrText>")],
    ["docx", documentOf(`<instrText>${"&#x0".repeat(200_000)}</instrText>`)],
    ["mp3", Buffer.from("ID3\x04\0\0\0\0\0\0".repeat(490_000))],
    ["tiff", Buffer.concat([Buffer.from("II*\0\x08\0\0\0\xff\xff", "latin1"), Buffer.alloc(4_900_000, 1)])],
    ["mp4", Buffer.alloc(5_000_000, "ftyp")],
  ])("five megabytes of %s are answered in time", async (extension, content) => {
    expect(["clean", "invalid"]).toContain((await inspect(extension, content)).kind);
  });
});

describe("XML that comes in pieces", () => {
  /** What a reader finds, with texts that belong together joined. */
  const eventsOf = (xml: string, pieceChars: number): readonly string[] => {
    const events: string[] = [];
    const reader = new XmlReader(
      {
        tag: ({ name, attributes }) => events.push(`<${name} ${JSON.stringify([...attributes])}>`),
        end: (name) => events.push(`</${name}>`),
        text: (text) => {
          if (events.at(-1)?.startsWith("text ")) events.push(events.pop() + text);
          else events.push(`text ${text}`);
        },
      },
      true,
    );
    for (let at = 0; at < xml.length; at += pieceChars) {
      expect(reader.read(xml.slice(at, at + pieceChars))).toBeNull();
    }
    return events;
  };

  test.each([
    `<?xml version="1.0"?><a b='">' c=">'">text<d/></a>`,
    `<!-- <a> - -- --->text<!----><b x="<!--" y='-->'/>`,
    "<a><![CDATA[<b> ]] ]> ]]]]></a>",
    `<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" ">"><svg a=""b=''/>`,
  ])("has the same tags and texts as in one: %s", (xml) => {
    const whole = eventsOf(xml, xml.length);
    for (const pieceChars of [1, 2, 3, 5, 7]) expect(eventsOf(xml, pieceChars)).toEqual(whole);
  });

  test("is searched once, however many quotes a tag has", () => {
    const pairs = 2_000;
    const searches = [spyOn(String.prototype, "indexOf"), spyOn(RegExp.prototype, "exec")];
    const events = eventsOf(`<a x=">" ${'""'.repeat(pairs)}>`, 40);
    const calls = searches.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    for (const search of searches) search.mockRestore();
    expect(events).toEqual(['<a [["x",">"]]>']);
    expect(calls).toBeLessThan(2 * pairs);
  });

  test("has each field's instruction checked once, however many fields are nested in it", () => {
    const nested = '<fldChar fldCharType="begin"/><fldChar/><fldChar fldCharType="end"/>';
    const instruction = `<instrText>PAGE ${"&lt;".repeat(1_000)}</instrText>`;
    const xml = `<a><fldChar fldCharType="begin"/>${instruction}${nested.repeat(1_000)}</a>`;
    const replaces = spyOn(String.prototype, "replace");
    expect(new OfficeActiveContent("xml").read(Buffer.from(xml), true)).toBeNull();
    const calls = replaces.mock.calls.length;
    replaces.mockRestore();
    expect(calls).toBeLessThan(10);
  });

  test("lets other work go on, even if it is not compressed", async () => {
    const bytes = ooxml("docx", [
      { name: "word/a.xml", content: `<a>${"<b/>".repeat(500_000)}</a>`, stored: true },
    ]);
    let turn = 0;
    const count = () => {
      turn += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const turnsOfReads = new Set<number>();
    const { read } = OfficeActiveContent.prototype;
    const reads = spyOn(OfficeActiveContent.prototype, "read").mockImplementation(function (
      this: OfficeActiveContent,
      ...piece
    ) {
      turnsOfReads.add(turn);
      return read.apply(this, piece);
    });
    expect(await inspect("docx", bytes)).toEqual({ kind: "clean" });
    reads.mockRestore();
    clearImmediate(next);
    expect(turnsOfReads.size).toBeGreaterThan(30);
  });
});

describe("archives", () => {
  const file = { filename: "a.docx", contentType: types.get("docx") ?? "", bytes: sample("docx") };

  test("are inspected one at a time, and no owner waits for all of another's", async () => {
    const { inspect } = fileInspector({ scanner: null });
    const ended: string[] = [];
    const inspectFor = async (owner: string) => {
      expect(await inspect(file, NO_ARCHIVES, owner)).toEqual({ kind: "clean" });
      ended.push(owner);
    };
    await Promise.all(["a", "a", "a", "a", "b", "c", "b"].map(inspectFor));
    expect(ended).toEqual(["a", "a", "b", "c", "a", "b", "a"]);
  });

  test("that are broken do not stop others", async () => {
    const { inspect } = fileInspector({ scanner: null });
    const broken = { ...file, bytes: file.bytes.subarray(0, -30) };
    const kinds = await Promise.all(
      [broken, file, broken].map(async (one) => (await inspect(one, NO_ARCHIVES, "a")).kind),
    );
    expect(kinds).toEqual(["invalid", "clean", "invalid"]);
  });
});
