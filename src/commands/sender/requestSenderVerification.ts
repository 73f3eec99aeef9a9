import { requestVerification } from "../../domain/sender/verificationLink.ts";
import {
  ADDRESS_RULE,
  ADDRESS_RULE_OF_FIRST,
  allowedAgainAt,
  countVerificationMail,
  hasMailToday,
  SENDER_RULE,
  type VerificationMailRule,
  WORKSPACE_RULE,
} from "../../domain/verificationMailLimit/decisions.ts";
import {
  addressLimitStream,
  senderLimitStream,
  workspaceLimitStream,
} from "../../domain/verificationMailLimit/events.ts";
import { invariant } from "../../kernel/assert.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { newId } from "../../kernel/ids.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import { type EpochMs, rfc3339, utcDay } from "../../kernel/time.ts";
import { suppressionAggregate, verificationMailLimitAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { load, transact } from "../transact.ts";
import { transactSender } from "./manageSender.ts";
import type { SenderView } from "./readSender.ts";
import { secretHashOf } from "./verificationLinkSecret.ts";

type RequestOutcome =
  /** The mail is on its way, or the sender is already verified and needs none. */
  | { readonly kind: "requested" | "alreadyVerified" }
  | { readonly kind: "suppressed" }
  | { readonly kind: "limited"; readonly againAt: EpochMs };

/**
 * Issues a verification link for an address; a worker mails it. Mails are counted by expected revision, so however many
 * instances run, they exceed no limit. A counted mail stays counted, whatever comes of it.
 */
export async function requestSenderVerification(
  deps: Dependencies,
  { id, sender }: SenderView,
  context: CommandContext,
): Promise<RequestOutcome> {
  const { store, keys } = deps;
  const { workspaceId } = sender;
  if (sender.verifiedBy !== null) return { kind: "alreadyVerified" };
  const address = parseAddress(sender.name);
  invariant("canonical" in address, "a sender's address was parsed when it was added");
  // The sender's id is the keyed hash of workspace and address that also identifies a suppression.
  const suppression = await load(store, suppressionAggregate.of(id));
  if (suppression.state !== null) return { kind: "suppressed" };

  const now = context.at;
  const ofSender = senderLimitStream(id);
  const ofAddress = addressLimitStream(keys.hashAddressGlobally(address.canonical));
  const ofWorkspace = workspaceLimitStream(workspaceId, utcDay(rfc3339(now)));
  const countedMails = async (stream: string) =>
    (await load(store, verificationMailLimitAggregate.of(stream))).state;
  const known = await countedMails(ofSender);
  const addressRule = hasMailToday(known, now) ? ADDRESS_RULE : ADDRESS_RULE_OF_FIRST;
  // We check these before counting anything, so a refused request uses nothing up.
  const againAt =
    allowedAgainAt(known, SENDER_RULE, now) ??
    allowedAgainAt(await countedMails(ofAddress), addressRule, now) ??
    (await count(deps, ofWorkspace, WORKSPACE_RULE, context)) ??
    (await count(deps, ofSender, SENDER_RULE, context)) ??
    (await count(deps, ofAddress, addressRule, context));
  if (againAt !== null) return { kind: "limited", againAt };

  const requestId = newId();
  const secretHash = secretHashOf(keys.verificationSecret(id, requestId));
  const link = { requestId, secretHash, now };
  const outcome = await transactSender(deps, id, (state) => requestVerification(state, link), context);
  invariant(outcome !== "notFound", "a sender that was read is there");
  return { kind: outcome };
}

/** Counts one mail. Null if it was counted, else the time from which it can be. */
function count(
  { store }: Dependencies,
  stream: string,
  rule: VerificationMailRule,
  context: CommandContext,
): Promise<EpochMs | null> {
  const aggregate = verificationMailLimitAggregate.of(stream);
  return transact(store, aggregate, (state) => countVerificationMail(state, rule, context.at), context);
}
