import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { nullIfMissing, writeDurably } from "../../adapters/directory/durableFile.ts";
import { outboxErasure } from "../../adapters/nodemailer/outboxErasure.ts";
import type { OutboxErasure } from "../../ports/mail/outboxErasure.ts";
import type { Config } from "../config/config.ts";
import { outboxDirectory } from "./openMailTransport.ts";

/** The file in the data directory that lists the outboxes elsewhere: absolute paths, one a line. */
const OUTBOXES_FILE = "outboxes";

/**
 * Erases mail that this instance's outbox transports wrote, also under earlier settings: an outbox is on the list before
 * the first mail is written there. Throws when the list cannot be read or written.
 */
export async function openOutboxErasure({
  dataDir,
  mailRoute,
}: Pick<Config, "dataDir" | "mailRoute">): Promise<OutboxErasure> {
  const own = resolve(outboxDirectory({ dataDir }, { kind: "outbox", directory: null }));
  const list = join(dataDir, OUTBOXES_FILE);
  const text = (await readFile(list, "utf8").catch(nullIfMissing)) ?? "";
  const known = [own, ...text.split("\n").filter((line) => line !== "")];
  if (mailRoute.kind !== "outbox") return outboxErasure(known);
  const current = resolve(outboxDirectory({ dataDir }, mailRoute));
  if (known.includes(current)) return outboxErasure(known);
  await writeDurably(list, Buffer.from(`${text}${current}\n`));
  return outboxErasure([...known, current]);
}
