import { auditCommands } from "./cli/auditCommands.ts";
import { backupCreate } from "./cli/backupCreate.ts";
import { restoreCommands } from "./cli/backupRestore.ts";
import { type Command, invoke, UsageError } from "./cli/command.ts";
import { erasureCommands } from "./cli/erasureCommands.ts";
import { logCommands } from "./cli/logCommands.ts";
import { operationCommands } from "./cli/operationCommands.ts";
import { projectionCommands } from "./cli/projectionCommands.ts";
import { resumeCommands } from "./cli/resumeCommand.ts";
import { serve } from "./cli/serve.ts";
import { workspaceCommands } from "./cli/workspaceCommands.ts";
import { workspaceControls } from "./cli/workspaceControls.ts";
import { InstanceMismatchError } from "./commands/openInstance.ts";
import { ConfigError, readConfig } from "./config.ts";
import { UnreadableEventError } from "./kernel/codec.ts";
import { StoreError } from "./ports/eventStore.ts";

const serveCommand: Command = {
  name: "serve",
  summary: "Run the service until SIGTERM",
  async run({ config }) {
    await serve(config);
    return 0;
  },
};

const commands: readonly Command[] = [
  serveCommand,
  ...workspaceCommands,
  ...workspaceControls,
  ...projectionCommands,
  ...auditCommands,
  ...erasureCommands,
  ...resumeCommands,
  ...logCommands,
  backupCreate,
  ...restoreCommands,
  ...operationCommands,
];

function usage(): string {
  const lines = commands.flatMap(({ name, operands = "", summary, options = [] }) => [
    `  ${`${name} ${operands}`.trim().padEnd(32)}${summary}`,
    ...options.map((option) => `      --${option.name} ${option.value ?? ""}`.padEnd(34) + option.help),
  ]);
  return [
    "usage: postledger <command> [--json]",
    "",
    ...lines,
    "",
    "Settings come from the environment: see the README.",
    "",
  ].join("\n");
}

/** The command that the first one or two words name, and the words behind it. */
function find(words: readonly string[]): { readonly command: Command; readonly rest: readonly string[] } {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(" ");
    const command = commands.find((one) => one.name === name);
    if (command) return { command, rest: words.slice(length) };
  }
  throw new UsageError(
    words.length === 0 ? "a command is required" : `there is no command ${words.slice(0, 2).join(" ")}`,
  );
}

async function main(words: readonly string[]): Promise<number> {
  // Everything that we write holds mail or keys: nobody else on the machine is to read it.
  process.umask(0o077);
  if (words[0] === "help" || words[0] === "--help" || words[0] === "-h") {
    process.stdout.write(usage());
    return 0;
  }
  try {
    const { command, rest } = find(words);
    return await command.run(invoke(command, rest, readConfig(process.env)));
  } catch (error) {
    return report(error);
  }
}

/** Expected trouble is told in a line; anything else is a bug and keeps its stack. */
function report(error: unknown): number {
  if (error instanceof UsageError) {
    process.stderr.write(`postledger: ${error.message}\n\n${usage()}`);
    return 2;
  }
  const expected =
    error instanceof ConfigError ||
    error instanceof InstanceMismatchError ||
    error instanceof StoreError ||
    error instanceof UnreadableEventError ||
    (error as { code?: string }).code === "EADDRINUSE";
  const told = expected ? (error as Error).message : ((error as Error).stack ?? String(error));
  process.stderr.write(
    `${told
      .split("\n")
      .map((line) => `postledger: ${line}`)
      .join("\n")}\n`,
  );
  return expected ? 2 : 1;
}

process.exit(await main(process.argv.slice(2)));
