import type { InstanceKeys } from "../../kernel/crypto/instanceKeys.ts";
import { derivedId } from "../../kernel/ids.ts";
import type { MailOwner } from "../../kernel/liveOrTestOwner.ts";
import { canonicalJson, type JsonObject } from "../../kernel/text/json.ts";
import { rfc3339 } from "../../kernel/time.ts";
import type { AcceptedAs } from "./events.ts";
import type { Email } from "./state.ts";

/** The prefix of test mail's keys. No Idempotency-Key holds a line break, so live and test keys never collide. */
const TEST_KEY_PREFIX = "test\n";

/**
 * The id of the one message, or the one test message, that a workspace can have under an Idempotency-Key. It names the
 * message's stream, so only one of several racing requests can begin it.
 */
export function emailId({ workspaceId, isTest }: MailOwner, idempotencyKey: string): string {
  return derivedId(workspaceId, isTest ? TEST_KEY_PREFIX + idempotencyKey : idempotencyKey);
}

/**
 * Equal for requests with the same content (canonical JSON, RFC 8785). Without the key it reveals nothing about them.
 * `http/email/idempotentContent.ts` selects the members that count as content.
 */
export function requestFingerprint(
  keys: Pick<InstanceKeys, "fingerprint">,
  workspaceId: string,
  comparable: JsonObject,
): string {
  return keys.fingerprint(workspaceId, canonicalJson(comparable));
}

/** The receipt of an accepted message: the same for every repeat of its request. */
export interface Receipt {
  readonly id: string;
  readonly status: AcceptedAs;
  /** RFC 3339. */
  readonly acceptedAt: string;
}

/** What answers a repeat of an accepted request. */
export type Acceptance = Pick<Email, "fingerprint" | "acceptedAs" | "acceptedAt">;

/** The answer to a repeated key. `conflict`: the message `id` was accepted with different content. */
export type Replay =
  | { readonly kind: "accepted"; readonly receipt: Receipt; readonly replayed: true }
  | { readonly kind: "conflict"; readonly id: string };

/** Answers a request whose key was used before, from the message that was accepted then. */
export function replayOf(id: string, acceptance: Acceptance, fingerprint: string): Replay {
  if (acceptance.fingerprint !== fingerprint) return { kind: "conflict", id };
  const receipt = { id, status: acceptance.acceptedAs, acceptedAt: rfc3339(acceptance.acceptedAt) };
  return { kind: "accepted", receipt, replayed: true };
}
