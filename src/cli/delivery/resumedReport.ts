import type { Restoration } from "../../domain/instance/state.ts";
import { counted, grouped } from "../../kernel/text/readableNumbers.ts";
import { rfc3339 } from "../../kernel/time.ts";

/** What was held since the log was restored or lost its newest events, and now continues. */
export interface Released {
  readonly restored: Restoration;
  readonly emails: number;
  readonly webhookDeliveries: number;
  readonly verificationMails: number;
  /** How many may have been delivered, which this log does not know. */
  readonly mayRepeat: number;
}

/** What a file says was sent: how many messages of each kind it names. */
export interface Excepted {
  /** Recorded as sent now. */
  readonly recorded: number;
  readonly alreadyEnded: number;
  /** Not in this log. */
  readonly unknown: number;
}

/** What goes on; in a dry run, what would. */
export interface Resumed {
  readonly isDryRun: boolean;
  /** Null without a file. */
  readonly excepted: Excepted | null;
  /** Messages that were deferred. */
  readonly resumed: number;
  /** How many of these may have been sent before. */
  readonly mayRepeat: number;
  /** Null if nothing was held since a restoration. */
  readonly released: Released | null;
}

export function resumedJson({ isDryRun, excepted, resumed, mayRepeat, released }: Resumed) {
  return {
    ...(isDryRun ? { dry_run: true } : {}),
    excepted: excepted?.recorded ?? 0,
    already_ended: excepted?.alreadyEnded ?? 0,
    unknown: excepted?.unknown ?? 0,
    resumed,
    may_repeat: mayRepeat,
    released: released && releasedJson(released),
  };
}

function releasedJson({ restored, emails, webhookDeliveries, verificationMails, mayRepeat }: Released) {
  const { copyId, from, takenAt, sealed, at } = restored;
  return {
    restored: { copy_id: copyId, from, taken_at: rfc3339(takenAt), sealed, at: rfc3339(at) },
    emails,
    webhook_deliveries: webhookDeliveries,
    verification_mails: verificationMails,
    may_repeat: mayRepeat,
  };
}

export function resumedLines({ isDryRun, excepted, ...resumed }: Resumed): readonly string[] {
  return [
    ...(isDryRun ? ["nothing was changed; without --dry-run:"] : []),
    ...(excepted === null ? [] : exceptedLines(excepted)),
    ...continuedLines(resumed),
  ];
}

function exceptedLines({ recorded, alreadyEnded, unknown }: Excepted): readonly string[] {
  return [
    `already sent, and recorded as sent: ${counted(recorded, "message")}; ${grouped(alreadyEnded)} had ended before`,
    ...(unknown === 0 ? [] : [`ignored: ${counted(unknown, "message")} that this log does not have`]),
  ];
}

function continuedLines({ resumed, mayRepeat, released }: Omit<Resumed, "isDryRun" | "excepted">) {
  const repeats = `${mayRepeat} of them may have been sent before`;
  if (released === null) return [`${counted(resumed, "message")} resumed, ${repeats}`];
  const { restored, emails, webhookDeliveries, verificationMails } = released;
  const { from, takenAt, at } = restored;
  const isLoss = from === "loss";
  const since = isLoss ? "the log was found to lack its newest events" : "the log was restored";
  const repeatsOf = isLoss
    ? `before ${rfc3339(at)}, when that was found`
    : `after ${rfc3339(takenAt)}, when the copy was taken`;
  return [
    `held since ${since}, and resumed now: ${counted(emails, "message")}, ${counted(webhookDeliveries, "webhook delivery", "webhook deliveries")} and ${counted(verificationMails, "verification mail")}`,
    `${released.mayRepeat} of them may be repeats of what was delivered ${repeatsOf}`,
    `deferred besides, and resumed now: ${counted(resumed, "message")}, ${repeats}`,
  ];
}
