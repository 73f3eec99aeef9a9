import { LEASE_EXPIRED } from "../../../src/domain/webhookDelivery/state.ts";
import { epochMs } from "../../../src/kernel/time.ts";
import { type Generation, generationAt } from "./serviceUnderTest.ts";
import { type DeliveryStory, hasEnded, type WebhookLog } from "./webhookLog.ts";
import type { SeenCall } from "./webhookReceivers.ts";

/** What the log and the receivers agree on, and where they do not. */
export interface WebhookAudit {
  /** Events that endpoints could ask for. */
  readonly events: number;
  /** Events times the endpoints that were active and subscribed where they happened, and tests. */
  readonly deliveries: number;
  /** Those of them that did not reach their endpoint without a reason in the log. */
  readonly missing: number;
  /** Calls that no claim in the log announces. */
  readonly unexplained: number;
  /** Deliveries that have begun and not ended. */
  readonly stuck: number;
  readonly calls: number;
  readonly attempts: number;
  readonly skipped: number;
  readonly exhausted: number;
  readonly leasesExpired: number;
  readonly problems: readonly string[];
}

export interface WebhookAuditOptions {
  readonly log: WebhookLog;
  readonly calls: readonly SeenCall[];
  readonly generations: readonly Generation[];
  /** How many attempts the schedule has. */
  readonly attemptsMax: number;
}

/** Compares what endpoints were owed and what they have seen with the log. */
export function auditWebhooks(options: WebhookAuditOptions): WebhookAudit {
  const { log, calls } = options;
  const stories = [...log.stories.values()];
  const seen = Map.groupBy(calls, ({ id }) => id);
  const told = Map.groupBy(stories, ({ about }) => about);
  const missing = [...log.owed.keys()].flatMap((about) => lossOf(about, told.get(about) ?? [], seen));
  const stuck = stories.filter((story) => !hasEnded(story));
  const unexplained = [...seen].flatMap(([id, ofOne]) => unexplainedOf(id, ofOne, log.stories.get(id)));
  const problems = [
    ...missing,
    ...unexplained,
    ...stuck.map(({ id, state }) => `${id} is still ${state?.status}`),
    ...strangers(told, log),
    ...stories.flatMap((story) => storyProblems(story, seen.get(story.id) ?? [], options)),
  ];
  return {
    events: log.events,
    deliveries: log.owed.size,
    missing: missing.length,
    unexplained: unexplained.length,
    stuck: stuck.length,
    calls: calls.length,
    attempts: count(stories, "WebhookAttemptStarted"),
    skipped: count(stories, "WebhookDeliverySkipped"),
    exhausted: count(stories, "WebhookDeliveryExhausted"),
    leasesExpired: stories.flatMap(expiredOf).length,
    problems,
  };
}

type EventType = DeliveryStory["entries"][number]["event"]["type"];

function count(stories: readonly DeliveryStory[], type: EventType): number {
  return stories.reduce(
    (sum, { entries }) => sum + entries.filter(({ event }) => event.type === type).length,
    0,
  );
}

const isSuccess = ({ status }: SeenCall) => status !== null && status >= 200 && status < 300;

/** Why this endpoint does not know of this event; empty when it does, or when the log says why not. */
function lossOf(
  about: string,
  stories: readonly DeliveryStory[],
  seen: ReadonlyMap<string, readonly SeenCall[]>,
): string[] {
  const [story] = stories;
  if (story === undefined) return [`${about} was owed, and nothing was ever done about it`];
  if (story.state?.status !== "delivered") return [];
  return seen.get(story.id)?.some(isSuccess)
    ? []
    : [`${story.id} is delivered in the log, and its receiver has never taken it`];
}

/** Each call of one `webhook-id` needs a claim of its own that was made before it. */
function unexplainedOf(id: string, calls: readonly SeenCall[], story: DeliveryStory | undefined): string[] {
  const claims = (story?.entries ?? []).filter(({ event }) => event.type === "WebhookAttemptStarted");
  const times = claims.map(({ at }) => at).sort((a, b) => a - b);
  return calls
    .toSorted((a, b) => a.at - b.at)
    .flatMap(({ at, path }, nth) => {
      const claimedAt = times[nth];
      return claimedAt !== undefined && claimedAt <= at
        ? []
        : [`${id} reached ${path} for the ${nth + 1}. time without a claim before it`];
    });
}

/** Deliveries without a subscription, and events that went to one endpoint under more than one id. */
function strangers(told: ReadonlyMap<string, readonly DeliveryStory[]>, log: WebhookLog): string[] {
  return [...told].flatMap(([about, stories]) => {
    const ids = stories.map(({ id }) => id).join(", ");
    const isAskedFor = log.missed.has(about) && stories.every(beginsWithRequest);
    if (!log.owed.has(about) && !isAskedFor)
      return [`${ids} (${about}) was delivered to an endpoint that was not owed it`];
    return stories.length > 1 ? [`${about} has more than one webhook-id: ${ids}`] : [];
  });
}

function beginsWithRequest({ entries: [first] }: DeliveryStory): boolean {
  return first?.event.type === "WebhookRedeliveryRequested";
}

function storyProblems(
  story: DeliveryStory,
  calls: readonly SeenCall[],
  { log, generations, attemptsMax }: WebhookAuditOptions,
): string[] {
  return [
    ...answerProblems(story, calls),
    ...claimProblems(story),
    ...leaseProblems(story, generations),
    ...skipProblems(story, log),
    ...exhaustionProblems(story, attemptsMax),
  ];
}

/** What the log says was answered, the receiver has answered. */
function answerProblems({ id, entries }: DeliveryStory, calls: readonly SeenCall[]): string[] {
  const statuses = entries.flatMap(({ event }) =>
    (event.type === "WebhookDelivered" || event.type === "WebhookAttemptFailed") && event.data.statusCode
      ? [event.data.statusCode]
      : [],
  );
  return [...Map.groupBy(statuses, (status) => status)].flatMap(([status, recorded]) => {
    const answered = calls.filter((call) => call.status === status).length;
    return recorded.length > answered
      ? [
          `${id} was answered ${status} ${recorded.length} times in the log, and ${answered} times by its receiver`,
        ]
      : [];
  });
}

/** One claim at a time, and none before its time. */
function claimProblems({ id, entries }: DeliveryStory): string[] {
  let isClaimed = false;
  let notBefore = 0;
  return entries.flatMap(({ event, at }) => {
    if (event.type === "WebhookAttemptStarted") {
      const problems = [
        ...(isClaimed ? [`${id} was claimed while it was claimed`] : []),
        ...(at < notBefore ? [`${id} was tried ${notBefore - at} ms before its time`] : []),
      ];
      isClaimed = true;
      return problems;
    }
    isClaimed = false;
    if (event.type === "WebhookRedeliveryRequested") notBefore = 0;
    else if (event.type === "WebhookAttemptFailed" && event.data.nextAttemptAt !== undefined)
      notBefore = epochMs(event.data.nextAttemptAt);
    return [];
  });
}

interface Expired {
  readonly attempt: number;
  readonly startedAt: number;
  readonly leaseMs: number;
  readonly endedAt: number;
}

/** The claims whose lease ran out. */
function expiredOf({ entries }: DeliveryStory): Expired[] {
  return entries.flatMap(({ event, at: endedAt }) => {
    if (event.type !== "WebhookAttemptFailed" || event.data.reason !== LEASE_EXPIRED) return [];
    const { attempt } = event.data;
    return entries.flatMap((other) =>
      other.event.type === "WebhookAttemptStarted" && other.event.data.attempt === attempt
        ? [{ attempt, startedAt: other.at, leaseMs: other.event.data.leaseMs, endedAt }]
        : [],
    );
  });
}

/**
 * A lease is left alone while it lasts, unless its process is known to have died, and runs out only where the process was
 * killed.
 */
function leaseProblems(story: DeliveryStory, generations: readonly Generation[]): string[] {
  return expiredOf(story).flatMap(({ startedAt, leaseMs, endedAt }) => {
    const lastedMs = endedAt - startedAt;
    if (lastedMs < leaseMs && !generationAt(generations, endedAt)?.knowsPredecessor)
      return [
        `${story.id} was taken over ${lastedMs} ms after its claim, before its ${leaseMs} ms were over`,
      ];
    const claimer = generationAt(generations, startedAt);
    return claimer?.ending === "SIGKILL"
      ? []
      : [`${story.id} lost the claim of a process that ended by ${claimer?.ending}`];
  });
}

/**
 * It was owed to an endpoint that was active then: something must have ended that before it was skipped. A test
 * may have been asked for in the very moment in which its endpoint ended.
 */
function skipProblems({ id, about, entries }: DeliveryStory, log: WebhookLog): string[] {
  const [, endpointId = ""] = about.split(" ");
  const owedAt = log.tests.has(about) ? 0 : (log.owed.get(about) ?? 0);
  return entries.flatMap(({ event, place }) => {
    if (event.type !== "WebhookDeliverySkipped") return [];
    const isExplained = log.ends.get(endpointId)?.some((end) => owedAt < end && end < place);
    return isExplained ? [] : [`${id} was skipped, though its endpoint was active from its event on`];
  });
}

/** The last attempt of the schedule has failed, or the endpoint has said that it is gone. */
function exhaustionProblems({ id, entries }: DeliveryStory, attemptsMax: number): string[] {
  let burnt = 0;
  let lastStatus: number | undefined;
  const problems: string[] = [];
  for (const { event } of entries) {
    if (event.type === "WebhookRedeliveryRequested") burnt = 0;
    else if (event.type === "WebhookAttemptFailed") {
      burnt += event.data.attemptBurnt ? 1 : 0;
      lastStatus = event.data.statusCode;
    } else if (event.type === "WebhookDeliveryExhausted" && burnt < attemptsMax && lastStatus !== 410)
      problems.push(`${id} was given up after ${burnt} attempts`);
  }
  return problems;
}
