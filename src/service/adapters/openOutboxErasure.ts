import { opendir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Logger } from "pino";
import { nullIfMissing, writeDurably } from "../../adapters/durableFiles/durableFile.ts";
import { outboxErasure } from "../../adapters/nodemailer/outboxErasure.ts";
import { reasonOf } from "../../kernel/text/errorReason.ts";
import type { OutboxErasure } from "../../ports/mail/outboxErasure.ts";
import type { Config } from "../config/config.ts";
import { outboxDirectory } from "./openMailTransport.ts";

/** The file in the data directory that lists the outboxes elsewhere: absolute paths, one a line. */
const LIST_FILE = "outbox-directories";

/**
 * Erases mail that this instance's outbox transports wrote, also under earlier settings: an outbox is on the list before
 * the first mail is written there. Throws when the list cannot be read or written.
 */
export async function openOutboxErasure(
  { dataDir, mailRoute }: Pick<Config, "dataDir" | "mailRoute">,
  logger: Pick<Logger, "warn">,
): Promise<OutboxErasure> {
  const own = resolve(outboxDirectory({ dataDir }, { kind: "outbox", directory: null }));
  const current = mailRoute.kind === "outbox" ? resolve(outboxDirectory({ dataDir }, mailRoute)) : own;
  const list = join(dataDir, LIST_FILE);
  const text = (await readFile(list, "utf8").catch(nullIfMissing)) ?? "";
  const listed = text.split("\n").filter((line) => line !== "");
  const earlier = listed.filter((directory) => directory !== current);
  for (const directory of earlier) {
    try {
      // Not listed: it may hold a million files.
      await (await opendir(directory)).close();
    } catch (error) {
      logger.warn(
        { directory, reason: reasonOf(error) },
        "an outbox of earlier settings cannot be used: erasures do not reach the mail there",
      );
    }
  }
  if (current !== own && !listed.includes(current)) {
    await writeDurably(list, Buffer.from(`${text}${current}\n`));
  }
  return outboxErasure([...new Set([own, current])], earlier);
}
