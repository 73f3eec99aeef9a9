import { addSuppression } from "../../commands/suppression/addOrRemoveSuppression.ts";
import { readSuppression } from "../../commands/suppression/readSuppression.ts";
import { readAtMost } from "../../kernel/byteBuffer.ts";
import { forEachConcurrently } from "../../kernel/concurrency/forEachConcurrently.ts";
import { bytesText, counted, grouped } from "../../kernel/text/readableNumbers.ts";
import { type Command, CommandFailure, type Option, refuse } from "../program/command.ts";
import { openInputFile, refuseUnreadable } from "../program/inputFile.ts";
import { inWorkspace, WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";
import { type ImportedAddresses, importedAddresses } from "./importedAddresses.ts";
import { NOTE_OPTION, noteOf } from "./suppressionArguments.ts";

/** Enough for two million addresses. The file is held in memory, and its addresses take several times its size. */
const FILE_BYTES_MAX = 67_108_864;
/** Concurrent calls, whose writes the log flushes to disk together. */
const CALLS_AT_ONCE = 64;

const SKIP_INVALID: Option = {
  name: "skip-invalid",
  value: null,
  help: "skip entries that are not addresses (default: with one of them, nothing is imported)",
};

const DRY_RUN: Option = {
  name: "dry-run",
  value: null,
  help: "check the file and count what an import would add, without adding it (default: add it)",
};

export const suppressionImport: Command = {
  name: "suppression import",
  operands: [{ name: "file", help: "the addresses; -: standard input" }],
  summary: "Suppress the addresses of a file, such as another service's list",
  description:
    "One address per line; CSV with a column email, address or recipient; or JSON with a list of addresses or of " +
    "objects that have one. What the file says as reason or note becomes the reason (bounce, complaint, else manual) " +
    "and the note. Entries that say unsubscribed=false or Inactive=false are skipped. Addresses that are suppressed " +
    "already stay as they are, so an import can be repeated.",
  options: [WORKSPACE_OPTION, NOTE_OPTION, SKIP_INVALID, DRY_RUN],
  examples: [
    "postledger suppression import list.csv --note 'from Postmark'",
    "postledger suppression import list.csv --dry-run",
    "postledger suppression import - < suppressions.json",
  ],
  async run(invocation) {
    const note = noteOf(invocation);
    const read = importedAddresses(await contentOf(invocation.operand("file")));
    if (read === null) {
      refuse(
        "cannot tell where the addresses are: give one per line, CSV whose first line names a column email, or a JSON list",
      );
    }
    const isLenient = invocation.option(SKIP_INVALID.name) !== undefined;
    if (read.invalid > 0 && !isLenient) throw faulty(read);
    const isDryRun = invocation.option(DRY_RUN.name) !== undefined;
    const added = await inWorkspace(
      invocation,
      (deps, context) =>
        forEachConcurrently(read.addresses, CALLS_AT_ONCE, async ({ address, reason, note: own }) => {
          if (isDryRun) return (await readSuppression(deps, context.workspaceId, address)) === null;
          return (await addSuppression(deps, { address, reason, note: own ?? note }, context)).isNew;
        }),
      { writes: !isDryRun },
    );
    const alreadySuppressed = read.addresses.length - added;
    const withoutAddress = read.erased + read.invalid;
    const skipped = read.notSuppressed.values().reduce((sum, count) => sum + count, withoutAddress);
    const told = { added, already_suppressed: alreadySuppressed, skipped };
    invocation.print(isDryRun ? { dry_run: true, ...told } : told, [
      ...(isDryRun ? ["nothing was imported; without --dry-run:"] : []),
      `${counted(added, "address", "addresses")} added, ${grouped(alreadySuppressed)} already suppressed`,
      ...[...read.notSuppressed].map(([said, count]) => `${entries(count)} with ${said} skipped`),
      ...(withoutAddress === 0 ? [] : [`${entries(withoutAddress)} without an address skipped`]),
    ]);
  },
};

function entries(count: number): string {
  return counted(count, "entry", "entries");
}

async function contentOf(file: string): Promise<string> {
  const input = openInputFile(file);
  // The length of a pipe is unknown beforehand.
  const bytes = await readAtMost(FILE_BYTES_MAX, input.stream).catch((error: NodeJS.ErrnoException) =>
    refuseUnreadable(input, error),
  );
  if (bytes !== null) return new TextDecoder(encodingOf(bytes)).decode(bytes);
  return refuse(`${input.name} has more than ${bytesText(FILE_BYTES_MAX)}: split it`);
}

/** By the byte order mark: spreadsheets write "Unicode text" as UTF-16. */
function encodingOf([first, second]: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

function faulty({ faults, invalid }: ImportedAddresses): CommandFailure {
  const more = invalid - faults.length;
  const lines = [
    "nothing was imported:",
    ...faults.map((fault) => `  ${fault}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
  return new CommandFailure("refused", lines.join("\n"), `--${SKIP_INVALID.name} imports the others`);
}
