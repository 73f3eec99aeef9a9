import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CopyReader } from "../../adapters/sqlite/follow/copyReader.ts";
import { sqliteReadDatabases } from "../../adapters/sqlite/readModelDatabases.ts";
import { verifyLog } from "../../commands/audit/verify/verifyLog.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { counted } from "../../kernel/text/readableNumbers.ts";
import { fileCountText } from "../output/fileCountText.ts";
import { type Command, type Operand, refuse } from "../program/command.ts";
import { BACKUP_LOG, backupJson } from "./backupManifest.ts";
import { OLDER, withBackup } from "./openBackup.ts";

export const BACKUP_DIRECTORY: Operand = {
  name: "dir",
  help: "directory that `backup create` or `backup follow` made",
};

/**
 * Compares the log of a copy that is kept up to date with its own seals, because no list says what its bytes were, and
 * releases it: reading the content may take hours, and a follower need not wait for that.
 */
async function requireSealed(log: CopyReader, isAmidRound: boolean): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "postledger-verify-"));
  try {
    const { findings, shown } = await verifyLog({
      store: log.view(),
      databases: sqliteReadDatabases,
      temporaryPath: join(folder, "seals.db"),
      trusted: [],
      kept: null,
      signal: new AbortController().signal,
    });
    const [first] = shown;
    if (first === undefined) return log.release();
    const { stream, revision, object, detail } = first;
    const where = object ?? `${stream}@${revision}`;
    // The event that permits an erasure comes after what it erases.
    if (isAmidRound)
      refuse(
        `${BACKUP_LOG} was being brought up to date when that ended: ${where}: ${detail}; \`${POSTLEDGER} backup follow\` completes it`,
      );
    refuse(`${BACKUP_LOG} is not as it was sealed: ${where}: ${detail} (${counted(findings, "finding")})`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const backupVerify: Command = {
  name: "backup verify",
  operands: [BACKUP_DIRECTORY],
  summary: "Read every byte of a backup and compare it with what was written",
  description:
    "It needs no installation. A copy that `backup follow` made has no list of its files: its log is compared with its seals, each file of content with its name, and all that the log names has to be there. Exit status 1 when anything is missing or damaged.",
  dataDirectory: "unused",
  examples: ["postledger backup verify /backups/2026-11-21"],
  async run(invocation) {
    const { facts, files, bytes, faults, isOlder } = await withBackup(
      invocation.operand("dir"),
      async (backup) => backup,
      requireSealed,
    );
    if (isOlder) refuse(OLDER);
    const isIntact = faults.count === 0;
    invocation.print(
      { ...backupJson(facts), files, bytes, ...faults.json() },
      isIntact ? [`intact: ${fileCountText({ files, bytes })}, as of ${facts.createdAt}`] : faults.lines(),
    );
    return isIntact ? 0 : 1;
  },
};
