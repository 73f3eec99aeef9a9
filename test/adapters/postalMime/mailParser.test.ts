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
