import type { Command as Parser } from "commander";
import { LineFileError } from "../../adapters/durableFiles/compressedLineFile.ts";
import { InstanceMismatchError } from "../../commands/instance/instanceMismatchError.ts";
import { FrozenLogError } from "../../commands/instance/openInstance.ts";
import { UnreadableEventError } from "../../kernel/event/eventCodec.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { DamagedLogError, StoreError } from "../../ports/eventStore.ts";
import { ReadDatabaseError } from "../../ports/readDatabase.ts";
import { readConfig } from "../../service/config/config.ts";
import { ConfigError } from "../../service/config/configError.ts";
import { placeFault } from "../../service/faults/startupErrors.ts";
import { DAMAGED_CATALOG_REMEDY } from "../../service/status/checks/log/readModelChecks.ts";
import { DAMAGED_LOG_REMEDY } from "../../service/status/logDamage.ts";
import { terminalText } from "../output/terminalText.ts";
import { type Command, CommandFailure, UsageError } from "./command.ts";
import { createProgram, invocationOf, ParseError, showHelp, usageLine } from "./commanderProgram.ts";
import { commandGroups } from "./commandGroups.ts";
import { requireDataDirectory } from "./dataDirectory.ts";
import { requireRegularFiles } from "./requireRegularFiles.ts";

/** A failure to report: to people in lines, to programs as one object. */
interface ReportedFailure {
  readonly status: 1 | 2;
  readonly code: string;
  readonly message: string;
  /** What to do, or how to call the command; none if the message says it all. */
  readonly hint?: string | null;
}

/** Runs one call of the command line and returns its exit status. */
export async function runCommandLine(words: readonly string[]): Promise<number> {
  const [flags] = splitAt(words, "--");
  let status = 0;
  let called: Parser | null = null;
  const act = async (command: Command, parser: Parser) => {
    called = parser;
    const invocation = invocationOf(command, parser, () =>
      readConfig(process.env, { needsRelay: command.needsRelay === true }),
    );
    const { dataDirectory = "needed" } = command;
    if (dataDirectory !== "unused") requireRegularFiles(invocation.config);
    if (dataDirectory === "needed") requireDataDirectory(invocation.config);
    status = (await command.run(invocation)) ?? 0;
  };
  const program = createProgram(commandGroups, act);
  try {
    const [asked, rest] = splitAt(flags, "--help", "-h");
    if (rest === null) await program.parseAsync([...words], { from: "user" });
    else
      await showHelp(
        program,
        asked.filter((word) => !word.startsWith("-")),
      );
    return status;
  } catch (error) {
    return report(error, { parser: called, isJson: flags.includes("--json") });
  }
}

/** The words before the first of the marks, and those after it; null if there is no mark. */
function splitAt(
  words: readonly string[],
  ...marks: readonly string[]
): readonly [readonly string[], readonly string[] | null] {
  const at = words.findIndex((word) => marks.includes(word));
  return at < 0 ? [words, null] : [words.slice(0, at), words.slice(at + 1)];
}

interface Call {
  /** The parser of the command that started; null if the words name none. */
  readonly parser: Parser | null;
  readonly isJson: boolean;
}

/** Reports an error on standard error, because standard output holds only results. */
function report(error: unknown, { parser, isJson }: Call): number {
  if (error instanceof ParseError && error.failure.exitCode === 0) return 0;
  const { status, code, message, hint = null } = failureOf(error, parser);
  const lines = message.split("\n").map((line) => `postledger: ${terminalText(line)}`);
  const told = isJson
    ? JSON.stringify({ error: { code, message, ...(hint === null ? {} : { hint }) } })
    : [...lines, ...(hint === null ? [] : [hint])].join("\n");
  process.stderr.write(`${told}\n`);
  return status;
}

/** An expected failure is reported in one line; anything else is a bug and keeps its stack. */
function failureOf(error: unknown, parser: Parser | null): ReportedFailure {
  const { message } = error as Error;
  if (error instanceof ParseError)
    return { status: 2, code: "wrong_usage", message, hint: hintOf(error.parser) };
  if (error instanceof UsageError)
    return { status: 2, code: "wrong_usage", message, hint: parser && usageLine(parser) };
  if (error instanceof CommandFailure) return { status: 1, code: error.code, message, hint: error.hint };
  const isInUse = (error as { code?: string }).code === "EADDRINUSE";
  if (isInUse || error instanceof ConfigError || error instanceof InstanceMismatchError)
    return { status: 2, code: "settings", message };
  const ofFiles = failureOfFiles(error);
  if (ofFiles !== null) return ofFiles;
  if (error instanceof UnreadableEventError) return { status: 1, code: "unreadable_event", message };
  return { status: 1, code: "unexpected", message: (error as Error).stack ?? String(error) };
}

/** A failure of files, the log or the read models; null for every other error. */
function failureOfFiles(error: unknown): ReportedFailure | null {
  const { message } = error as Error;
  if (error instanceof LineFileError) return { status: 1, code: "refused", message };
  if (error instanceof StoreError || error instanceof FrozenLogError) {
    const hint = error instanceof DamagedLogError ? `To do: ${DAMAGED_LOG_REMEDY}` : null;
    return { status: 1, code: "store", message, hint };
  }
  if (error instanceof ReadDatabaseError && error.failure !== "statement") {
    const hint = error.failure === "damaged" ? `To do: ${DAMAGED_CATALOG_REMEDY}` : null;
    return { status: 1, code: "read_models", message, hint };
  }
  const fault = placeFault(error);
  return fault === null ? null : { status: 1, code: "refused", message: fault };
}

/** What to do after a call that names no command or has wrong arguments. */
function hintOf(parser: Parser): string {
  if (parser.commands.length === 0) return usageLine(parser);
  if (parser.parent === null) return `\`${POSTLEDGER} help\` lists the commands.`;
  const names = parser.commands.map((one) => one.name()).join(", ");
  return `Its commands: ${names}. \`${POSTLEDGER} help ${parser.name()}\` says more.`;
}
