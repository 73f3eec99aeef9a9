import { FINDING_MEANINGS, type Finding } from "../../commands/audit/verify/auditFindings.ts";
import type { LogVerification } from "../../commands/audit/verify/verifyLog.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { unicodeEscape } from "../../kernel/text/invisibleCharacters.ts";
import { counted, grouped } from "../../kernel/text/readableNumbers.ts";
import { type EpochMs, epochMs, SECOND_MS } from "../../kernel/time.ts";
import { locationOfFault } from "../../ports/eventStore.ts";

const TO_DO = [
  "keep what is there: stop the service, and copy the store's files before anything else touches them",
  "see who could write them, and since when: the seals around a finding bound the time",
  `\`${POSTLEDGER} backup verify\` the last backups, and compare; repair a log only from a backup, never by hand`,
  "docs/audit-and-erasure.md takes each kind further",
];

const WIDTH = 12;

/** A line with a heading, or a continuation without one. */
function line(heading: string, text: string): string {
  return `${heading.padEnd(WIDTH)}${text}`.trimEnd();
}

function under(heading: string, texts: readonly string[]): readonly string[] {
  return texts.map((text, index) => line(index === 0 ? heading : "", text));
}

/** One finding: what it is, where, and why. Forged names may contain anything, so they are escaped. */
function findingLine(finding: Finding): string {
  const { kind, seal, detail } = finding;
  const [place, why] = [locationOfFault(finding), detail].map((text) =>
    text.replace(/[^\x20-\x7e]/g, unicodeEscape),
  );
  return `${kind}  ${place}  ${why}${seal === null ? "" : ` (seal ${seal})`}`;
}

function checkedLines(result: LogVerification): readonly string[] {
  const { events, streams, compared, erased, foreign, chain } = result;
  const { seals, signed, signedSince } = chain;
  return under("checked", [
    "how the store keeps the log: its files or settings, its schema and indexes",
    `${counted(events, "event")} in ${counted(streams, "stream")}: order, gaps, ends, kinds, and a reason for everything erased`,
    seals === 0
      ? "no seal: there is none, so a change that keeps the order of each stream would not show"
      : `${grouped(compared)} of them against ${counted(seals, "seal")}, ${grouped(signed)} of them signed`,
    ...(erased === 0 ? [] : [`the seals also cover ${counted(erased, "event")} erased since`]),
    ...(foreign === 0
      ? []
      : [`not ${counted(foreign, "event")} of other applications on this server, in streams of their own`]),
    ...(signedSince === null
      ? []
      : [`signed since ${signedSince}: if you set up the key before that, somebody has rewritten the seals`]),
  ]);
}

function foundLines({ findings, kinds }: LogVerification): readonly string[] {
  if (findings === 0) return [line("found", "nothing: what was checked is as it was written")];
  const summary = kinds.map(({ kind, count }) => `${count} ${kind}`).join(", ");
  return [
    line("found", `${counted(findings, "finding")}: ${summary}`),
    ...under(
      "which is",
      kinds.map(({ kind }) => `${kind}: ${FINDING_MEANINGS[kind]}`),
    ),
    ...under("to do", TO_DO),
  ];
}

function sealLines(result: LogVerification, now: EpochMs): readonly string[] {
  const { chain, uncovered, neverSealed } = result;
  const { lastAt, lastHash } = chain;
  if (lastAt === null) return [];
  const secondsAgo = Math.round((now - epochMs(lastAt)) / SECOND_MS);
  return [
    ...under("not sealed", [
      `${counted(uncovered, "event")} that came since the last seal, ${secondsAgo} s ago`,
      `${counted(neverSealed, "event")} that no seal ever covers, such as the seals themselves`,
    ]),
    line("keep", `the last seal's digest, elsewhere, for --digest next time: ${lastHash}`),
  ];
}

/** The result of a verification for people: findings first, then what was checked, what it means and what to do. */
export function verifyReport(result: LogVerification, now: EpochMs): readonly string[] {
  const { findings, shown } = result;
  return [
    ...shown.map(findingLine),
    ...(findings > shown.length ? [`and ${findings - shown.length} more`] : []),
    ...(findings > 0 ? [""] : []),
    ...checkedLines(result),
    ...foundLines(result),
    ...sealLines(result, now),
  ];
}
