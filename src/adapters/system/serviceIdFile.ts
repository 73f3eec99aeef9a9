import {
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

/** A file on its file system: a copy of it is another one. */
interface FileIdentity {
  readonly inode: string;
  readonly madeAt: string;
}

function identityOf({ ino, birthtimeNs }: { ino: bigint; birthtimeNs: bigint }): FileIdentity {
  return { inode: String(ino), madeAt: String(birthtimeNs) };
}

/**
 * Remembers the service's id in a file that also says which file it is. A copy of the data directory has another one,
 * so nobody takes the service for dead that runs on the original.
 */
export function serviceIdFile(path: string): RememberedServiceId {
  return {
    previous() {
      try {
        const { serviceId, inode, madeAt } = JSON.parse(readFileSync(path, "utf8")) as Record<
          string,
          unknown
        >;
        const own = identityOf(statSync(path, { bigint: true }));
        return typeof serviceId === "string" && inode === own.inode && madeAt === own.madeAt
          ? serviceId
          : null;
      } catch {
        // Not there, or not whole: then the service is not in the log's register either, or waits there in vain.
        return null;
      }
    },
    remember(serviceId) {
      const file = openSync(path, "w", 0o600);
      try {
        writeSync(file, JSON.stringify({ serviceId, ...identityOf(fstatSync(file, { bigint: true })) }));
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    },
    forget: () => rmSync(path, { force: true }),
  };
}
