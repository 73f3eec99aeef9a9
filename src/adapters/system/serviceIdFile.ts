import {
  type BigIntStats,
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { FILE_MODE } from "../../kernel/fileModes.ts";
import type { RememberedServiceId } from "../../ports/rememberedServiceId.ts";

/** Where the id is kept, and what proves that it still belongs to the service that held the lock. */
interface ServiceIdPlace {
  readonly path: string;
  /** The path of the file that a service on this data directory locks, as the caller does. */
  readonly lockPath: string;
  /** Identifies the machine's current boot; null if unknown. */
  readonly bootId?: () => string | null;
}

/** Linux makes a new id at each boot (proc(5)); containers share that of their host. */
const BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id";

function systemBootId(): string | null {
  try {
    return readFileSync(BOOT_ID_FILE, "utf8").trim() || null;
  } catch {
    // On other systems nobody can tell whether it is the same boot.
    return null;
  }
}

/** Identifies a file on its file system; a copy has another identity. */
function identityOf({ dev, ino, birthtimeNs }: { dev: bigint; ino: bigint; birthtimeNs: bigint }): string {
  return `${dev} ${ino} ${birthtimeNs}`;
}

/**
 * Remembers the service's id in a file that also records the identities of itself and of the locked file, and the
 * boot. If all of these still match, the holder of the lock knows that the previous service has ended. They do not
 * match in a copy of the data directory (such as a volume snapshot on another machine), or after the locked file was
 * removed. There the previous service may still run, and its leases count.
 */
export function serviceIdFile({
  path,
  lockPath,
  bootId = systemBootId,
}: ServiceIdPlace): RememberedServiceId {
  const proof = (file: BigIntStats) => ({
    file: identityOf(file),
    lock: identityOf(statSync(lockPath, { bigint: true })),
    boot: bootId(),
  });
  return {
    previous() {
      try {
        const { serviceId, file, lock, boot } = JSON.parse(readFileSync(path, "utf8")) as Record<
          string,
          unknown
        >;
        const own = proof(statSync(path, { bigint: true }));
        const isProven = own.boot !== null && file === own.file && lock === own.lock && boot === own.boot;
        return isProven && typeof serviceId === "string" ? serviceId : null;
      } catch {
        // The file is missing or incomplete. Then the log's register lacks the service too, or its entry stays there.
        return null;
      }
    },
    remember(serviceId) {
      const file = openSync(path, "w", FILE_MODE);
      try {
        writeSync(file, JSON.stringify({ serviceId, ...proof(fstatSync(file, { bigint: true })) }));
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    },
    forget: () => rmSync(path, { force: true }),
  };
}
