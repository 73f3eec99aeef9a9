import { HARD_BOUNCE_REASONS } from "../../../src/domain/email/events.ts";
import { utcDay } from "../../../src/kernel/time.ts";
import type { ProjectedRows } from "../../../src/ports/readDatabase.ts";
import { addInto } from "../../sqlListsAndInserts.ts";
import {
  COUNTS,
  ENDINGS,
  type Ending,
  FEEDBACK_STATUSES,
  type Feedback,
  HOUR_KEY,
  NONE,
  RATE_COUNTS,
} from "./tables.ts";
import { utcHour } from "./utcHour.ts";

const addToUsage = addInto("usage", [...HOUR_KEY, "sender_id", "template_id"], COUNTS);
const addToTotals = addInto("usage_totals", HOUR_KEY, COUNTS);
const addToTag = addInto("usage_tags", [...HOUR_KEY, "tag"], COUNTS);
const addToRates = addInto("sending_rates", HOUR_KEY, RATE_COUNTS);
const addToBounces = addInto("bounces", [...HOUR_KEY, "domain"], ["bounced"]);

const ACCEPTED = amountsOf("accepted");
const ACCEPTED_SUPPRESSED = amountsOf("accepted", "suppressed");
const ENDED_AS = Object.fromEntries(
  [...ENDINGS, ...FEEDBACK_STATUSES].map((ending) => [ending, amountsOf(ending)]),
) as Record<Ending | Feedback, readonly number[]>;

/** One for each of these counts, zero for the others. */
function amountsOf(...counted: readonly (typeof COUNTS)[number][]): readonly number[] {
  return COUNTS.map((name) => (counted.includes(name) ? 1 : 0));
}

/** What a message is counted by: its owner (see `mailOwnerId`), sender, template and tags. */
export interface CountedMessage {
  readonly ownerId: string;
  readonly senderId: string;
  readonly templateId: string | null;
  /** The keyed hashes of its tags. */
  readonly tags: readonly string[];
}

function count(db: ProjectedRows, message: CountedMessage, at: string, amounts: readonly number[]): void {
  const { ownerId, senderId, templateId, tags } = message;
  const day = utcDay(at);
  const hour = utcHour(at);
  addToUsage(db, [ownerId, day, hour, senderId, templateId ?? NONE], amounts);
  addToTotals(db, [ownerId, day, hour], amounts);
  for (const tag of tags) addToTag(db, [ownerId, day, hour, tag], amounts);
}

/** Counts a message accepted at `at`. If its recipient was suppressed, it ended at once. */
export function countAccepted(
  db: ProjectedRows,
  message: CountedMessage,
  at: string,
  isSuppressed: boolean,
): void {
  count(db, message, at, isSuppressed ? ACCEPTED_SUPPRESSED : ACCEPTED);
}

/** Counts the end of a message's delivery, that a relay took it after another end, or feedback that came later. */
export function countEnded(
  db: ProjectedRows,
  message: CountedMessage,
  at: string,
  ending: Ending | Feedback,
): void {
  count(db, message, at, ENDED_AS[ending]);
}

/** Counts a bounce at a domain, in addition to {@link countEnded}. Undefined if the domain is unknown. */
export function countBounced(
  db: ProjectedRows,
  { ownerId }: CountedMessage,
  at: string,
  domain: string | undefined,
): void {
  addToBounces(db, [ownerId, utcDay(at), utcHour(at), domain ?? NONE], [1]);
}

/** A message as the rates of its workspace count it. */
export interface RatedMessage {
  readonly ownerId: string;
  /** When it was accepted, or scheduled for. */
  readonly since: string;
  /** Of its bounce. */
  readonly reason: string | null;
}

/** Endings of messages that never went out. */
const STAYED: readonly string[] = ["failed", "suppressed", "canceled"] satisfies readonly Ending[];

/** Counts that a message has gone out, unless it had before (`wasSent`), and what was reported about it. */
export function countForRates(
  db: ProjectedRows,
  { ownerId, since, reason }: RatedMessage,
  outcome: Ending | Feedback,
  wasSent: boolean,
): void {
  if (STAYED.includes(outcome)) return;
  const isHardBounce = outcome === "bounced" && HARD_BOUNCE_REASONS.includes(reason ?? "");
  const amounts = [!wasSent, isHardBounce, outcome === "complained"].map(Number);
  addToRates(db, [ownerId, utcDay(since), utcHour(since)], amounts);
}
