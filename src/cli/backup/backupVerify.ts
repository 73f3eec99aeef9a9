import { fileCountText } from "../output/fileCountText.ts";
import { progressBar } from "../output/progressBar.ts";
import type { Command, Operand } from "../program/command.ts";
import { backupJson, checkBackup } from "./backupManifest.ts";

export const BACKUP_DIRECTORY: Operand = { name: "dir", help: "directory that `backup create` made" };

export const backupVerify: Command = {
  name: "backup verify",
  operands: [BACKUP_DIRECTORY],
  summary: "Read every byte of a backup and compare it with what was written",
  description: "It needs no installation. Exit status 1 when anything is missing or damaged.",
  dataDirectory: "unused",
  examples: ["postledger backup verify /backups/2026-11-21"],
  async run(invocation) {
    const from = invocation.operand("dir");
    const bar = progressBar("checking");
    const checking = checkBackup(from, (checked) => bar.show(0, fileCountText(checked)));
    const { facts, files, bytes } = await checking.finally(bar.end);
    invocation.print({ ...backupJson(facts), files, bytes }, [
      `intact: ${fileCountText({ files, bytes })}, as of ${facts.createdAt}`,
    ]);
  },
};
