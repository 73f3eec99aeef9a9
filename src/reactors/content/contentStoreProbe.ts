import { messageOf } from "../../kernel/text/errorReason.ts";
import { type ContentStore, type ContentStoreError, DamagedContentError } from "../../ports/contentStore.ts";
import type { BreakerFault, BreakerPermit } from "../circuitBreaker/circuitBreaker.ts";

/** Permission to read the files and the content of one message from the content store. */
export type ContentPermit = BreakerPermit<BreakerFault>;

/** Reports a read that failed. Damage to one message's files says nothing about the store. */
export function reportContentFault(permit: ContentPermit, error: ContentStoreError): void {
  if (!(error instanceof DamagedContentError)) permit.fault({ reason: messageOf(error.cause ?? error) });
}

/** Reads the one small file that every content store has. */
export async function probeContentStore(content: ContentStore, permit: ContentPermit): Promise<void> {
  try {
    if ((await content.identity()) === null) permit.fault({ reason: "its `identity` is missing" });
    else permit.success();
  } catch (error) {
    permit.fault({ reason: messageOf(error instanceof Error ? (error.cause ?? error) : error) });
  }
}
