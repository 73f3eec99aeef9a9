import type { Config } from "../../service/config/config.ts";
import type { ColouredLine } from "../output/terminalText.ts";

/** The placeholder of an option that takes a list separated by commas, and may be given several times. */
export const LIST_VALUE = "<list>";

/** One option of a command: `--name value`, or just `--name` for a flag. */
export interface Option {
  readonly name: string;
  /** Placeholder for its value, such as `<file>`; null for a flag. */
  readonly value: string | null;
  /** What it does, the unit of its value, and the default. */
  readonly help: string;
  readonly isRequired?: boolean;
}

/** One positional argument. */
export interface Operand {
  readonly name: string;
  readonly help: string;
  /** `many`: any number; `optional`: none or one. By default exactly one. */
  readonly count?: "many" | "optional";
}

export interface Invocation {
  /** Read on first use, so wrong settings do not break a command that needs none. */
  readonly config: Config;
  /** The positional arguments. */
  readonly args: readonly string[];
  /** The operand of that name, which is given exactly once. */
  operand(name: string): string;
  option(name: string): string | undefined;
  /** The value of an option that is required. */
  required(name: string): string;
  readonly json: boolean;
  /** Prints the result: one JSON value with `--json`, else the lines for people. */
  print(value: unknown, lines: readonly (string | ColouredLine)[]): void;
}

export interface Command {
  /** `noun verb`. */
  readonly name: string;
  readonly operands?: readonly Operand[];
  /** One line, for the list of commands. */
  readonly summary: string;
  /** What else to know before using it. */
  readonly description?: string;
  readonly options?: readonly Option[];
  /** Complete calls; text after ` # ` is a remark. */
  readonly examples: readonly string[];
  /**
   * What it does with DATA_DIR: `needed` (the default) fails if there is none, `made` creates it, and `unused` does
   * without or looks for it itself.
   */
  readonly dataDirectory?: "needed" | "made" | "unused";
  /** It delivers mail, so SMTP_URL must say where to. */
  readonly needsRelay?: true;
  /** Returns the exit status if it is not 0: 1 when something was found. */
  run(invocation: Invocation): Promise<number | undefined>;
}

/** The call has wrong arguments. Exit status 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Why a command failed, for programs. */
type FailureCode = "no_data" | "not_found" | "refused" | "unreadable_event";

/** A command cannot do what it was asked, for a reason that its caller can fix. Exit status 1. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  constructor(
    readonly code: FailureCode,
    message: string,
    /** What to do about it; null if the message says so. */
    readonly hint: string | null = null,
  ) {
    super(message);
  }
}

export function refuse(reason: string): never {
  throw new CommandFailure("refused", reason);
}

/** Ends a command whose id or name argument names nothing. `hint` says where to find one that does. */
export function notFound(what: string, hint: string | null = null): never {
  throw new CommandFailure("not_found", what, hint);
}
