import { afterAll, expect, test } from "bun:test";
import { threadedHtmlToText } from "../../../src/adapters/htmlToText/threadedHtmlToText.ts";
import type { HtmlToText } from "../../../src/ports/mail/htmlToText.ts";

const HTML_CHARACTERS_MAX = 500_000;
const OWNER = { id: "a", isAbandoned: undefined };
const converters: HtmlToText[] = [];

function converter(...parts: Parameters<typeof threadedHtmlToText>): HtmlToText {
  const one = threadedHtmlToText(...parts);
  converters.push(one);
  return one;
}

afterAll(() => {
  for (const one of converters) one.close();
});

/** html of maximum length that repeats one pattern. */
function pageOf(text: string): string {
  return text.repeat(Math.floor(HTML_CHARACTERS_MAX / text.length));
}

const HOSTILE: readonly (readonly [string, string])[] = [
  ["paragraphs", pageOf("<p>Thank you for <b>your</b> order.</p>")],
  ["nothing that ends", pageOf("<div>")],
  ["tables in tables", pageOf("<table><tr><td>")],
  ["open tags", pageOf("<")],
  ["entities", pageOf("&amp;&#x41;&bogus;")],
  ["attributes", `<p ${pageOf("a=b ").slice(4)}>`],
  ["comments that do not end", pageOf("<!--")],
  ["white space", pageOf(" \n")],
  ["lists in lists", pageOf("<ul><li>")],
  ["links", pageOf('<a href="https://example.com">a</a>')],
];

test.each(HOSTILE)("html of %s is converted or given up without blocking the event loop", async (_, html) => {
  const reader = converter();
  // The thread itself takes a while to start.
  expect(await reader.read("<p>a</p>", OWNER)).toMatchObject({ kind: "text", text: "a" });
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
  }, 1);
  const reading = await reader.read(html, OWNER);
  clearInterval(timer);
  expect(["text", "unreadable"]).toContain(reading.kind);
  expect("processorMs" in reading && reading.processorMs).toBeGreaterThan(0);
  expect(ticks).toBeGreaterThan(0);
  expect(await reader.read("<p>b</p>", OWNER)).toMatchObject({ kind: "text", text: "b" });
});

test("html that takes too long is given up, and another thread takes the html queued behind it", async () => {
  const reader = converter(500);
  const [first, second] = [reader.read(pageOf("<table><tr><td>"), OWNER), reader.read("<p>b</p>", OWNER)];
  expect(await first).toEqual({ kind: "unreadable", processorMs: 500 });
  expect(await second).toMatchObject({ kind: "text", text: "b" });
});

test("an owner waits for one of another's at most, who may have 128 read at once", async () => {
  const reader = converter();
  const ended: string[] = [];
  const read = async (id: string) => {
    const { kind } = await reader.read("<p>a</p>", { id, isAbandoned: undefined });
    ended.push(id);
    return kind;
  };
  const many = Array.from({ length: 128 }, () => read("many"));
  const one = read("one");
  expect(await read("many")).toBe("ownerBusy");
  ended.length = 0;
  expect(await one).toBe("text");
  expect(ended.length).toBeLessThanOrEqual(3);
  expect(new Set(await Promise.all(many))).toEqual(new Set(["text"]));
  expect(await read("many")).toBe("text");
});

test("html that nobody waits for any more is not read", async () => {
  const reader = converter();
  const first = reader.read("<p>a</p>", OWNER);
  const second = reader.read("<p>b</p>", { id: "b", isAbandoned: () => true });
  expect(await first).toMatchObject({ kind: "text", text: "a" });
  expect(await second).toEqual({ kind: "busy" });
});

test("queued calls are answered when the converter closes", async () => {
  const reader = threadedHtmlToText();
  const waiting = Array.from({ length: 100 }, () => reader.read("<p>a</p>", OWNER));
  reader.close();
  const kinds = (await Promise.all(waiting)).map(({ kind }) => kind);
  expect(new Set(kinds)).toEqual(new Set(["busy"]));
  expect(await reader.read("<p>a</p>", OWNER)).toEqual({ kind: "busy" });
});
