import { createHash } from "node:crypto";
import {
  confirmLink,
  type LinkStatus,
  linkStatus,
  type VerificationLink,
} from "../../domain/sender/verificationLink.ts";
import { equalInConstantTime } from "../../kernel/crypto/equalInConstantTime.ts";
import {
  decodeVerificationToken,
  encodeVerificationToken,
  type VerificationToken,
} from "../../kernel/crypto/verificationToken.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { EpochMs } from "../../kernel/time.ts";
import { senderAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { load } from "../transact.ts";
import { transactSender } from "./manageSender.ts";

/** What the log keeps of a link's secret. */
export function secretHashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** The token of one request. It is stored nowhere: the worker that mails it derives it again. */
export function verificationTokenOf(
  { keys }: Pick<Dependencies, "keys">,
  senderId: string,
  requestId: string,
) {
  return encodeVerificationToken({
    senderId,
    requestId,
    secret: keys.verificationSecret(senderId, requestId),
  });
}

/** Decodes a token that our keys have made; null for any other text, without a read of the store. */
function openToken({ keys }: Dependencies, text: string): VerificationToken | null {
  const token = decodeVerificationToken(text);
  if (token === null) return null;
  const secret = keys.verificationSecret(token.senderId, token.requestId);
  return equalInConstantTime(secret, token.secret) ? token : null;
}

function presented({ requestId, secret }: VerificationToken, now: EpochMs): VerificationLink {
  return { requestId, secretHash: secretHashOf(secret), now };
}

/** Who asks to use an address, as the verification mail and the page behind its link show it. */
export interface VerificationRequester {
  readonly workspaceId: string;
  /** The operator's name for the workspace, without anything that could form a link; may be empty. */
  readonly workspaceName: string;
  /** The requester sees the same one. */
  readonly code: string;
}

const WORKSPACE_NAME_CHARACTERS_MAX = 60;

/** Who has requested one link of a sender. */
export async function verificationRequester(
  { workspaces, keys }: Pick<Dependencies, "workspaces" | "keys">,
  workspaceId: string,
  { senderId, requestId }: Pick<VerificationToken, "senderId" | "requestId">,
): Promise<VerificationRequester> {
  const name = (await workspaces.get(workspaceId))?.name ?? "";
  return {
    workspaceId,
    workspaceName: nameWithoutLinks(name),
    code: keys.verificationCode(senderId, requestId),
  };
}

/** A link's status, and who asks if it is open. Changes nothing, because mail scanners open every link. */
export async function readVerificationLink(
  deps: Dependencies,
  text: string,
): Promise<{ readonly status: LinkStatus; readonly requester: VerificationRequester | null }> {
  const token = openToken(deps, text);
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
  const token = openToken(deps, text);
  if (token === null) return "unknown";
  const sender = await deps.senders.get(token.senderId);
  const of = sender === null ? {} : { workspaceId: sender.workspaceId };
  const link = presented(token, context.at);
  return transactSender(deps, token.senderId, (state) => confirmLink(state, link), {
    ...context,
    ...of,
  });
}

/**
 * A name that is safe to show to strangers: letters, digits and a few characters between them, so it cannot hold a link,
 * an address or a line break. Empty if nothing is left.
 */
function nameWithoutLinks(name: string): string {
  const plain = name.replace(/[^\p{L}\p{M}\p{N}&'-]+/gu, " ").trim();
  return [...plain].slice(0, WORKSPACE_NAME_CHARACTERS_MAX).join("").trim();
}
