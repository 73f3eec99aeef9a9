import { createHash } from "node:crypto";
import {
  confirmLink,
  type LinkStatus,
  linkStatus,
  type VerificationLink,
} from "../../domain/sender/decisions.ts";
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

/** What the log holds of a link's secret. */
export function secretHashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** The token of one request: made again by whoever mails it, and written nowhere. */
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

/** A token that this instance's key has made; null for any other text, for which nothing is read. */
function openToken({ keys }: Dependencies, text: string): VerificationToken | null {
  const token = decodeVerificationToken(text);
  if (token === null) return null;
  const secret = keys.verificationSecret(token.senderId, token.requestId);
  return equalInConstantTime(secret, token.secret) ? token : null;
}

function presented({ requestId, secret }: VerificationToken, now: EpochMs): VerificationLink {
  return { requestId, secretHash: secretHashOf(secret), now };
}

/** Who asks for an address, as its mail and the page of its link say. */
export interface VerificationRequester {
  readonly workspaceId: string;
  /** What the operator called the workspace, without anything that could lead somewhere; may be empty. */
  readonly workspaceName: string;
  /** The requester sees the same one. */
  readonly code: string;
}

const WORKSPACE_NAME_CHARACTERS_MAX = 60;

/** Who has asked for one link of a sender. */
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

/** What a link is good for, and of one that is open who asks. Changes nothing: scanners of mail open every link. */
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
 * A name as somebody may read it whom it was not meant for: letters, digits and a little between them, so that it holds
 * no link, no address and no line of its own. Empty when nothing is left.
 */
function nameWithoutLinks(name: string): string {
  const plain = name.replace(/[^\p{L}\p{M}\p{N}&'-]+/gu, " ").trim();
  return [...plain].slice(0, WORKSPACE_NAME_CHARACTERS_MAX).join("").trim();
}
