import type { Config } from "../../service/config/config.ts";
import type { ColouredLine } from "../output/terminalText.ts";

/** One option of a command: `--name value`, or `--name` alone where it is a flag. */
export interface Option {
  readonly name: string;
  /** How its value is shown, `<file>`; null: it is a flag. */
  readonly value: string | null;
  /** What it does, the unit of its value, and what holds without it. */
  readonly help: string;
  readonly isRequired?: boolean;
}

/** One word behind a command's name. */
export interface Operand {
  readonly name: string;
  readonly help: string;
  /** `many`: none, one or several; `optional`: none or one. Exactly one unless given. */
  readonly count?: "many" | "optional";
}

/** What a command works with. */
export interface Invocation {
  /** Read when it is first asked for: wrong settings do not keep a command from working that needs none. */
  readonly config: Config;
  /** The words behind the name. */
  readonly args: readonly string[];
  /** The operand of that name, which occurs exactly once. */
  operand(name: string): string;
  /** The option's value; undefined when it was not given. */
  option(name: string): string | undefined;
  /** The value of an option that is required. */
  required(name: string): string;
  readonly json: boolean;
  /** Writes the result: one JSON value with `--json`, else the lines for people. */
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
  /** Whole calls; what follows ` # ` is a remark. */
  readonly examples: readonly string[];
  /**
   * What it wants with DATA_DIR: `needed` unless given, so it ends where there is none; `made` where there is none;
   * or `unused`: it does without, or looks for it by itself.
   */
  readonly dataDirectory?: "needed" | "made" | "unused";
  /** Answers the exit status where it is not 0: 1 when something was found. */
  run(invocation: Invocation): Promise<number | undefined>;
}

/** The call's words are off. Exit status 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What kept a command from its work, for programs. */
export type FailureCode = "no_data" | "not_found" | "refused" | "unreadable_event";

/** A command that cannot do what it was asked, for a reason that its caller can do something about. Exit status 1. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  constructor(
    readonly code: FailureCode,
    message: string,
    /** What to do about it; null where the message says it. */
    readonly hint: string | null = null,
  ) {
    super(message);
  }
}

/** Ends a command that does not do what it was asked. */
export function refuse(reason: string): never {
  throw new CommandFailure("refused", reason);
}

/** Ends a command that was given the id or name of something that is not there. */
export function notFound(what: string): never {
  throw new CommandFailure("not_found", what);
}
