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
import type { RememberedServiceId } from "../../ports/rememberedServiceId.ts";

/** Where the id is kept, and what shows whether it is still about the service that had the lock. */
export interface ServiceIdPlace {
  readonly path: string;
  /** Of the file that a service on this data directory holds a lock on, as the caller does. */
  readonly lockPath: string;
  /** Names the run of the machine since it was started; null: not known. */
  readonly bootId?: () => string | null;
}

/** Made by Linux at each start of the machine (proc(5)); containers share that of their host. */
const BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id";

function systemBootId(): string | null {
  try {
    return readFileSync(BOOT_ID_FILE, "utf8").trim() || null;
  } catch {
    // Another system: nobody knows whether it is the same machine.
    return null;
  }
}

/** A file on its file system: a copy of it is another one. */
function identityOf({ dev, ino, birthtimeNs }: { dev: bigint; ino: bigint; birthtimeNs: bigint }): string {
  return `${dev} ${ino} ${birthtimeNs}`;
}

/**
 * Remembers the service's id in a file that also says which file it is, on which run of which machine, and which file
 * was locked. Where all of that is as it was, whoever holds the lock knows that the one before has ended. It is not in
 * a copy of the data directory, be it a snapshot of the volume on another machine, nor where the locked file was taken
 * away: there the one before may well run, and its leases count.
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
        // Not there, or not whole: then the service is not in the log's register either, or waits there in vain.
        return null;
      }
    },
    remember(serviceId) {
      const file = openSync(path, "w", 0o600);
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
