import { afterAll, describe, expect, test } from "bun:test";
import { threadedSubmittedMailParser } from "../../../src/adapters/postalMime/threadedSubmittedMailParser.ts";
import type { ParsedMail } from "../../../src/ports/submission/mailParser.ts";

const parser = threadedSubmittedMailParser();
const OWNER = "shop";
afterAll(() => parser.close());

async function read(text: string | Uint8Array): Promise<ParsedMail> {
  const result = await parser.parse(typeof text === "string" ? Buffer.from(text) : text, OWNER);
  if (result.kind === "refused") throw new Error(result.reason);
  return result.mail;
}

async function refusal(text: string): Promise<string | null> {
  const result = await parser.parse(Buffer.from(text), OWNER);
  return result.kind === "refused" ? result.reason : null;
}

function lines(...all: readonly string[]): string {
  return all.map((line) => `${line}\r\n`).join("");
}

/** Large enough to be parsed on the worker thread. */
const LARGE = "x".repeat(76).concat("\r\n").repeat(1_000);

describe("a mail", () => {
  test("is read with its names, as encoded words or as UTF-8", async () => {
    const mail = await read(
      lines(
        "From: =?utf-8?Q?J=C3=BCrgen?= <a@example.com>",
        'Reply-To: "Doe, Jane" <jane@example.com>, b@example.com',
        "To: Größe <c@example.com>, undisclosed: d@example.com;",
        "Cc: e@example.com",
        "Subject: =?iso-8859-1?Q?Gr=FC=DFe?= =?utf-8?B?IOS9oOWlvQ==?=",
        "",
        "Hello",
      ),
    );
    expect(mail).toMatchObject({
      from: [{ name: "Jürgen", address: "a@example.com" }],
      replyTo: [
        { name: "Doe, Jane", address: "jane@example.com" },
        { name: "", address: "b@example.com" },
      ],
      shownRecipients: [
        { name: "Größe", address: "c@example.com" },
        { name: "", address: "d@example.com" },
        { name: "", address: "e@example.com" },
      ],
      subject: "Grüße 你好",
      html: "",
      files: [],
    });
    expect(mail.text.trimEnd()).toBe("Hello");
  });

  test.each([
    ["iso-8859-1", Buffer.from("Gr\xfc\xdfe", "latin1"), "Grüße"],
    ["windows-1252", Buffer.from("\x80 5", "latin1"), "€ 5"],
    ["utf-8", Buffer.from("你好"), "你好"],
    ["iso-2022-jp", Buffer.from("\x1b$B$3$s\x1b(B", "latin1"), "こん"],
    ["gb18030", Buffer.from("\xc4\xe3\xba\xc3", "latin1"), "你好"],
    ["koi8-r", Buffer.from("\xd0\xd2\xc9", "latin1"), "при"],
  ])("in %s is read as what it says", async (charset, bytes, text) => {
    const head = lines("From: a@example.com", `Content-Type: text/plain; charset=${charset}`, "");
    expect((await read(Buffer.concat([Buffer.from(head), bytes]))).text.trimEnd()).toBe(text);
  });

  /** A mail with nothing but a text part of this type. */
  const ofType = (type: string, bytes: Uint8Array) =>
    Buffer.concat([Buffer.from(lines("From: a@example.com", `Content-Type: ${type}`, "")), bytes]);
  const latin1 = (text: string) => Buffer.from(text, "latin1");

  test.each([
    ["unlabelled UTF-8", "text/plain", Buffer.from("Grüße"), "Grüße"],
    ["unlabelled windows-1252", "text/plain", latin1("Gr\xfc\xdfe \x80"), "Grüße €"],
    ["UTF-8 that claims to be ASCII", "text/plain; charset=us-ascii", Buffer.from("Grüße"), "Grüße"],
    ["an unknown charset whose bytes are ASCII", "text/plain; charset=x-unknown", Buffer.from("Hi"), "Hi"],
    [
      "an unknown charset whose bytes are UTF-8",
      "text/plain; charset=x-unknown",
      Buffer.from("Grüße"),
      "Grüße",
    ],
    ["another name of a charset", "text/plain; charset=cp932", latin1("\x82\xb1\x82\xf1"), "こん"],
    ["separators of another kind", "text/plain; charset=utf_8", Buffer.from("Grüße"), "Grüße"],
  ])("in %s is read as what it is", async (_, type, bytes, text) => {
    expect((await read(ofType(type, bytes))).text).toBe(text);
  });

  test("in html without a charset is read as what it is", async () => {
    expect((await read(ofType("text/html", latin1("<p>Gr\xfc\xdfe</p>")))).html).toBe("<p>Grüße</p>");
  });

  test.each([
    ["cp850", latin1("Gr\x81\xe1e")],
    ["utf-7", Buffer.from("Gr+APwA3w-e")],
    ["hz-gb-2312", Buffer.from("~{VPND~}")],
    ["iso-2022-kr", latin1("\x1b$)C\x0e>H3g\x0f")],
    ["utf-8", latin1("Gr\xfc\xdfe")],
  ])("is refused when it cannot be read as %s, which it names", async (charset, bytes) => {
    const result = await parser.parse(ofType(`text/plain; charset=${charset}`, bytes), OWNER);
    expect(result).toMatchObject({
      reason: `cannot be read: its text/plain part is not in ${charset}, or that charset is unknown`,
    });
  });

  test("keeps the lines of flowed text, with their quotations", async () => {
    const text = "A long line that \nflows.\n> quoted \n>> more\n-- \nSig";
    const bytes = Buffer.from(text.replaceAll("\n", "\r\n"));
    expect((await read(ofType("text/plain; format=flowed", bytes))).text).toBe(text);
  });

  test("has names and a Subject in windows-1252 when its header is not UTF-8", async () => {
    const header = lines(
      "From: J\xfcrgen <a@example.com>",
      "X-Place: K\xf6ln",
      "Subject: Gr\xfc\xdfe \x80",
      "",
    );
    expect(await read(latin1(header))).toMatchObject({
      from: [{ name: "Jürgen" }],
      subject: "Grüße €",
      headers: [{}, { value: "Köln" }, {}],
    });
  });

  test.each(["=?cp850?Q?Gr=81=E1e?=", "=?utf-8?Q?Gr=FC=DFe?="])(
    "is refused when its Subject cannot be read: %s",
    async (subject) => {
      expect(await refusal(lines(`Subject: ${subject}`, "", "Hi"))).toBe(
        "cannot be read: its Subject is not in the charset that it names",
      );
    },
  );

  describe("shows an attached image", () => {
    const contentIdFor = async (html: string, contentId: string) => {
      const { files } = await read(
        lines(
          "Content-Type: multipart/related; boundary=b",
          "",
          "--b",
          "Content-Type: text/html",
          "",
          html,
          "--b",
          "Content-Type: image/png; name=a.png",
          `Content-ID: <${contentId}>`,
          "",
          "x",
          "--b--",
        ),
      );
      return files[0]?.contentId;
    };

    test.each([
      ['<img src="cid:logo@x">', "logo@x"],
      ['<img src="cid:a%2Bb@x">', "a+b@x"],
      ['<img src="cid:a%2Bb@x">', "a%2Bb@x"],
      ["<img src='CID:Plain'>", "Plain"],
      ['<img src="cid:a&amp;b">', "a&b"],
      ['<img src="cid:a&#43;b&#x40;x">', "a+b@x"],
      ['<p style="background:url(&#39;cid:logo&#39;)">', "logo"],
      ["<style>p{background:url(cid:logo)}</style>", "logo"],
      ['<img srcset="cid:one 1x, cid:two 2x">', "two"],
    ])("whose Content-ID %s means: %s", async (html, contentId) => {
      expect(await contentIdFor(html, contentId)).toBe(contentId);
    });

    test.each([
      ['<img src="cid:image10">', "image1"],
      ['<img src="cid:plain">', "Plain"],
      ["<p>no image</p>", "image1"],
      ['<img src="image1">', "image1"],
    ])("but not when %s means another one than %s", async (html, contentId) => {
      expect(await contentIdFor(html, contentId)).toBeNull();
    });
  });

  test("keeps an embedded message as a file", async () => {
    const mail = await read(
      lines(
        "From: a@example.com",
        "Content-Type: multipart/mixed; boundary=b",
        "",
        "--b",
        "",
        "See below.",
        "--b",
        "Content-Type: message/rfc822",
        "",
        "From: other@example.com",
        "Subject: Inner",
        "",
        "Not our text",
        "--b--",
      ),
    );
    expect(mail.text.trimEnd()).toBe("See below.");
    expect(mail.files).toMatchObject([{ filename: null, contentType: "message/rfc822", contentId: null }]);
  });

  test("is read the same at any size", async () => {
    const mail = await read(`From: a@example.com\r\nSubject: Large\r\n\r\n${LARGE}`);
    expect(mail).toMatchObject({ subject: "Large", from: [{ address: "a@example.com" }] });
    expect(mail.text.length).toBeGreaterThan(76_000);
  });

  test("is refused when it has more lines than are read", async () => {
    const mail = `From: a@example.com\r\n${"\r\n".repeat(1_000_000)}`;
    expect(await refusal(mail)).toBe("has more than 1,000,000 lines: encode its files in Base64");
  });

  test("is refused when it has too many parts", async () => {
    const head = lines("From: a@example.com", "Content-Type: multipart/mixed; boundary=b", "");
    expect(await refusal(head + "--b\r\n\r\n".repeat(5_001))).toBe("has too many parts");
  });

  test("is refused when its parts nest too deep", async () => {
    const level = (depth: number) =>
      `Content-Type: multipart/mixed; boundary=b${depth}\r\n\r\n--b${depth}\r\n`;
    const nested = Array.from({ length: 50 }, (_, depth) => level(depth)).join("");
    expect(await refusal(`From: a@example.com\r\n${nested}`)).toStartWith("cannot be read");
  });

  test("is refused when its header is endless", async () => {
    expect(await refusal(`${"X-Long: x\r\n".repeat(40_000)}\r\nHello`)).toStartWith("cannot be read");
  });

  test("of 16 MB of empty lines blocks nobody else", async () => {
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 1);
    await parser.parse(Buffer.from(`From: a@example.com\r\n${"\r\n".repeat(8_000_000)}`), OWNER);
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(5);
    expect((await read(`From: a@example.com\r\nSubject: Next\r\n\r\n${LARGE}`)).subject).toBe("Next");
  });

  test("waits for at most one mail of another owner at a time", async () => {
    const large = Buffer.from(`From: a@example.com\r\nSubject: Hello\r\n\r\n${"\r\n".repeat(100_000)}`);
    const order: string[] = [];
    const parse = async (owner: string, nth: number) => {
      await parser.parse(large, owner);
      order.push(`${owner} ${nth}`);
    };
    const fromOneSender = [1, 2, 3, 4].map((nth) => parse("greedy", nth));
    await Promise.all([...fromOneSender, parse("other", 1), parse("other", 2)]);
    expect(order).toEqual(["greedy 1", "greedy 2", "other 1", "greedy 3", "other 2", "greedy 4"]);
  });
});
