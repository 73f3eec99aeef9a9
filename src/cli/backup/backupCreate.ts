import { existsSync } from "node:fs";
import { join } from "node:path";
import { dataLocationLine } from "../output/dataLocation.ts";
import { requireNewPath } from "../output/requireNewPath.ts";
import { type Command, refuse } from "../program/command.ts";
import { BACKUP_KEY, backupJson } from "./backupManifest.ts";
import { madeBackupLines, makeBackup, requireEmbedded } from "./makeBackup.ts";

export const backupCreate: Command = {
  name: "backup create",
  summary: "Copy the embedded log and its content to a directory",
  description:
    "Also beside a running service. It holds a consistent copy of the log and then of the content directory; content on S3 is not in it: back up the bucket. Exit status 1 when a file of content was damaged before it was copied.",
  options: [
    { name: "out", value: "<dir>", help: "directory to make; it must not exist yet", isRequired: true },
    {
      name: "with-key",
      value: null,
      help: "also copy DATA_DIR/master.key, without which the service does not start on a copy; whoever has both can act as the service (default: it is left out)",
    },
  ],
  examples: [
    "postledger backup create --out /backups/2026-11-21",
    "postledger backup create --out /backups/2026-11-21 --with-key # Keep it as safe as the service itself",
  ],
  async run(invocation) {
    const { config } = invocation;
    requireEmbedded(config);
    const out = invocation.required("out");
    const withKey = invocation.option("with-key") !== undefined;
    requireNewPath(out);
    if (withKey && !existsSync(join(config.dataDir, BACKUP_KEY))) {
      refuse("there is no master.key in DATA_DIR: the log's key comes from MASTER_KEY; keep it by itself");
    }
    const made = await makeBackup(config, { out, withKey, following: false });
    const { contentStoreId, sealed, content, files, bytes, damaged } = made;
    const copied = { content_store_id: contentStoreId, sealed, content, files, bytes, damaged };
    invocation.print({ out, data_dir: config.dataDir, with_key: withKey, ...backupJson(made), ...copied }, [
      dataLocationLine(config),
      ...madeBackupLines(out, made, withKey),
    ]);
    return damaged > 0 ? 1 : 0;
  },
};
