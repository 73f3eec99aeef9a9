import type { RecordedReply } from "../../domain/email/delivery/encryptRelayReply.ts";
import { suppress } from "../../domain/suppression/decisions.ts";
import { type SuppressionReason, suppressionStream } from "../../domain/suppression/events.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { emailAggregate, suppressionAggregate } from "../aggregateDefinitions.ts";
import { eraseSuppressedAddress } from "../erasure/eraseSuppressedAddress.ts";
import { load, transact } from "../transact.ts";

/** A recipient to suppress after a bounce or a complaint. */
interface RecipientToSuppress extends RecordedReply {
  readonly workspaceId: string;
  readonly recipientHash: string;
  /** Null if it was erased with the message. */
  readonly address: string | null;
  readonly emailId: string;
  readonly reason: Exclude<SuppressionReason, "manual">;
  readonly bounceReason?: string;
}

/**
 * Suppresses the recipient of a message after a bounce or a complaint. A repeat gives no events. `address` may have been
 * read a while ago: if the person was erased since, the address stays erased.
 */
export async function suppressRecipient(
  store: EventStore,
  recipient: RecipientToSuppress,
  context: WorkspaceCommandContext,
): Promise<void> {
  const { address, ...facts } = recipient;
  const stream = suppressionStream(recipient.recipientHash);
  const stored = address === null ? null : { address, salt: crypto.randomUUID() };
  const decide = (state: Parameters<typeof suppress>[0]) => suppress(state, stored, facts);
  await transact(store, { ...suppressionAggregate, stream }, decide, context);
  if (stored !== null) await keepErased(store, recipient, context);
}

/**
 * Erases the address again if the suppression has just brought it back. An erasure erases the message first and then
 * looks for suppressions, so either it finds this one, or we find the message erased.
 */
async function keepErased(
  store: EventStore,
  { emailId, recipientHash }: RecipientToSuppress,
  context: WorkspaceCommandContext,
): Promise<void> {
  const { state: email } = await load(store, emailAggregate.of(emailId));
  const erasureId = email?.erasedFor?.erasureId;
  if (erasureId === undefined) return;
  const { state: suppression } = await load(store, suppressionAggregate.of(recipientHash));
  // A suppression for another message was not written by us.
  if (suppression?.emailId === emailId)
    await eraseSuppressedAddress(store, recipientHash, erasureId, context);
}
