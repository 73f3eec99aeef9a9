import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Principal } from "../commands/apiKey/authenticate.ts";
import { MINUTE_MS } from "../kernel/time.ts";

/** What makes two mails the same one, sent again. */
interface SubmittedMail {
  readonly principal: Pick<Principal, "workspaceId" | "isTest">;
  readonly recipients: readonly string[];
  readonly bytes: Uint8Array;
}

/** A program repeats a mail within minutes. Later, the same words are another mail. */
const REMEMBERED_MS = 15 * MINUTE_MS;
const MAILS_MAX = 10_000;

/**
 * The mails that were last answered with 4xx, by the digest of all that is in them. Some of their recipients may have been
 * accepted, and the repeat of a mail without a key or Message-ID is recognised by nothing else. It forgets a mail as soon
 * as that comes again, so a mail that was accepted is never taken for an earlier one.
 */
export class TempfailedMails {
  private readonly ownKeys = new LRUCache<string, string>({
    max: MAILS_MAX,
    ttl: REMEMBERED_MS,
    ttlAutopurge: true,
  });

  /** The key of the mail that this one repeats, or a new one. Equal mails at the same time get different ones. */
  ownKeyOf(mail: SubmittedMail): string {
    // Most of the time there is none, and hashing a large mail holds up others.
    if (this.ownKeys.size === 0) return crypto.randomUUID();
    const digest = digestOf(mail);
    const ownKey = this.ownKeys.get(digest);
    this.ownKeys.delete(digest);
    return ownKey ?? crypto.randomUUID();
  }

  add(mail: SubmittedMail, ownKey: string): void {
    this.ownKeys.set(digestOf(mail), ownKey);
  }
}

function digestOf({ principal: { workspaceId, isTest }, recipients, bytes }: SubmittedMail): string {
  const envelope = JSON.stringify([workspaceId, isTest, recipients]);
  return createHash("sha256").update(envelope).update("\n").update(bytes).digest("hex");
}
