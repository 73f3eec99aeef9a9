import { describe, expect, test } from "bun:test";
import { parseReturnedMail } from "../../../src/adapters/postalMime/parseReturnedMail.ts";
import { threadedReturnedMailParser } from "../../../src/adapters/postalMime/threadedReturnedMailParser.ts";
import { type ReturnedMail, readReturnedMail } from "../../../src/domain/email/feedback/readReturnedMail.ts";
import { threadProcessorMs } from "../../../src/kernel/processorTime.ts";
import { COMPLAINTS_AND_REPLIES } from "./returnedMail/complaintsAndReplies.ts";
import { mutatedMail } from "./returnedMail/mutatedMail.ts";
import type { Specimen } from "./returnedMail/specimen.ts";
import { STATUS_REPORTS } from "./returnedMail/statusReports.ts";
import { TEXT_REPORTS } from "./returnedMail/textReports.ts";

const SPECIMENS: readonly Specimen[] = [...STATUS_REPORTS, ...TEXT_REPORTS, ...COMPLAINTS_AND_REPLIES];
/** `MUTATIONS=10000` reads as many by hand. */
const MUTATIONS = Number(process.env.MUTATIONS ?? 1_000);
/** Processor time: far more than one of them takes. */
const READING_MS_MAX = 1_000;
const KINDS = ["bounced", "delivered", "underway", "reported", "autoReply", "unknown"];

async function read(mail: string | Uint8Array): Promise<ReturnedMail> {
  const parsed = await parseReturnedMail(typeof mail === "string" ? Buffer.from(mail) : mail);
  return parsed === null ? { kind: "unknown" } : readReturnedMail(parsed);
}

/** The result without its free text for people. */
function plain(reading: ReturnedMail) {
  if (reading.kind !== "bounced") return reading;
  return { kind: reading.kind, bounce: reading.bounce };
}

describe("returned mail", () => {
  for (const { name, mail, expected } of SPECIMENS) {
    test(name, async () => {
      expect(plain(await read(mail))).toEqual(expected as ReturnedMail);
    });
  }

  test("comes in at least sixty shapes, each with its own name", () => {
    expect(SPECIMENS.length).toBeGreaterThanOrEqual(60);
    expect(new Set(SPECIMENS.map(({ name }) => name)).size).toBe(SPECIMENS.length);
  });

  test(`${MUTATIONS} mutated ones are read in bounded time, and to one of the kinds`, async () => {
    for (let seed = 0; seed < MUTATIONS; seed += 1) {
      const { mail } = SPECIMENS[seed % SPECIMENS.length] as Specimen;
      const startedMs = threadProcessorMs();
      const { kind } = await read(mutatedMail(mail, seed));
      expect(KINDS).toContain(kind);
      expect(threadProcessorMs() - startedMs).toBeLessThan(READING_MS_MAX);
    }
  });

  test("a report of maximum size with hostile lines is read in bounded time", async () => {
    const head = "From: MAILER-DAEMON@relay.example\r\nSubject: failure notice\r\n\r\n";
    for (const line of [
      "a".repeat(300_000),
      "5".repeat(300_000),
      "550 ".repeat(70_000),
      "a:\n".repeat(90_000),
      "<@".repeat(140_000),
      "(#5.1.".repeat(40_000),
      "-- ".repeat(90_000),
    ]) {
      const startedMs = threadProcessorMs();
      expect(KINDS).toContain((await read(head + line)).kind);
      expect(threadProcessorMs() - startedMs).toBeLessThan(READING_MS_MAX);
    }
  });
});

test("mail crafted to be slow to read blocks nobody else", async () => {
  const parser = threadedReturnedMailParser();
  const mail = Buffer.from(`From: postmaster@example.com\r\n\r\n${"\r\n".repeat(130_000)}`);
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
  }, 1);
  const read = await Promise.all(Array.from({ length: 10 }, () => parser.parse(mail)));
  clearInterval(timer);
  parser.close();
  expect(read.every((parsed) => parsed !== null)).toBe(true);
  expect(ticks).toBeGreaterThan(5);
});
