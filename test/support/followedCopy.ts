import { join } from "node:path";
import { readFollowStatus } from "../../src/adapters/directory/followStatusFile.ts";
import { readBackupFacts } from "../../src/cli/backup/backupManifest.ts";
import type { CopyLock } from "../../src/cli/backup/copyLock.ts";
import { LogFollower } from "../../src/cli/backup/logFollower.ts";
import { MINUTE_MS } from "../../src/kernel/time.ts";
import type { Config } from "../../src/service/config/config.ts";

interface FollowedCopy {
  readonly dataDir: string;
  readonly copy: string;
  readonly lock: CopyLock;
}

/** A follower of a copy in this process, which goes on where another one has ended. */
export async function followerOf({ dataDir, copy, lock }: FollowedCopy): Promise<LogFollower> {
  const content = { kind: "directory", directory: join(dataDir, "content") };
  const config = { storeUrl: `file:${dataDir}`, content } as unknown as Config;
  const facts = await readBackupFacts(copy);
  const status = await readFollowStatus(copy);
  return new LogFollower({ config, directory: copy, facts, everyMs: MINUTE_MS, status, lock });
}
