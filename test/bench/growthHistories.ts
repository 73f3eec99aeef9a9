import { toNewEvents } from "../../src/commands/transact.ts";
import type { EmailContent } from "../../src/domain/email/events.ts";
import { emailId } from "../../src/domain/email/idempotency.ts";
import type { DomainEvent } from "../../src/kernel/event/decider.ts";
import { newId } from "../../src/kernel/ids.ts";
import { HOUR_MS, rfc3339 } from "../../src/kernel/time.ts";
import type { NewEvent } from "../../src/ports/eventStore.ts";
import { mailBody } from "./mail.ts";

/** Who writes the messages of a grown log, and with what. */
export interface GrowthWorkspace {
  readonly workspaceId: string;
  readonly senderIds: readonly string[];
  readonly templateIds: readonly string[];
}

/** One message from its acceptance to its end, as it stands in its stream. */
export interface MessageHistory {
  readonly id: string;
  readonly events: readonly NewEvent[];
  /** The recipient, when it bounced for good. */
  readonly suppressed: { readonly hash: string; readonly address: string } | null;
}

/** The log is as long as so much time: what is older than its retention would be erased while it is measured. */
const LOG_HOURS = 7 * 24;
const DOMAINS = ["example.com", "example.net", "example.org", "mail.example.com", "post.example.net"];
const DIFFERENT_CONTENTS = 512;
const TRANSPORT = "smtp://relay.example.com";
const WORKER = "growth:1";
const LEASE_MS = 120_000;

/** How messages end, in thousandths; the rest is sent at the first attempt. */
const SHARES = { deferred: 30, bounced: 20, failed: 3, suppressed: 5, canceled: 2, byTemplate: 200 };

function digest(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}

function claim(attempt: number): DomainEvent {
  const data = { attempt, worker: WORKER, leaseMs: LEASE_MS, transport: TRANSPORT };
  return { type: "EmailDeliveryStarted", data };
}

function sent(attempt: number): DomainEvent {
  return {
    type: "EmailSent",
    data: { attempt, transport: TRANSPORT, reply: "250 2.0.0 Ok: queued as 4D5E6F" },
  };
}

function deferred(at: number): DomainEvent {
  const facts = { attemptBurnt: true, ambiguous: false, code: 451, reply: "451 4.7.1 Try again later" };
  return {
    type: "EmailDeferred",
    data: { attempt: 1, reason: "greylisted", ...facts, nextAttemptAt: rfc3339(at) },
  };
}

function refused(type: "EmailBounced" | "EmailFailed", domain: string): DomainEvent {
  const facts = {
    attempt: 1,
    reason: type === "EmailBounced" ? "mailbox_unknown" : "relay_refused",
    code: 550,
  };
  const reply = "550 5.1.1 <recipient> unknown";
  return {
    type,
    data: type === "EmailBounced" ? { ...facts, reply, recipientDomain: domain } : { ...facts, reply },
  };
}

/** What happens after acceptance. `share` is in [0, 1000). */
function rest(share: number, domain: string, at: number): readonly DomainEvent[] {
  const below = (names: readonly (keyof typeof SHARES)[]) =>
    share < names.reduce((sum, name) => sum + SHARES[name], 0);
  if (below(["suppressed"])) return [];
  if (below(["suppressed", "canceled"])) return [{ type: "EmailCanceled", data: {} }];
  if (below(["suppressed", "canceled", "failed"])) return [claim(1), refused("EmailFailed", domain)];
  if (below(["suppressed", "canceled", "failed", "bounced"]))
    return [claim(1), refused("EmailBounced", domain)];
  if (below(["suppressed", "canceled", "failed", "bounced", "deferred"])) {
    return [claim(1), deferred(at), claim(2), sent(2)];
  }
  return [claim(1), sent(1)];
}

/** Makes the stories of a log of `total` messages: the same numbers give the same ids and the same endings. */
export function historyMaker(workspace: GrowthWorkspace, total: number, random: () => number) {
  const { workspaceId, senderIds, templateIds } = workspace;
  const contents = Array.from({ length: DIFFERENT_CONTENTS }, () => mailBody(random));
  const startedAt = Date.now() - LOG_HOURS * HOUR_MS;
  return (number: number): MessageHistory => {
    const id = growthEmailId(workspaceId, number);
    const at = startedAt + Math.floor((number / total) * (LOG_HOURS - 1) * HOUR_MS);
    const domain = DOMAINS[number % DOMAINS.length] as string;
    const address = `reader-${number}@${domain}`;
    const share = random() * 1_000;
    const content: EmailContent = { ...(contents[number % DIFFERENT_CONTENTS] as EmailContent), to: address };
    const later = rest(share, domain, at + HOUR_MS / 2);
    const accepted = {
      workspaceId,
      senderId: senderIds[number % senderIds.length],
      recipientHash: digest(address),
      fingerprint: digest(id),
      acceptedAt: rfc3339(at),
      contentEventId: newId(),
      contentDigest: digest(`${id} content`),
      contentBytes: 2_200,
      ...(random() * 1_000 < SHARES.byTemplate
        ? { templateId: templateIds[number % templateIds.length], templateVersionId: newId() }
        : {}),
    };
    const context = { correlationId: "0123456789abcdefghij", workspaceId };
    const isSuppressed = later.length === 0;
    const acceptance: DomainEvent = isSuppressed
      ? { type: "EmailSuppressed", data: { ...accepted, reason: "recipient_suppressed" } }
      : { type: "EmailQueued", data: accepted };
    const [stored, queued] = toNewEvents(
      [{ type: "EmailContentStored", data: { salt: newId(), content } }, acceptance],
      { ...context, at, actor: "api-key:0123456789ab" },
    ) as [NewEvent, NewEvent];
    const delivered = toNewEvents(later, { ...context, at: at + 400, actor: `worker:${WORKER}` });
    const bounced = later.some(({ type }) => type === "EmailBounced");
    return {
      id,
      events: [{ ...stored, id: accepted.contentEventId }, queued, ...delivered],
      suppressed: bounced ? { hash: accepted.recipientHash, address } : null,
    };
  };
}

/** The id of the message of that number. */
export function growthEmailId(workspaceId: string, number: number): string {
  return emailId({ workspaceId, isTest: false }, `growth-${number}`);
}
