import { suppressionCodec, suppressionStream } from "../../domain/suppression/events.ts";
import { invariant } from "../../kernel/assert.ts";
import type { Address } from "../../kernel/text/emailAddress.ts";
import { type EventStore, LOG_START, type RecordedEvent } from "../../ports/eventStore.ts";
import type { Dependencies } from "../dependencies.ts";
import { streamPages } from "../transact.ts";

/** A recipient who must not get mail. */
export interface Suppression {
  /** The id of the event that suppressed the recipient. */
  readonly id: string;
  /** As it was given, with the domain in lower-case ASCII; null once it is erased. */
  readonly address: string | null;
  /** `bounce`, `complaint` or `manual`. */
  readonly reason: string;
  /** The note on a manual suppression. */
  readonly note: string | null;
  /** The message whose bounce or complaint led to it. */
  readonly emailId: string | null;
  readonly createdAt: string;
}

/** The last suppression in a recipient's stream, and whether it has been lifted since. */
interface LastSuppression {
  readonly suppression: Suppression | null;
  readonly isLifted: boolean;
  /** The address and note of a suppression whose own event comes next. */
  readonly stored: { readonly address: string; readonly note: string | null } | null;
}

/** The state of a recipient without any events. */
const NOT_SUPPRESSED: LastSuppression = { suppression: null, isLifted: false, stored: null };

/** Applies one event of a recipient's stream. */
function followSuppression(last: LastSuppression, recorded: RecordedEvent): LastSuppression {
  const { type, data } = suppressionCodec.decode(recorded);
  switch (type) {
    case "SuppressionAddressStored":
      return { ...last, stored: { address: data.address, note: data.note ?? null } };
    case "RecipientSuppressed": {
      const { address = null, note = null } = last.stored ?? {};
      const { reason, emailId = null } = data;
      const createdAt = String(recorded.metadata.at);
      const suppression = { id: recorded.id, address, reason, note, emailId, createdAt };
      return { suppression, isLifted: false, stored: null };
    }
    case "RecipientUnsuppressed":
      return { ...last, isLifted: true };
    case "SuppressionAddressErased": {
      const { suppression } = last;
      return {
        ...last,
        suppression: suppression && { ...suppression, address: null, note: null },
        stored: null,
      };
    }
  }
}

export async function readLast(store: EventStore, recipientHash: string): Promise<LastSuppression> {
  let last = NOT_SUPPRESSED;
  for await (const page of streamPages(store, suppressionStream(recipientHash)))
    last = page.reduce(followSuppression, last);
  return last;
}

/** The suppression of an address in a workspace; null while mail to it is allowed. Throws `StoreError`. */
export async function readSuppression(
  deps: Dependencies,
  workspaceId: string,
  address: Address,
): Promise<Suppression | null> {
  const hash = deps.keys.hashAddress(workspaceId, address.canonical);
  const { suppression, isLifted } = await readLast(deps.store, hash);
  return isLifted ? null : suppression;
}

/** One suppression by its revision. Its address is in the event before it, from the same append. */
export async function readSuppressionAt(
  store: EventStore,
  { recipientHash, revision }: { readonly recipientHash: string; readonly revision: number },
): Promise<Suppression> {
  const events = await store.read(suppressionStream(recipientHash), Math.max(0, revision - 1), 2);
  const { suppression } = events
    .filter((event) => event.revision <= revision)
    .reduce(followSuppression, NOT_SUPPRESSED);
  invariant(suppression, "a suppression that was listed is in its stream");
  return suppression;
}

/**
 * The suppressions in force in a workspace, in the order in which the recipients were first suppressed. Reads the log
 * from its start, and holds the list in memory. Throws `StoreError`.
 */
export async function listSuppressions(
  store: EventStore,
  workspaceId: string,
): Promise<readonly Suppression[]> {
  const streams = new Map<string, LastSuppression>();
  const ofWorkspace = new Set<string>();
  for await (const { events } of store.readAll(LOG_START, { types: suppressionCodec.types })) {
    for (const recorded of events) {
      const { stream } = recorded;
      const { type, data } = suppressionCodec.decode(recorded);
      // The event with the address names no workspace; the suppression follows it in the same append.
      if (type !== "SuppressionAddressStored" && data.workspaceId === workspaceId) ofWorkspace.add(stream);
      streams.set(stream, followSuppression(streams.get(stream) ?? NOT_SUPPRESSED, recorded));
    }
  }
  return [...streams].flatMap(([stream, { suppression, isLifted }]) =>
    suppression !== null && !isLifted && ofWorkspace.has(stream) ? [suppression] : [],
  );
}
