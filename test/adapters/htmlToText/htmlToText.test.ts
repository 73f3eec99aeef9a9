import { afterAll, expect, test } from "bun:test";
import { threadedHtmlToText } from "../../../src/adapters/htmlToText/threadedHtmlToText.ts";
import type { HtmlToText } from "../../../src/ports/mail/htmlToText.ts";

const HTML_CHARACTERS_MAX = 500_000;
const made: HtmlToText[] = [];

function converter(...parts: Parameters<typeof threadedHtmlToText>): HtmlToText {
  const one = threadedHtmlToText(...parts);
  made.push(one);
  return one;
}

afterAll(() => {
  for (const one of made) one.close();
});

/** html of maximum length that repeats one pattern. */
function filledWith(piece: string): string {
  return piece.repeat(Math.floor(HTML_CHARACTERS_MAX / piece.length));
}

const HOSTILE: readonly (readonly [string, string])[] = [
  ["paragraphs", filledWith("<p>Thank you for <b>your</b> order.</p>")],
  ["nothing that ends", filledWith("<div>")],
  ["tables in tables", filledWith("<table><tr><td>")],
  ["open tags", filledWith("<")],
  ["entities", filledWith("&amp;&#x41;&bogus;")],
  ["attributes", `<p ${filledWith("a=b ").slice(4)}>`],
  ["comments that do not end", filledWith("<!--")],
  ["white space", filledWith(" \n")],
  ["lists in lists", filledWith("<ul><li>")],
  ["links", filledWith('<a href="https://example.com">a</a>')],
];

test.each(HOSTILE)("html of %s is converted or given up without blocking the event loop", async (_, html) => {
  const reader = converter();
  // The thread itself takes a while to start.
  expect(await reader.read("<p>a</p>")).toEqual({ kind: "text", text: "a" });
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  const reading = await reader.read(html);
  clearInterval(timer);
  expect(["text", "unreadable"]).toContain(reading.kind);
  expect(turns).toBeGreaterThan(0);
  expect(await reader.read("<p>b</p>")).toEqual({ kind: "text", text: "b" });
});

test("html that takes too long is given up, and another thread takes the html queued behind it", async () => {
  const reader = converter(1);
  const [first, second] = [reader.read(filledWith("<p>a</p>")), reader.read(filledWith("<p>b</p>"))];
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
