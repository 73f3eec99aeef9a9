import { type EmailEvent, emailCodec, emailStream, isAcceptance } from "../../domain/email/events.ts";
import { type EmailState, emailDecider } from "../../domain/email/state.ts";
import { keyIdOf } from "../../kernel/event/actor.ts";
import { type EpochMs, epochMs } from "../../kernel/time.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { streamPages } from "../transact.ts";

/** One event of a message's history. `sequence` is its revision in the message's stream. */
export interface HistoryEvent {
  readonly sequence: number;
  readonly at: string;
  readonly event: EmailEvent;
}

/** The same as read from the log, which also knows the event's id and who caused it. */
export interface LoggedEvent extends HistoryEvent {
  readonly id: string;
  readonly actor: string;
}

/** A message as its stream is now. */
export interface EmailHistory<Entry extends HistoryEvent = HistoryEvent> {
  readonly state: EmailState;
  readonly events: readonly Entry[];
  /** The last revision; -1 before the message was accepted. */
  readonly revision: number;
}

/** Folds a message's stream, so it sees the writes of every instance. Throws `StoreError`. */
export async function readEmailHistory(store: EventStore, id: string): Promise<EmailHistory<LoggedEvent>> {
  const events: LoggedEvent[] = [];
  let state: EmailState = emailDecider.initialState;
  let revision = -1;
  for await (const page of streamPages(store, emailStream(id))) {
    for (const recorded of page) {
      const event = emailCodec.decode(recorded);
      state = emailDecider.evolve(state, event);
      revision = recorded.revision;
      const { at, actor } = recorded.metadata;
      events.push({ id: recorded.id, sequence: revision, at: String(at), actor: String(actor), event });
    }
  }
  return { state, events, revision };
}

/** A history up to a point in time: it stops before the first event with a later time. */
export function emailHistoryUntil<Entry extends HistoryEvent>(
  { events }: EmailHistory<Entry>,
  at: EpochMs,
): EmailHistory<Entry> {
  const end = events.findIndex((event) => epochMs(event.at) > at);
  const visible = end === -1 ? events : events.slice(0, end);
  const state = visible.reduce<EmailState>(
    (folded, { event }) => emailDecider.evolve(folded, event),
    emailDecider.initialState,
  );
  return { state, events: visible, revision: visible.at(-1)?.sequence ?? -1 };
}

/** When a message came to its status: an erasure, for instance, is later and leaves it. Null before its acceptance. */
export function statusSince({ events }: Pick<EmailHistory, "events">): string | null {
  let state: EmailState = emailDecider.initialState;
  let since: string | null = null;
  for (const { at, event } of events) {
    const next = emailDecider.evolve(state, event);
    if (next?.status !== state?.status) since = at;
    state = next;
  }
  return since;
}

/** The id of the API key with which a message was sent; null if there was none. */
export function sendingKeyId({ events }: Pick<EmailHistory<LoggedEvent>, "events">): string | null {
  const acceptance = events.find(({ event }) => isAcceptance(event));
  return acceptance === undefined ? null : keyIdOf(acceptance.actor);
}

/** The salt that encrypts the texts about a message; null once its content is erased. */
export function contentSaltOf({ state, events }: Pick<EmailHistory, "state" | "events">): string | null {
  const first = events[0]?.event;
  // Erased content is never used, even while the log still holds it.
  if (state === null || state.contentErased || first?.type !== "EmailContentStored") return null;
  return first.data.salt;
}
