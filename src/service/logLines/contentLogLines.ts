import type { Logger } from "pino";
import { SECOND_MS } from "../../kernel/time.ts";
import type { BreakerFault } from "../../reactors/circuitBreaker/circuitBreaker.ts";
import type { OutageReport } from "../../reactors/circuitBreaker/outageReports.ts";
import type { ContentSide } from "../../reactors/content/contentStoreHealth.ts";
import type { Config } from "../config/config.ts";
import type { ContentLocation } from "../config/contentStoreConfig.ts";
import { workerErrorLog } from "./workerErrorLog.ts";

/** What an operator checks when the content store gives out no files. */
export function contentSettings({ kind }: ContentLocation): string {
  switch (kind) {
    case "directory":
      return "CONTENT_URL, and whether the directory is mounted and belongs to this user";
    case "s3":
      return "CONTENT_URL and the S3_ settings";
  }
}

const LOST_CONTENT =
  "a message failed: the content store does not have its content or one of its files (docs/backups.md, Lost content)";

/** Logs each message that failed because its content is lost, up to a rate. */
export function lostContentLog(logger: Logger): (emailId: string) => void {
  const tell = workerErrorLog({ logger, text: LOST_CONTENT, idField: "emailId" });
  return (emailId) => tell("content_unavailable", emailId);
}

const DOES: Readonly<Record<ContentSide, string>> = { reads: "gives out", writes: "takes" };
const CONSEQUENCES: Readonly<Record<ContentSide, string>> = {
  reads: "Messages with files or long content wait and are retried",
  writes: "Uploads, and sends with files or long content, get 503",
};

/** Logs what an operator should know about the content store, as calls find it. */
export function contentLog(
  { content }: Config,
  logger: Logger,
): (side: ContentSide, report: OutageReport<BreakerFault>) => void {
  return (side, report) => {
    const does = DOES[side];
    const text = `the content store ${does} no files: check ${contentSettings(content)}. ${CONSEQUENCES[side]}`;
    if (report.kind === "began") {
      logger.warn({ reason: report.fault.reason }, text);
      return;
    }
    const facts = { forSeconds: Math.round(report.forMs / SECOND_MS), attempts: report.attempts };
    if (report.kind === "ended") logger.info(facts, `the content store ${does} files again`);
    else logger.warn({ ...facts, reason: report.fault.reason }, `still: ${text}`);
  };
}
