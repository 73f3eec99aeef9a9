import { PartlyAcceptedError } from "../../commands/email/send/sendToAll.ts";
import { ChangeRateError } from "../../commands/resourceChangeRateLimit.ts";
import { DiskFullError } from "../../commands/storage/diskFullError.ts";
import { StreamBusyError } from "../../commands/streamWriteQueue.ts";
import { TemplateRateError } from "../../commands/template/templateAllowances.ts";
import { AbandonedError } from "../../commands/template/templateScheduler.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { ContentStoreError } from "../../ports/contentStore.ts";
import { StoreError } from "../../ports/eventStore.ts";
import { ScannerError } from "../../ports/malwareScanner.ts";
import { ReadDatabaseError } from "../../ports/readDatabase.ts";
import { Problem, tooManyRequests, unavailable } from "./problem.ts";

/** The problem that a caller gets for an error; null for a bug, whose details stay inside. */
export function problemOf(error: unknown): Problem | null {
  if (error instanceof Problem) return error;
  if (error instanceof AbandonedError) return unavailable(error.message);
  if (error instanceof ChangeRateError || error instanceof TemplateRateError)
    return tooManyRequests(Math.ceil(error.retryAfterMs / SECOND_MS), error.message);
  if (error instanceof StreamBusyError)
    return unavailable("too many requests change the same resource at once; try again");
  if (error instanceof PartlyAcceptedError) {
    const { accepted, all } = error;
    return unavailable(`${accepted} of ${all} recipients were accepted; send the same mail again`);
  }
  if (error instanceof DiskFullError)
    return unavailable("the service is short of disk space; try again later");
  if (error instanceof ScannerError)
    return unavailable("the malware scanner gives no verdict on an attachment; try again later");
  if (error instanceof ContentStoreError)
    return unavailable("the content store is not available; try again later");
  if (error instanceof StoreError && error.failure !== "tooLarge")
    return unavailable("the store cannot be reached; try again");
  if (error instanceof ReadDatabaseError && error.failure !== "statement")
    return unavailable("the read model is not ready yet; try again");
  return null;
}
