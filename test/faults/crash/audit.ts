import type { EmailEvent } from "../../../src/domain/email/events.ts";
import { isTerminal, LEASE_EXPIRED } from "../../../src/domain/email/state.ts";
import type { Post } from "./load.ts";
import type { Copy, RawSink } from "./rawSink.ts";
import { type Generation, generationAt, SMTP_CONNECTIONS_MAX } from "./serviceUnderTest.ts";
import { readStories, type Story } from "./stories.ts";

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

/** Compares what callers were promised and what the sink has with the log. */
export async function audit({ env, posts, sink, generations }: AuditOptions): Promise<Audit> {
  const stories = await readStories(env);
  const accepted = posts.filter((post) => post.receipt !== null);
  const lost = accepted.flatMap((post) => lossOf(post, stories, sink));
  const doubts = [...stories].flatMap(([id, story]) => ambiguitiesOf(id, story, generations));
  const duplicated = [...sink.copiesById.values()].reduce((sum, copies) => sum + copies.length - 1, 0);
  const kills = generations.filter(({ ending }) => ending === "SIGKILL").length;
  const bound = kills * SMTP_CONNECTIONS_MAX;
  const problems = [
    ...(duplicated > doubts.length
      ? [`${duplicated} duplicated, but ${doubts.length} declared ambiguous`]
      : []),
    ...(doubts.length > bound ? [`${doubts.length} declared ambiguous, over the bound of ${bound}`] : []),
    ...lost,
    ...strangers(stories, accepted),
    ...[...stories].flatMap(([id, story]) => endProblems(id, story)),
    ...accepted.flatMap((post) => copyProblems(post, stories, sink)),
    ...unknownCopies(stories, sink),
    ...doubts.flatMap(({ problem }) => problem ?? []),
    ...tooManyInOneKill(doubts, generations),
  ];
  return { accepted: accepted.length, lost: lost.length, duplicated, ambiguous: doubts.length, problems };
}

/** Why this promise was not kept; empty when it was. */
function lossOf({ receipt, key }: Post, stories: ReadonlyMap<string, Story>, sink: RawSink): string[] {
  const id = receipt?.id ?? "";
  const state = stories.get(id)?.state;
  if (!state) return [`${key} got a 202 as ${id}, which is not in the log`];
  if (state.status !== "sent") return [`${id} was accepted and is ${state.status}`];
  return sink.copiesById.has(id) ? [] : [`${id} is sent in the log, but the sink has never seen it`];
}

/** Every request was repeated until it got its 202, so the log holds nothing else. */
function strangers(stories: ReadonlyMap<string, Story>, accepted: readonly Post[]): string[] {
  const promised = new Set(accepted.map(({ receipt }) => receipt?.id));
  return [...stories.keys()]
    .filter((id) => !promised.has(id))
    .map((id) => `${id} is in the log without a caller who was told so`);
}

function unknownCopies(stories: ReadonlyMap<string, Story>, sink: RawSink): string[] {
  return [...sink.copiesById.keys()]
    .filter((id) => !stories.has(id))
    .map((id) => `the sink has ${id}, the log has not`);
}

const ENDS: ReadonlySet<string> = new Set([
  "EmailSent",
  "EmailBounced",
  "EmailFailed",
  "EmailSuppressed",
  "EmailCanceled",
]);

function endProblems(id: string, { events, state }: Story): string[] {
  const ends = events.filter(({ event }) => ENDS.has(event.type)).length;
  if (state === null || !isTerminal(state.status)) return [`${id} has no terminal state`];
  return ends === 1 ? [] : [`${id} has ended ${ends} times`];
}

/** Faults of the copies of one message: other content, another Message-ID, or an undeclared copy. */
function copyProblems(post: Post, stories: ReadonlyMap<string, Story>, sink: RawSink): string[] {
  const id = post.receipt?.id ?? "";
  const copies: readonly Copy[] = sink.copiesById.get(id) ?? [];
  const events = stories.get(id)?.events ?? [];
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
function ambiguitiesOf(id: string, { events }: Story, generations: readonly Generation[]): Ambiguity[] {
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

function claimOf(events: Story["events"], attempt: number) {
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

function tooManyInOneKill(doubts: readonly Ambiguity[], generations: readonly Generation[]): string[] {
  return generations.flatMap(({ number }) => {
    const count = doubts.filter(({ generation }) => generation === number).length;
    return count > SMTP_CONNECTIONS_MAX
      ? [`one kill left ${count} messages ambiguous, with ${SMTP_CONNECTIONS_MAX} connections`]
      : [];
  });
}
