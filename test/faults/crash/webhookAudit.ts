import { LEASE_EXPIRED } from "../../../src/domain/webhookDelivery/state.ts";
import { epochMs } from "../../../src/kernel/time.ts";
import { type Generation, generationAt } from "./serviceUnderTest.ts";
import { type DeliveryHistory, hasEnded, type WebhookLog } from "./webhookLog.ts";
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

/** Compares the expected deliveries, the calls that receivers saw, and the log. */
export function auditWebhooks(options: WebhookAuditOptions): WebhookAudit {
  const { log, calls } = options;
  const histories = [...log.histories.values()];
  const seen = Map.groupBy(calls, ({ id }) => id);
  const historiesByTarget = Map.groupBy(histories, ({ target }) => target);
  const missing = [...log.expected.keys()].flatMap((target) =>
    lossOf(target, historiesByTarget.get(target) ?? [], seen),
  );
  const stuck = histories.filter((history) => !hasEnded(history));
  const unexplained = [...seen].flatMap(([id, ofOne]) => unexplainedOf(id, ofOne, log.histories.get(id)));
  const problems = [
    ...missing,
    ...unexplained,
    ...stuck.map(({ id, state }) => `${id} is still ${state?.status}`),
    ...unexpectedDeliveries(historiesByTarget, log),
    ...histories.flatMap((history) => historyProblems(history, seen.get(history.id) ?? [], options)),
  ];
  return {
    events: log.events,
    deliveries: log.expected.size,
    missing: missing.length,
    unexplained: unexplained.length,
    stuck: stuck.length,
    calls: calls.length,
    attempts: count(histories, "WebhookAttemptStarted"),
    skipped: count(histories, "WebhookDeliverySkipped"),
    exhausted: count(histories, "WebhookDeliveryExhausted"),
    leasesExpired: histories.flatMap(expiredOf).length,
    problems,
  };
}

type EventType = DeliveryHistory["entries"][number]["event"]["type"];

function count(histories: readonly DeliveryHistory[], type: EventType): number {
  return histories.reduce(
    (sum, { entries }) => sum + entries.filter(({ event }) => event.type === type).length,
    0,
  );
}

const isSuccess = ({ status }: SeenCall) => status !== null && status >= 200 && status < 300;

/** Reports a delivery that never reached its endpoint; empty if it did, or if the log says why not. */
function lossOf(
  target: string,
  histories: readonly DeliveryHistory[],
  seen: ReadonlyMap<string, readonly SeenCall[]>,
): string[] {
  const [history] = histories;
  if (history === undefined) return [`${target} was expected, but nothing was ever done about it`];
  if (history.state?.status !== "delivered") return [];
  return seen.get(history.id)?.some(isSuccess)
    ? []
    : [`${history.id} is delivered in the log, but its receiver never accepted it`];
}

/** Each call of one `webhook-id` needs its own earlier claim. */
function unexplainedOf(
  id: string,
  calls: readonly SeenCall[],
  history: DeliveryHistory | undefined,
): string[] {
  const claims = (history?.entries ?? []).filter(({ event }) => event.type === "WebhookAttemptStarted");
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
function unexpectedDeliveries(
  historiesByTarget: ReadonlyMap<string, readonly DeliveryHistory[]>,
  log: WebhookLog,
): string[] {
  return [...historiesByTarget].flatMap(([target, histories]) => {
    const ids = histories.map(({ id }) => id).join(", ");
    const isRequested = log.missed.has(target) && histories.every(beginsWithRequest);
    if (!log.expected.has(target) && !isRequested)
      return [`${ids} (${target}) was delivered to an endpoint that did not subscribe to it`];
    return histories.length > 1 ? [`${target} has more than one webhook-id: ${ids}`] : [];
  });
}

function beginsWithRequest({ entries: [first] }: DeliveryHistory): boolean {
  return first?.event.type === "WebhookRedeliveryRequested";
}

function historyProblems(
  history: DeliveryHistory,
  calls: readonly SeenCall[],
  { log, generations, attemptsMax }: WebhookAuditOptions,
): string[] {
  return [
    ...answerProblems(history, calls),
    ...claimProblems(history),
    ...leaseProblems(history, generations),
    ...skipProblems(history, log),
    ...exhaustionProblems(history, attemptsMax),
  ];
}

/** What the log says was answered, the receiver has answered. */
function answerProblems({ id, entries }: DeliveryHistory, calls: readonly SeenCall[]): string[] {
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
function claimProblems({ id, entries }: DeliveryHistory): string[] {
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
function expiredOf({ entries }: DeliveryHistory): Expired[] {
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
function leaseProblems(history: DeliveryHistory, generations: readonly Generation[]): string[] {
  return expiredOf(history).flatMap(({ startedAt, leaseMs, endedAt }) => {
    const lastedMs = endedAt - startedAt;
    if (lastedMs < leaseMs && !generationAt(generations, endedAt)?.knowsPredecessor)
      return [
        `${history.id} was taken over ${lastedMs} ms after its claim, before its ${leaseMs} ms were over`,
      ];
    const claimer = generationAt(generations, startedAt);
    return claimer?.ending === "SIGKILL"
      ? []
      : [`${history.id} lost the claim of a process that ended by ${claimer?.ending}`];
  });
}

/**
 * A delivery is expected of endpoints that were active at its event, so the endpoint must have been disabled or deleted
 * before the skip. A test may have been requested just when its endpoint ended.
 */
function skipProblems({ id, target, entries }: DeliveryHistory, log: WebhookLog): string[] {
  const [, endpointId = ""] = target.split(" ");
  const expectedAt = log.tests.has(target) ? 0 : (log.expected.get(target) ?? 0);
  return entries.flatMap(({ event, position }) => {
    if (event.type !== "WebhookDeliverySkipped") return [];
    const isExplained = log.endpointEnds.get(endpointId)?.some((end) => expectedAt < end && end < position);
    return isExplained ? [] : [`${id} was skipped, though its endpoint was active from its event on`];
  });
}

/** A delivery may be exhausted only after the last scheduled attempt, or if the endpoint answered 410 Gone. */
function exhaustionProblems({ id, entries }: DeliveryHistory, attemptsMax: number): string[] {
  let counted = 0;
  let lastStatus: number | undefined;
  const problems: string[] = [];
  for (const { event } of entries) {
    if (event.type === "WebhookRedeliveryRequested") counted = 0;
    else if (event.type === "WebhookAttemptFailed") {
      counted += event.data.attemptBurnt ? 1 : 0;
      lastStatus = event.data.statusCode;
    } else if (event.type === "WebhookDeliveryExhausted" && counted < attemptsMax && lastStatus !== 410)
      problems.push(`${id} was given up after ${counted} attempts`);
  }
  return problems;
}
