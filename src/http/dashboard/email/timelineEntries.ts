import {
  type WebhookDeliveryRow,
  webhookDeliveriesOf,
} from "../../../../projections/webhookDeliveries/queries.ts";
import type { Dependencies } from "../../../commands/dependencies.ts";
import type { HistoryEvent } from "../../../commands/email/emailHistory.ts";
import { readWebhookHistory } from "../../../commands/webhookDelivery/readWebhookDelivery.ts";
import { AT_END } from "../../../domain/email/contentErasure.ts";
import { type EmailEvent, OPERATOR } from "../../../domain/email/events.ts";
import type { FeedbackSource } from "../../../domain/email/feedback/feedbackDecision.ts";
import { reachesEndpoints } from "../../../domain/webhookEventTypes.ts";
import { keyIdOf } from "../../../kernel/event/actor.ts";
import { webhookDeliveryId } from "../../../kernel/ids.ts";
import { type EpochMs, rfc3339 } from "../../../kernel/time.ts";
import { destinationOf, type TransportName } from "../../../ports/mail/mailTransport.ts";
import type { ShownEmail } from "../../email/redactEmail.ts";
import { type ReadModel, scheduledRead } from "../../lists/caughtUpReads.ts";
import { webhookHistoryJson } from "../../webhookDelivery/webhookDeliveryResource.ts";
import { keyNames } from "../apiKey/keyNames.ts";
import type { Tone } from "../components/status.tsx";
import { lengthOfTime } from "../components/time.tsx";
import { failureText } from "../webhook/deliveryPage.tsx";
import { reasonText } from "./reasonText.ts";

/** A sentence, one that ends in a time (RFC 3339), or one about a worker. */
export type TimelineLine =
  | string
  | { readonly words: string; readonly at: string }
  | { readonly worker: string; readonly does: string };

/** One thing that happened to a message. */
export interface TimelineEntry {
  /** RFC 3339. */
  readonly at: string;
  readonly title: string;
  /** Further details, a sentence each. */
  readonly lines: readonly TimelineLine[];
  /** The words of a relay or an endpoint, verbatim. */
  readonly said: string | null;
  readonly tone: Tone;
  /** Who did it, if it was somebody's action. */
  readonly actor: string | null;
  /** The event behind it; null if it is not one of the message's own. */
  readonly event: EmailEvent | null;
}

/** Webhook calls to look up, the latest: the message's events times its workspace's endpoints. */
const DELIVERY_IDS_MAX = 2_000;
/** Failed webhook calls to explain in one timeline, each by reading its history. */
const EXPLAINED_MAX = 20;
/** Keys to name in one timeline; nearly always there is one. */
const KEY_NAMES_MAX = 20;

/** How an attempt hands a message over. */
const TRANSPORT_WORDS = {
  smtp: "hands it over by SMTP",
  outbox: "writes it to the outbox",
  simulator: "simulates its delivery",
} satisfies Record<TransportName, string>;

/** The log of another release may contain a transport that we do not know. */
function transportInWords(transport: string): string {
  const known = Object.entries(TRANSPORT_WORDS).find(([name]) => name === transport);
  return known?.[1] ?? `hands it over by ${transport}`;
}

/** What the viewer may see besides the events. */
interface Shown {
  /** Null: no webhook calls. */
  readonly deliveries: ReadModel | null;
  /** Whether keys are shown by name rather than id. */
  readonly hasKeyNames: boolean;
}

/** A message's timeline: its events and their webhook calls, in order of time. */
export async function timelineOf(
  deps: Dependencies,
  { events, email }: ShownEmail,
  { deliveries, hasKeyNames }: Shown,
): Promise<readonly TimelineEntry[]> {
  const keys = hasKeyNames ? new Set(events.flatMap(({ actor }) => keyIdOf(actor) ?? [])) : [];
  const names = await keyNames(deps, [...keys].slice(0, KEY_NAMES_MAX));
  const own = events.flatMap((event) => {
    const entry = entryOf(event);
    return entry === null ? [] : [{ ...entry, actor: actorText(event.actor, names) }];
  });
  const eventIds = events.filter(({ event }) => reachesEndpoints(event)).map(({ id }) => id);
  const webhookCalls =
    deliveries === null ? [] : await webhookEntries(deps, deliveries, email.workspaceId, eventIds);
  return [...own, ...webhookCalls].sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
}

async function webhookEntries(
  deps: Dependencies,
  deliveries: ReadModel,
  workspaceId: string,
  eventIds: readonly string[],
): Promise<readonly TimelineEntry[]> {
  const { endpoints } = await deps.webhooks.get(workspaceId);
  const ids = eventIds
    .flatMap((eventId) => [...endpoints.keys()].map((endpointId) => webhookDeliveryId(eventId, endpointId)))
    .slice(-DELIVERY_IDS_MAX);
  if (ids.length === 0) return [];
  const rows = await scheduledRead(deliveries, (db) => webhookDeliveriesOf(db, workspaceId, ids));
  const unsuccessful = rows.filter(
    ({ status, attempts }) => attempts > 0 && (status === "pending" || status === "exhausted"),
  );
  const explained = new Set(unsuccessful.slice(0, EXPLAINED_MAX));
  const now = deps.clock.now();
  return Promise.all(
    rows.map(async (row) => {
      const failure = explained.has(row) ? await lastFailureOf(deps, row) : [];
      const url = endpoints.get(row.endpointId)?.url ?? "";
      return webhookEntry(row, url, [...failure, ...nextCallOf(row, now)]);
    }),
  );
}

async function lastFailureOf({ store }: Dependencies, { id }: WebhookDeliveryRow) {
  const { attempt_log: attempts } = webhookHistoryJson(
    await readWebhookHistory(store, id),
    false,
    () => null,
  );
  const failed = attempts.findLast(({ outcome }) => outcome === "failed");
  return failed === undefined ? [] : [`The last call failed: ${failureText(failed)}.`];
}

function nextCallOf({ status, dueAt }: WebhookDeliveryRow, now: EpochMs): readonly TimelineLine[] {
  if (status !== "pending") return [];
  if (dueAt === null || dueAt <= now) return ["It is due, and waits its turn."];
  return [{ words: "Next call at", at: rfc3339(dueAt) }];
}

const WEBHOOK_STATES: Readonly<
  Record<WebhookDeliveryRow["status"], { readonly title: string; readonly tone: Tone }>
> = {
  pending: { title: "Webhook waits", tone: "waiting" },
  attempting: { title: "Webhook is being called", tone: "busy" },
  delivered: { title: "Webhook was called", tone: "good" },
  exhausted: { title: "Webhook was given up", tone: "bad" },
  skipped: { title: "Webhook was left out", tone: "quiet" },
};

/** Shows only the URL's host: the rest may hold a secret. */
function webhookEntry(
  { status, eventType, attempts, updatedAt }: WebhookDeliveryRow,
  url: string,
  more: readonly TimelineLine[],
): TimelineEntry {
  const { title, tone } = WEBHOOK_STATES[status];
  const host = URL.canParse(url) ? new URL(url).host : "an endpoint";
  const tries = attempts === 0 ? [] : [`${attempts} ${attempts === 1 ? "call" : "calls"}.`];
  return {
    at: updatedAt,
    title,
    lines: [`${eventType} to ${host}.`, ...tries, ...more],
    said: null,
    tone,
    actor: null,
    event: null,
  };
}

/** What happened, in words. */
interface EntryText {
  readonly title: string;
  readonly lines?: readonly TimelineLine[];
  readonly said?: string | undefined;
  readonly tone?: Tone;
}

const CAME_LATE = "This came late, and did not change what became of the message.";

function entryOf({ at, event }: HistoryEvent): Omit<TimelineEntry, "actor"> | null {
  const text = entryTextOf(event);
  if (text === null) return null;
  const { title, lines = [], said = "", tone = "quiet" } = text;
  const isSuperseded = "superseded" in event.data && event.data.superseded === true;
  return {
    at,
    title,
    lines: isSuperseded ? [...lines, CAME_LATE] : lines,
    said: said === "" ? null : said,
    tone,
    event,
  };
}

/** Only people and programs are named; workers and the service just do their job. */
function actorText(actor: string, names: ReadonlyMap<string, string>): string | null {
  const keyId = keyIdOf(actor);
  if (keyId !== null) return `API key ${names.get(keyId) ?? keyId}`;
  return actor === "cli" ? "the command line" : null;
}

function acceptedText(event: Extract<EmailEvent, { type: "EmailQueued" | "EmailScheduled" }>): EntryText {
  const { templateId } = event.data;
  const lines = templateId === undefined ? [] : [`Made from the template ${templateId}.`];
  if (event.type === "EmailQueued") return { title: "Queued", tone: "busy", lines };
  const due = { words: "To be sent at", at: event.data.scheduledAt };
  return { title: "Scheduled", tone: "waiting", lines: [due, ...lines] };
}

function givenUpText({
  type,
  data,
}: Extract<EmailEvent, { type: "EmailBounced" | "EmailFailed" }>): EntryText {
  const source = "source" in data && data.source !== undefined ? [sourceText(data.source)] : [];
  const title = type === "EmailBounced" ? "Bounced" : "Failed";
  return { title, tone: "bad", lines: [reasonText(data.reason), ...source], said: data.reply };
}

/** Null if the timeline leaves it out. */
function entryTextOf(event: EmailEvent): EntryText | null {
  switch (event.type) {
    case "EmailContentStored":
      // In the same append as what follows.
      return null;
    case "EmailQueued":
    case "EmailScheduled":
      return acceptedText(event);
    case "EmailRescheduled":
      return {
        title: "Rescheduled",
        tone: "waiting",
        lines: [{ words: "To be sent at", at: event.data.scheduledAt }],
      };
    case "EmailSuppressed":
      return { title: "Suppressed", tone: "quiet", lines: [reasonText(event.data.reason)] };
    case "EmailDeliveryStarted": {
      const { attempt, worker, transport, leaseMs } = event.data;
      const does = `${transportInWords(transport)}. Its lease: ${lengthOfTime(leaseMs)}.`;
      return { title: `Attempt ${attempt} began`, tone: "busy", lines: [{ worker, does }] };
    }
    case "EmailSent":
      return sentText(event.data);
    case "EmailDeferred":
      return deferralText(event.data);
    case "EmailBounced":
    case "EmailFailed":
      return givenUpText(event);
    case "EmailDelivered":
      return { title: "Delivered", tone: "good", lines: [sourceText(event.data.source)] };
    case "EmailComplained":
      return {
        title: "Complained",
        tone: "bad",
        lines: [`The recipient has reported it: ${event.data.feedbackType}.`, sourceText(event.data.source)],
      };
    case "EmailCanceled":
      return { title: "Canceled", lines: ["It was called back before a worker took it."] };
    case "EmailAttachmentsExpired":
      return { title: "Files expired", lines: ["The bytes of its attachments are gone."] };
    case "EmailContentErasureRequested":
      return {
        title: "Erasure asked for",
        lines: ["The content is erased when the running attempt has ended."],
      };
    case "EmailContentErased": {
      const { reason, canceled } = event.data;
      const why = {
        retention: "Its retention was over.",
        person: "Everything about the person was erased.",
        [AT_END]: "Its send had asked for that, as soon as the message had ended.",
      };
      const line = why[reason as keyof typeof why] ?? "Somebody asked for it.";
      return {
        title: "Content erased",
        lines: [line, ...(canceled ? ["It was canceled because of that."] : [])],
      };
    }
  }
}

const SOURCES: Readonly<Record<FeedbackSource, string>> = {
  return_path: "A mail to the address of its envelope says so.",
  complaint_address: "A mail to the address for complaints says so.",
  ses: "Amazon SES says so.",
  postmark: "Postmark says so.",
  resend: "Resend says so.",
  mailgun: "Mailgun says so.",
  sendgrid: "SendGrid says so.",
  api: "Reported over the API.",
  simulator: "Simulated: the recipient is an address of the simulator.",
};

/** Who reported it, as a sentence. */
export function sourceText(source: string): string {
  return SOURCES[source as FeedbackSource] ?? `${source} says so.`;
}

function sentText({
  transport,
  relay,
  reply,
  relayId,
  source,
}: Extract<EmailEvent, { type: "EmailSent" }>["data"]): EntryText {
  if (source === OPERATOR) {
    return {
      title: "Recorded as sent",
      tone: "good",
      lines: ["The operator knows that it had been sent. When, and what the relay said, is not known."],
    };
  }
  const destination = destinationOf(transport);
  if (destination === "files") {
    return {
      title: "Sent to the outbox",
      tone: "good",
      lines: ["It is a file, and has gone nowhere else."],
    };
  }
  if (destination === "nowhere") {
    return {
      title: "Sent to the simulator",
      tone: "good",
      lines: ["It was not sent to any relay."],
    };
  }
  const id = relayId === undefined ? [] : [`The relay calls it ${relayId}.`];
  return {
    title: "Sent",
    tone: "good",
    lines: [`The relay${relay === undefined ? "" : ` ${relay}`} took it.`, ...id],
    said: reply,
  };
}

function deferralText(data: Extract<EmailEvent, { type: "EmailDeferred" }>["data"]): EntryText {
  const { reason, ambiguous, attemptBurnt, nextAttemptAt, reply, attempt, superseded } = data;
  if (superseded) return { title: `Attempt ${attempt} ended`, lines: [reasonText(reason)], said: reply };
  const lines = [
    reasonText(reason),
    ...(ambiguous
      ? ["A further attempt carries the same Message-ID, so that receivers can drop a repeat."]
      : []),
    ...(attemptBurnt || reason === "resumed"
      ? []
      : ["The attempt does not lengthen the waits between attempts."]),
    { words: "Due again at", at: nextAttemptAt },
  ];
  const title = reason === "resumed" ? "Due at once" : `Deferred after attempt ${attempt}`;
  return { title, tone: "waiting", lines, said: reply };
}
