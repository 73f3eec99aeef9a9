import { addSender, renameSender, switchSender, verifySender } from "../../domain/sender/decisions.ts";
import type { SenderEvent, VerificationMethod } from "../../domain/sender/events.ts";
import type { SenderState } from "../../domain/sender/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import { senderAggregate } from "../aggregateDefinitions.ts";
import { CHANGES_KEPT_FOR_STOPPING } from "../dailyChangeLimit.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";
import { type SenderName, senderIdOf } from "./senderId.ts";

/** How often callers may change one sender in a day. */
const CHANGES_PER_DAY_MAX = 200;

/** load -> decide -> append on one sender, which shows at once on this instance. */
export function transactSender<Outcome>(
  deps: Dependencies,
  id: string,
  decide: SenderChange<Outcome>["decide"],
  context: CommandContext,
): Promise<Outcome> {
  return changeSender(deps, id, { decide, changesPerDayMax: CHANGES_PER_DAY_MAX }, context);
}

/** What is decided of a sender, and how many changes in a day it must not be beyond. */
interface SenderChange<Outcome> {
  readonly decide: (state: SenderState) => Decision<Outcome, SenderEvent>;
  readonly changesPerDayMax: number;
}

async function changeSender<Outcome>(
  deps: Dependencies,
  id: string,
  { decide, changesPerDayMax }: SenderChange<Outcome>,
  context: CommandContext,
): Promise<Outcome> {
  const aggregate = {
    ...senderAggregate.of(id),
    since: () => deps.senders.loaded(id),
    changesPerDayMax,
  };
  const outcome = await transact(deps.store, aggregate, decide, context);
  deps.senders.forget(id);
  return outcome;
}

export interface NewSender {
  readonly workspaceId: string;
  readonly name: SenderName;
  /** Stands beside the address in From; null for none. Absent: a sender that is there keeps the one it has. */
  readonly displayName?: string | null;
}

/**
 * Adds a sender; it cannot send before it is verified. One that is there is given the display name, where that is
 * another. Null when there is no such workspace.
 */
export async function newSender(deps: Dependencies, sender: NewSender, context: CommandContext) {
  const { workspaceId, name, displayName } = sender;
  if ((await deps.workspaces.get(workspaceId)) === null) return null;
  const id = senderIdOf(deps.keys, workspaceId, name);
  const named = typeof displayName === "string" ? { displayName } : {};
  const event: Parameters<typeof addSender>[1] =
    name.kind === "address"
      ? { type: "SenderAdded", data: { workspaceId, address: name.address.sent, ...named } }
      : { type: "SenderDomainAdded", data: { workspaceId, domain: name.domain, ...named } };
  const on = { ...context, workspaceId };
  const decide = (state: SenderState): Decision<"added" | "renamed" | "alreadyAdded", SenderEvent> => {
    if (state === null || displayName === undefined) return addSender(state, event);
    const { outcome, events } = renameSender(state, displayName);
    return { outcome: outcome === "renamed" ? outcome : "alreadyAdded", events };
  };
  return { id, outcome: await transactSender(deps, id, decide, on) };
}

/** Gives a sender another display name; null: none. */
export function renameExistingSender(
  deps: Dependencies,
  id: string,
  displayName: string | null,
  context: CommandContext,
): Promise<"renamed" | "unchanged" | "notFound"> {
  return transactSender(deps, id, (state) => renameSender(state, displayName), context);
}

/** Marks a sender as verified. */
export function markVerified(
  deps: Dependencies,
  id: string,
  method: VerificationMethod,
  context: CommandContext,
): Promise<"verified" | "notFound"> {
  return transactSender(deps, id, (state) => verifySender(state, method), context);
}

/** Switches a sender off or on: within a second on every instance, and mail that is queued waits meanwhile. */
export function switchExistingSender(
  deps: Dependencies,
  id: string,
  to: "disabled" | "enabled",
  context: CommandContext,
): Promise<"switched" | "notFound"> {
  const change = {
    decide: (state: SenderState) => switchSender(state, to),
    changesPerDayMax: CHANGES_PER_DAY_MAX - (to === "enabled" ? CHANGES_KEPT_FOR_STOPPING : 0),
  };
  return changeSender(deps, id, change, context);
}
