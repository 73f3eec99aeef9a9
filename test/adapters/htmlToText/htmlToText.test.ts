import { afterAll, expect, test } from "bun:test";
import { threadedHtmlToText } from "../../../src/adapters/htmlToText/threadedHtmlToText.ts";
import type { HtmlToText } from "../../../src/ports/mail/htmlToText.ts";

const HTML_CHARACTERS_MAX = 500_000;
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
  expect(await reader.read("<p>a</p>")).toEqual({ kind: "text", text: "a" });
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
  }, 1);
  const reading = await reader.read(html);
  clearInterval(timer);
  expect(["text", "unreadable"]).toContain(reading.kind);
  expect(ticks).toBeGreaterThan(0);
  expect(await reader.read("<p>b</p>")).toEqual({ kind: "text", text: "b" });
});

test("html that takes too long is given up, and another thread takes the html queued behind it", async () => {
  const reader = converter(1);
  const [first, second] = [reader.read(pageOf("<p>a</p>")), reader.read(pageOf("<p>b</p>"))];
  expect(await first).toEqual({ kind: "unreadable" });
  expect(await second).toEqual({ kind: "unreadable" });
});

test("queued calls are answered when the converter closes", async () => {
  const reader = threadedHtmlToText();
  const waiting = Array.from({ length: 300 }, () => reader.read("<p>a</p>"));
  reader.close();
  const kinds = (await Promise.all(waiting)).map(({ kind }) => kind);
  expect(new Set(kinds)).toEqual(new Set(["busy"]));
  expect(await reader.read("<p>a</p>")).toEqual({ kind: "busy" });
});
