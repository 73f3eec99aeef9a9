import {
  confirmLink,
  type LinkStatus,
  linkStatus,
  type VerificationLink,
} from "../../domain/sender/verificationLink.ts";
import type { VerificationToken } from "../../kernel/crypto/verificationToken.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { EpochMs } from "../../kernel/time.ts";
import { senderAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { load } from "../transact.ts";
import { transactSender } from "./manageSender.ts";
import { openVerificationToken, secretHashOf } from "./verificationLinkSecret.ts";
import { type VerificationRequester, verificationRequester } from "./verificationRequester.ts";

function presented({ requestId, secret }: VerificationToken, now: EpochMs): VerificationLink {
  return { requestId, secretHash: secretHashOf(secret), now };
}

/** A link's status, and who asks if it is open. Changes nothing, because mail scanners open every link. */
export async function readVerificationLink(
  deps: Dependencies,
  text: string,
): Promise<{ readonly status: LinkStatus; readonly requester: VerificationRequester | null }> {
  const token = openVerificationToken(deps, text);
  if (token === null) return { status: "unknown", requester: null };
  const { state } = await load(deps.store, senderAggregate.of(token.senderId));
  const status = linkStatus(state, presented(token, deps.clock.now()));
  if (state === null || status !== "open") return { status, requester: null };
  return { status, requester: await verificationRequester(deps, state.workspaceId, token) };
}

/** Verifies the sender that the link was mailed to, once. */
export async function confirmVerificationLink(
  deps: Dependencies,
  text: string,
  context: Omit<CommandContext, "workspaceId">,
): Promise<"verified" | Exclude<LinkStatus, "open">> {
  const token = openVerificationToken(deps, text);
  if (token === null) return "unknown";
  const sender = await deps.senders.get(token.senderId);
  const on = sender === null ? context : { ...context, workspaceId: sender.workspaceId };
  const link = presented(token, context.at);
  return transactSender(deps, token.senderId, (state) => confirmLink(state, link), on);
}
