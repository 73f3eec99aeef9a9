import { suppress, unsuppress } from "../../domain/suppression/decisions.ts";
import type { SuppressionReason } from "../../domain/suppression/events.ts";
import { invariant } from "../../kernel/assert.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { Address } from "../../kernel/text/emailAddress.ts";
import { suppressionAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { CHANGES_KEPT_FOR_STOPPING } from "../resourceChangeRateLimit.ts";
import { transact } from "../transact.ts";
import { readLast, type Suppression } from "./readSuppression.ts";

/** How often callers may add or remove the suppression of one recipient in a day. */
const CHANGES_PER_DAY_MAX = 100;

/** The maximum length of the note on a manual suppression, in characters. */
export const NOTE_CHARACTERS_MAX = 500;

/** A recipient to suppress by hand. */
interface SuppressionToAdd {
  readonly address: Address;
  readonly note: string | null;
  /** Another service's reason, with whose list it comes; `manual` unless given. */
  readonly reason?: SuppressionReason;
}

/** Suppresses a recipient by hand. A repeat is no error: the first suppression stays as it is. */
export async function addSuppression(
  deps: Dependencies,
  { address, note, reason = "manual" }: SuppressionToAdd,
  context: WorkspaceCommandContext,
): Promise<{ readonly isNew: boolean; readonly suppression: Suppression }> {
  const { workspaceId } = context;
  const recipientHash = deps.keys.hashAddress(workspaceId, address.canonical);
  const salt = crypto.randomUUID();
  const stored = { address: address.sent, salt, ...(note === null ? {} : { note }) };
  const facts = { workspaceId, recipientHash, reason };
  const aggregate = { ...suppressionAggregate.of(recipientHash), changesPerDayMax: CHANGES_PER_DAY_MAX };
  const outcome = await transact(deps.store, aggregate, (state) => suppress(state, stored, facts), context);
  // The last suppression, lifted or not: somebody may have removed it meanwhile, but our answer still names it.
  const { suppression } = await readLast(deps.store, recipientHash);
  invariant(suppression, "a recipient who was suppressed has a suppression");
  return { isNew: outcome === "suppressed", suppression };
}

/** Allows mail to an address again. */
export function removeSuppression(deps: Dependencies, address: Address, context: WorkspaceCommandContext) {
  const recipientHash = deps.keys.hashAddress(context.workspaceId, address.canonical);
  const aggregate = {
    ...suppressionAggregate.of(recipientHash),
    changesPerDayMax: CHANGES_PER_DAY_MAX - CHANGES_KEPT_FOR_STOPPING,
  };
  return transact(deps.store, aggregate, unsuppress, context);
}
