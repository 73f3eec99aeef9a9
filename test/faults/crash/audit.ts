import type { EmailEvent } from "../../../src/domain/email/events.ts";
import { isTerminal, LEASE_EXPIRED } from "../../../src/domain/email/state.ts";
import type { Post } from "./load.ts";
import type { Copy, RawSink } from "./rawSink.ts";
import { type EmailHistory, readEmailHistories } from "./readEmailHistories.ts";
import { type Generation, generationAt, SMTP_CONNECTIONS_MAX } from "./serviceUnderTest.ts";

/** What the log, the sink and the callers agree on, and where they do not. */
export interface Audit {
  readonly accepted: number;
  readonly lost: number;
  readonly duplicated: number;
  readonly ambiguous: number;
  readonly problems: readonly string[];
}

export interface AuditOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly posts: readonly Post[];
  readonly sink: RawSink;
  readonly generations: readonly Generation[];
}

/** Compares what callers were answered, what the sink received, and the log. */
export async function audit({ env, posts, sink, generations }: AuditOptions): Promise<Audit> {
  const histories = await readEmailHistories(env);
  const accepted = posts.filter((post) => post.receipt !== null);
  const lost = accepted.flatMap((post) => lossOf(post, histories, sink));
  const ambiguities = [...histories].flatMap(([id, history]) => ambiguitiesOf(id, history, generations));
  const duplicated = [...sink.copiesById.values()].reduce((sum, copies) => sum + copies.length - 1, 0);
  const kills = generations.filter(({ ending }) => ending === "SIGKILL").length;
  const bound = kills * SMTP_CONNECTIONS_MAX;
  const problems = [
    ...(duplicated > ambiguities.length
      ? [`${duplicated} duplicated, but ${ambiguities.length} declared ambiguous`]
      : []),
    ...(ambiguities.length > bound
      ? [`${ambiguities.length} declared ambiguous, over the bound of ${bound}`]
      : []),
    ...lost,
    ...unexpectedMessages(histories, accepted),
    ...[...histories].flatMap(([id, history]) => endProblems(id, history)),
    ...accepted.flatMap((post) => copyProblems(post, histories, sink)),
    ...unknownCopies(histories, sink),
    ...ambiguities.flatMap(({ problem }) => problem ?? []),
    ...excessAmbiguities(ambiguities, generations),
  ];
  return {
    accepted: accepted.length,
    lost: lost.length,
    duplicated,
    ambiguous: ambiguities.length,
    problems,
  };
}

/** Reports an accepted message that was not delivered; empty if it was. */
function lossOf(
  { receipt, key }: Post,
  histories: ReadonlyMap<string, EmailHistory>,
  sink: RawSink,
): string[] {
  const id = receipt?.id ?? "";
  const state = histories.get(id)?.state;
  if (!state) return [`${key} got a 202 as ${id}, which is not in the log`];
  if (state.status !== "sent") return [`${id} was accepted and is ${state.status}`];
  return sink.copiesById.has(id) ? [] : [`${id} is sent in the log, but the sink has never seen it`];
}

/** Every request was repeated until it got its 202, so the log holds nothing else. */
function unexpectedMessages(
  histories: ReadonlyMap<string, EmailHistory>,
  accepted: readonly Post[],
): string[] {
  const acceptedIds = new Set(accepted.map(({ receipt }) => receipt?.id));
  return [...histories.keys()]
    .filter((id) => !acceptedIds.has(id))
    .map((id) => `${id} is in the log, but no caller was told`);
}

function unknownCopies(histories: ReadonlyMap<string, EmailHistory>, sink: RawSink): string[] {
  return [...sink.copiesById.keys()]
    .filter((id) => !histories.has(id))
    .map((id) => `the sink has ${id}, the log has not`);
}

const ENDS: ReadonlySet<string> = new Set([
  "EmailSent",
  "EmailBounced",
  "EmailFailed",
  "EmailSuppressed",
  "EmailCanceled",
]);

function endProblems(id: string, { events, state }: EmailHistory): string[] {
  const outcomes = events.filter(({ event }) => ENDS.has(event.type)).length;
  if (state === null || !isTerminal(state.status)) return [`${id} has no terminal state`];
  return outcomes === 1 ? [] : [`${id} has ended ${outcomes} times`];
}

/** Faults of the copies of one message: other content, another Message-ID, or an undeclared copy. */
function copyProblems(post: Post, histories: ReadonlyMap<string, EmailHistory>, sink: RawSink): string[] {
  const id = post.receipt?.id ?? "";
  const copies: readonly Copy[] = sink.copiesById.get(id) ?? [];
  const events = histories.get(id)?.events ?? [];
  const count = (matches: (event: EmailEvent) => boolean) =>
    events.filter(({ event }) => matches(event)).length;
  const claims = count((event) => event.type === "EmailDeliveryStarted");
  const ambiguous = count((event) => event.type === "EmailDeferred" && event.data.ambiguous);
  const problems: string[] = [];
  if (copies.some(({ subject, to }) => subject !== post.subject || to !== post.to))
    problems.push(`${id} reached the sink with another subject or recipient`);
  if (new Set(copies.map(({ messageId }) => messageId)).size > 1)
    problems.push(`${id} reached the sink under more than one Message-ID`);
  if (copies.some(({ messageId }) => messageId === ""))
    problems.push(`${id} reached the sink without a Message-ID`);
  if (copies.length > claims)
    problems.push(`${id} reached the sink ${copies.length} times on ${claims} claims`);
  if (copies.length > 1 + ambiguous)
    problems.push(
      `${id} reached the sink ${copies.length} times and was declared ambiguous ${ambiguous} times`,
    );
  return problems;
}

interface Ambiguity {
  readonly generation: number;
  readonly problem: string | null;
}

/** The declared ambiguities of one message. Only a `kill -9` may cause one: SIGTERM drains. */
function ambiguitiesOf(
  id: string,
  { events }: EmailHistory,
  generations: readonly Generation[],
): Ambiguity[] {
  return events.flatMap(({ event, at }) => {
    if (event.type !== "EmailDeferred" || !event.data.ambiguous) return [];
    const claim = claimOf(events, event.data.attempt);
    if (claim === null)
      return [{ generation: 0, problem: `${id} is ambiguous (${event.data.reason}) without a claim` }];
    const claimer = generationAt(generations, claim.at);
    const isTakenOver =
      event.data.reason === LEASE_EXPIRED && !generationAt(generations, at)?.knowsPredecessor;
    const waitMs = isTakenOver ? claim.leaseMs : 0;
    const problem = ambiguityProblem(id, { claimer, waitMs, lastedMs: at - claim.at });
    return [{ generation: claimer?.number ?? 0, problem }];
  });
}

function claimOf(events: EmailHistory["events"], attempt: number) {
  for (const { event, at } of events) {
    if (event.type === "EmailDeliveryStarted" && event.data.attempt === attempt)
      return { at, leaseMs: event.data.leaseMs };
  }
  return null;
}

interface EndedClaim {
  /** The process that made it. */
  readonly claimer: Generation | undefined;
  readonly lastedMs: number;
  /** How long the process that ended it had to wait for that. */
  readonly waitMs: number;
}

function ambiguityProblem(id: string, { claimer, lastedMs, waitMs }: EndedClaim): string | null {
  if (claimer?.ending !== "SIGKILL")
    return `${id} is ambiguous on a claim of a process that ended by ${claimer?.ending}`;
  if (lastedMs < waitMs)
    return `${id} was taken over ${lastedMs} ms after its claim, before the lease of ${waitMs} ms ran out`;
  return null;
}

function excessAmbiguities(ambiguities: readonly Ambiguity[], generations: readonly Generation[]): string[] {
  return generations.flatMap(({ number }) => {
    const count = ambiguities.filter(({ generation }) => generation === number).length;
    return count > SMTP_CONNECTIONS_MAX
      ? [`one kill left ${count} messages ambiguous, with ${SMTP_CONNECTIONS_MAX} connections`]
      : [];
  });
}
