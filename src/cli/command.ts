import { parseArgs } from "node:util";
import type { Config } from "../config.ts";

/** One option of a command: `--name value`, or `--name` alone where it is a flag. */
export interface Option {
  readonly name: string;
  readonly value: string | null;
  readonly help: string;
}

/** What a command works with. */
export interface Invocation {
  readonly config: Config;
  readonly args: readonly string[];
  /** The option's value; undefined when it was not given. */
  option(name: string): string | undefined;
  /** The option's value; a usage error when it was not given. */
  required(name: string): string;
  readonly json: boolean;
  /** Writes the result: one JSON value with `--json`, else the lines for people. */
  print(value: unknown, lines: readonly string[]): void;
}

export interface Command {
  /** `noun verb`. */
  readonly name: string;
  /** What stands behind the name: `<address>`. */
  readonly operands?: string;
  readonly summary: string;
  readonly options?: readonly Option[];
  /** Answers the exit status: 0 well, 1 something was found or refused. */
  run(invocation: Invocation): Promise<number>;
}

/** The call's words are off. Exit status 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Ends a command that does not do what it was asked, for a reason that its caller can do something about. */
export function refused({ print }: Invocation, reason: string): number {
  print({ error: reason }, [reason]);
  return 1;
}

/** Finds the command that the words name, and reads its options. */
export function invoke(command: Command, words: readonly string[], config: Config): Invocation {
  const options = Object.fromEntries([
    ["json", { type: "boolean" as const }],
    ...(command.options ?? []).map(({ name, value }) => [
      name,
      { type: value === null ? ("boolean" as const) : ("string" as const) },
    ]),
  ]);
  const { values, positionals } = parse(words, options);
  const option = (name: string) => {
    const value = values[name];
    return value === undefined ? undefined : String(value);
  };
  const json = values.json === true;
  return {
    config,
    args: positionals,
    option,
    required(name) {
      const value = option(name);
      if (value === undefined) throw new UsageError(`--${name} is required`);
      return value;
    },
    json,
    print(value, lines) {
      process.stdout.write(json ? `${JSON.stringify(value)}\n` : lines.map((line) => `${line}\n`).join(""));
    },
  };
}

function parse(words: readonly string[], options: Record<string, { type: "string" | "boolean" }>) {
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
