import { suppress, unsuppress } from "../../domain/suppression/decisions.ts";
import { suppressionCodec, suppressionStream } from "../../domain/suppression/events.ts";
import { invariant } from "../../kernel/assert.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/eventMetadata.ts";
import type { Address } from "../../kernel/text/emailAddress.ts";
import type { EventStore, RecordedEvent } from "../../ports/eventStore.ts";
import { suppressionAggregate } from "../aggregateDefinitions.ts";
import { CHANGES_KEPT_FOR_STOPPING } from "../changeRateLimit.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";

const PAGE_EVENTS = 500;
/** How often callers may suppress one recipient and let mail go again in a day. */
const CHANGES_PER_DAY_MAX = 100;

/** How long a note may be that somebody writes who suppresses by hand, in characters. */
export const NOTE_CHARACTERS_MAX = 500;

/** A recipient who must not get mail. */
export interface Suppression {
  /** The id of the event that suppressed. */
  readonly id: string;
  /** As it was given, the domain in lower-case ASCII; null once it was erased. */
  readonly address: string | null;
  /** `bounce`, `complaint` or `manual`. */
  readonly reason: string;
  /** What the person wrote who suppressed by hand. */
  readonly note: string | null;
  /** The message whose bounce or complaint led to it. */
  readonly emailId: string | null;
  readonly createdAt: string;
}

/** The last suppression of a recipient's stream, and whether it was lifted since. */
export interface LastSuppression {
  readonly suppression: Suppression | null;
  readonly isLifted: boolean;
  /** What was stored for the suppression that follows. */
  readonly stored: { readonly address: string; readonly note: string | null } | null;
}

/** Nothing was ever said of a recipient. */
export const NOT_SUPPRESSED: LastSuppression = { suppression: null, isLifted: false, stored: null };

/** What is known of a recipient after one more event of their stream. */
export function followSuppression(last: LastSuppression, recorded: RecordedEvent): LastSuppression {
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

async function readLast(store: EventStore, recipientHash: string): Promise<LastSuppression> {
  let last = NOT_SUPPRESSED;
  for (let from = 0; ; ) {
    const page = await store.read(suppressionStream(recipientHash), from, PAGE_EVENTS);
    last = page.reduce(followSuppression, last);
    from = (page.at(-1)?.revision ?? -1) + 1;
    if (page.length < PAGE_EVENTS) return last;
  }
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

/** One suppression by its position: its address is in the event before it, in the same append. */
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

export interface AddSuppression {
  readonly workspaceId: string;
  readonly address: Address;
  readonly note: string | null;
}

/** Suppresses a recipient by hand. A repeat is no error: the first suppression stays as it is. */
export async function addSuppression(
  deps: Dependencies,
  { workspaceId, address, note }: AddSuppression,
  context: WorkspaceCommandContext,
): Promise<{ readonly isNew: boolean; readonly suppression: Suppression }> {
  const recipientHash = deps.keys.hashAddress(workspaceId, address.canonical);
  const salt = crypto.randomUUID();
  const stored = { address: address.sent, salt, ...(note === null ? {} : { note }) };
  const facts = { workspaceId, recipientHash, reason: "manual" };
  const outcome = await transact(
    deps.store,
    {
      ...suppressionAggregate.of(recipientHash),
      changesPerDayMax: CHANGES_PER_DAY_MAX,
    },
    (state) => suppress(state, stored, facts),
    context,
  );
  // The last one, lifted since or not: whoever was faster to remove it takes nothing from our answer.
  const { suppression } = await readLast(deps.store, recipientHash);
  invariant(suppression, "a recipient who was suppressed has a suppression");
  return { isNew: outcome === "suppressed", suppression };
}

/** Lets mail to an address go again. */
export function removeSuppression(
  deps: Dependencies,
  workspaceId: string,
  address: Address,
  context: WorkspaceCommandContext,
) {
  const recipientHash = deps.keys.hashAddress(workspaceId, address.canonical);
  const aggregate = {
    ...suppressionAggregate.of(recipientHash),
    changesPerDayMax: CHANGES_PER_DAY_MAX - CHANGES_KEPT_FOR_STOPPING,
  };
  return transact(deps.store, aggregate, unsuppress, context);
}
