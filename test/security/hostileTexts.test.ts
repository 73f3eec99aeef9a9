import { expect, test } from "bun:test";
import { redactResponse } from "../../src/domain/webhookDelivery/redactResponse.ts";

/** The most that is read of an endpoint's answer. */
const ANSWER_BYTES = 16_384;
/** Everybody else must be served between one endpoint's answers; so many answers may take so much processor time. */
const ANSWERS = 5;
const CPU_MICROSECONDS_MAX = 5_000_000;

/** The largest metadata that a message may have. */
const METADATA: Readonly<Record<string, Readonly<Record<string, string | number>>>> = {
  "many members": Object.fromEntries(Array.from({ length: 1_000 }, (_, nth) => [`k&${nth}`, nth])),
  "members that begin alike": Object.fromEntries(
    Array.from({ length: 30 }, (_, nth) => [`k${nth}`, `${"a".repeat(480 - nth)}b`]),
  ),
  "members that are escaped": Object.fromEntries(
    Array.from({ length: 10 }, (_, nth) => [`k${nth}`, '中&"'.repeat(100) + nth]),
  ),
};
const ANSWERS_OF: Readonly<Record<string, (metadata: object) => string>> = {
  "words in Base64": () => `${"A".repeat(24)} `.repeat(655),
  "one letter": () => "a".repeat(ANSWER_BYTES),
  "letters that nearly match": () => "aaab".repeat(ANSWER_BYTES / 4),
  quotes: () => '"1"'.repeat(ANSWER_BYTES / 3),
  "what was sent": (metadata) => JSON.stringify(metadata).repeat(3).slice(0, ANSWER_BYTES),
};

const cases = Object.keys(METADATA).flatMap((metadata) =>
  Object.keys(ANSWERS_OF).map((answer) => [answer, metadata] as const),
);

test.each(cases)("searching an answer of %s for %s is cheap", (answer, metadata) => {
  const texts = METADATA[metadata] ?? {};
  const body = ANSWERS_OF[answer]?.(texts) ?? "";
  const before = process.cpuUsage();
  for (let nth = 0; nth < ANSWERS; nth += 1) {
    expect(redactResponse(body, { metadata: texts, included: [] }).length).toBeLessThanOrEqual(1_000);
  }
  const { user, system } = process.cpuUsage(before);
  expect(user + system).toBeLessThan(CPU_MICROSECONDS_MAX);
});

test("an answer cut in the middle of repeated request text shows none of it", () => {
  const name = "Ana Smithson of 12 Long Road";
  const metadata = { name, filler: "x".repeat(100) };
  for (let shift = 0; shift < 130; shift += 7) {
    const body = `${"-".repeat(shift)}${metadata.filler}`.padEnd(128, "x").repeat(31) + name.repeat(200);
    const redacted = redactResponse(body, { metadata, included: [] });
    for (const part of ["Ana", "Smith", "Long"]) expect(redacted).not.toContain(part);
  }
});
