import { addSender, renameSender, switchSender, verifySender } from "../../domain/sender/decisions.ts";
import type { SenderEvent, VerificationMethod } from "../../domain/sender/events.ts";
import type { Beginning, SenderState } from "../../domain/sender/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { CHANGES_KEPT_FOR_STOPPING } from "../resourceChangeRateLimit.ts";
import { type SenderName, senderIdOf } from "./senderId.ts";

const CHANGES_PER_DAY_MAX = 200;

/** load -> decide -> append on one sender. The change shows at once on this instance. */
export function transactSender<Outcome>(
  { senders }: Dependencies,
  id: string,
  decide: (state: SenderState) => Decision<Outcome, SenderEvent>,
  context: CommandContext,
): Promise<Outcome> {
  return senders.transact(id, decide, context, { changesPerDayMax: CHANGES_PER_DAY_MAX });
}

export interface NewSender {
  readonly workspaceId: string;
  readonly name: SenderName;
  /** The display name in From; null for none. Absent: an existing sender keeps the one it has. */
  readonly displayName?: string | null;
}

/**
 * Adds a sender; it cannot send before it is verified. An existing one only gets the display name. Null if there is no
 * such workspace.
 */
export async function newSender(deps: Dependencies, sender: NewSender, context: CommandContext) {
  const { workspaceId, name, displayName } = sender;
  if ((await deps.workspaces.get(workspaceId)) === null) return null;
  const id = senderIdOf(deps.keys, workspaceId, name);
  const named = typeof displayName === "string" ? { displayName } : {};
  const event: Beginning =
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

/** Changes a sender's display name; null removes it. */
export function renameExistingSender(
  deps: Dependencies,
  id: string,
  displayName: string | null,
  context: CommandContext,
): Promise<"renamed" | "unchanged" | "notFound"> {
  return transactSender(deps, id, (state) => renameSender(state, displayName), context);
}

export function markVerified(
  deps: Dependencies,
  id: string,
  method: VerificationMethod,
  context: CommandContext,
): Promise<"verified" | "notFound"> {
  return transactSender(deps, id, (state) => verifySender(state, method), context);
}

/** Disables or enables a sender, within a second on every instance. Queued mail of a disabled sender waits. */
export function switchExistingSender(
  deps: Dependencies,
  id: string,
  to: "disabled" | "enabled",
  context: CommandContext,
): Promise<"switched" | "notFound"> {
  const changesPerDayMax = CHANGES_PER_DAY_MAX - (to === "enabled" ? CHANGES_KEPT_FOR_STOPPING : 0);
  return deps.senders.transact(id, (state) => switchSender(state, to), context, { changesPerDayMax });
}
