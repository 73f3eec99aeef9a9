import { eraseContent, expireContent } from "../../domain/email/contentErasure.ts";
import { ACCEPTANCE_REVISION, type EmailEvent, emailStream } from "../../domain/email/events.ts";
import type { EmailState, ErasureReason } from "../../domain/email/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import type { EpochMs } from "../../kernel/time.ts";
import { requireStoreError } from "../../ports/eventStore.ts";
import { emailAggregate } from "../aggregateDefinitions.ts";
import { expireEmailFiles } from "../attachment/expireFiles.ts";
import type { Dependencies } from "../dependencies.ts";
import { reachedEmail, readEmailState, WITHOUT_CONTENT } from "../email/readEmail.ts";
import { transact } from "../transact.ts";

/**
 * Erases the content of a message in the context's workspace. From the append on nothing shows it. Then every copy is
 * cleared; if that fails, a reactor does it later. `afterClaim`: a worker has claimed the message.
 */
export async function eraseEmail(
  deps: Dependencies,
  id: string,
  why: ErasureReason,
  context: CommandContext,
): Promise<"erased" | "alreadyErased" | "afterClaim" | "notFound"> {
  return eraseAndClear(deps, id, (state) => eraseContent(reachedEmail(state, context), why), context);
}

/** Erases the content of a message that has ended, if its retention counts from `before` or earlier. */
export async function expireEmailContent(
  deps: Dependencies,
  id: string,
  before: EpochMs,
  context: CommandContext,
): Promise<void> {
  await eraseAndClear(deps, id, (state) => expireContent(state, before), context);
}

async function eraseAndClear<Outcome>(
  deps: Dependencies,
  id: string,
  decide: (state: EmailState) => Decision<Outcome, EmailEvent>,
  context: CommandContext,
): Promise<Outcome> {
  const aggregate = { ...emailAggregate.of(id), since: () => WITHOUT_CONTENT };
  const outcome = await transact(deps.store, aggregate, decide, context);
  if (outcome === "erased") await clearErasedEmail(deps, id, context).catch(requireStoreError);
  return outcome;
}

/**
 * Clears an erased message's content: from this instance's memory and outbox, the content store and the log. Also
 * releases its storage quota. Repeatable. Throws `StoreError`.
 */
export async function clearErasedEmail(
  deps: Dependencies,
  id: string,
  context: CommandContext,
): Promise<void> {
  const email = await readEmailState(deps.store, id);
  if (email === null || !email.contentErased) return;
  const { workspaceId } = email;
  deps.recentEmails?.take(id);
  // Each whatever becomes of the others: what cannot be removed in one place must not stay in all.
  await runEach([
    () => deps.store.truncateBefore(emailStream(id), ACCEPTANCE_REVISION),
    () => deps.content.removeOwner({ workspaceId, ownerId: id }),
    () => expireEmailFiles(deps, id, { ...context, workspaceId }),
    async () => deps.outbox?.remove(id),
  ]);
}

/** Runs steps one after the other, also past one that fails, and then throws the first fault. */
async function runEach(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const faults: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => faults.push(error));
  if (faults.length > 0) throw faults[0];
}
