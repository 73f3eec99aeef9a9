import { statSync } from "node:fs";
import type { Logger } from "pino";
import type { TlsFiles } from "../../adapters/smtpServer/tlsOptions.ts";
import { systemClock } from "../../adapters/system/systemClock.ts";
import { reasonOf } from "../../kernel/text/errorReason.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import { type ConfiguredTls, loadTlsFiles } from "../config/mail/tlsFiles.ts";

/** How often the files are looked at, at most: a look is two calls of `stat`. */
const LOOK_INTERVAL_MS_MIN = SECOND_MS;

/**
 * Call it for each new connection: it returns the pair in the files if that was renewed since, else null. A pair that
 * cannot be used is skipped, with one warning until there is a usable one.
 */
export function renewedTlsFiles(
  files: ConfiguredTls,
  logger: Pick<Logger, "info" | "warn">,
  clock: Pick<Clock, "monotonicMs"> = systemClock,
): () => TlsFiles | null {
  const paths = { certificate: files.certFile, key: files.keyFile };
  let current: TlsFiles = files;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let lastSeen = "";
  let isWarned = false;
  return () => {
    const now = clock.monotonicMs();
    if (now - lookedAt < LOOK_INTERVAL_MS_MIN) return null;
    lookedAt = now;
    const seen = `${versionOf(files.certFile)} ${versionOf(files.keyFile)}`;
    if (seen === lastSeen) return null;
    lastSeen = seen;
    try {
      const found = loadTlsFiles(files);
      isWarned = false;
      if (found.cert === current.cert && found.key === current.key) return null;
      current = found;
      logger.info(paths, "a renewed certificate is in use from now on");
      return found;
    } catch (error) {
      const reason = reasonOf(error);
      if (!isWarned)
        logger.warn({ ...paths, reason }, "a renewed certificate cannot be used; the old one stays");
      isWarned = true;
      return null;
    }
  };
}

/** Changes when the file is written or replaced. */
function versionOf(path: string): string {
  try {
    const { ino, size, mtimeNs } = statSync(path, { bigint: true });
    return `${ino}/${size}/${mtimeNs}`;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
