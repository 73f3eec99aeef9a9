import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import { projections } from "../../../projections/index.ts";
import type { Projection } from "../../../projections/projection.ts";
import { AsOfError, type PastReadModel, withReadModelAsOf } from "../../readModels/asOf.ts";
import { fileOutput, type RowOutput, standardOutput } from "../output/jsonAndCsvRows.ts";
import {
  CommandFailure,
  type Invocation,
  type Operand,
  type Option,
  UsageError,
} from "../program/command.ts";
import { interruptible } from "../program/interruptible.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { parseTime } from "../program/timeArgument.ts";
import { readingProgressBar } from "./readingProgressBar.ts";

export type Format = "jsonl" | "csv";

export const OUT: Option = { name: "out", value: "<file>", help: "file to write (default: standard output)" };
export const FORMAT: Option = { name: "format", value: "<format>", help: "jsonl or csv (default: jsonl)" };
export const TIME_FORMS =
  "RFC 3339 such as 2027-01-01T00:00:00Z, a date (its first moment in UTC), or how long ago: 90m, 2h, 7d";
export const NAME: Operand = {
  name: "name",
  help: `which read model: ${projections.map(({ name }) => name).join(", ")}`,
};
const LEFT = "nothing is left behind";

export function parseTimeOperand(text: string, now: number): number {
  const at = parseTime(text, now);
  if (at !== null) return at;
  throw new UsageError(`${text} is no time: ${TIME_FORMS}`);
}

export function formatOf(invocation: Invocation): Format {
  const format = invocation.option("format") ?? "jsonl";
  if (format === "jsonl" || format === "csv") return format;
  throw new UsageError("--format takes jsonl or csv");
}

/** Where it is to be written; a usage error when that can't be, before a long reading has been in vain. */
export function outOf(invocation: Invocation): string | undefined {
  const out = invocation.option("out");
  if (out === undefined) return undefined;
  try {
    accessSync(dirname(out), constants.W_OK);
    return out;
  } catch (error) {
    throw new UsageError(`--out ${out} cannot be written: ${(error as { code?: string }).code}`);
  }
}

/** Opens an output, does the work, and leaves either all of it or nothing. */
export async function writeAllOrNothing<Result>(
  path: string | undefined,
  work: (output: RowOutput) => Promise<Result>,
): Promise<Result> {
  const output = path === undefined ? standardOutput() : await fileOutput(path);
  try {
    const result = await work(output);
    await output.end();
    return result;
  } catch (error) {
    await output.abandon();
    throw error;
  }
}

/** Builds the past and works with it; the exit status is 1 when an event can't be applied. */
export async function withReadModelsAsOf(
  invocation: Invocation,
  { projection, times }: { readonly projection: Projection; readonly times: readonly number[] },
  work: (pasts: readonly PastReadModel[], signal: AbortSignal) => Promise<void>,
): Promise<number> {
  const bar = readingProgressBar(times.length === 1 ? "as of" : "diff");
  return interruptible(LEFT, async (signal) => {
    try {
      await withLog(
        invocation.config,
        ({ deps: { store }, storage }) =>
          withReadModelAsOf(
            { ...storage, store, projection, onProgress: bar.show, signal },
            times,
            (pasts) => {
              bar.end();
              return work(pasts, signal);
            },
          ),
        { readOnly: true },
      );
      return 0;
    } catch (error) {
      // Whoever read our output has seen enough.
      if ((error as { code?: string }).code === "EPIPE") return 0;
      if (error instanceof AsOfError) throw new CommandFailure("unreadable_event", error.message);
      throw error;
    } finally {
      bar.end();
    }
  });
}
