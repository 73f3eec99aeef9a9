import { firstOf } from "../../kernel/text/readableNumbers.ts";
import { terminalText } from "../output/terminalText.ts";
import { CommandFailure } from "../program/command.ts";

/** Faults that one command shows. */
const FAULTS_SHOWN_MAX = 50;

/** Ends the command if there are faults. Names of files in them may hold line breaks, but each fault is one line. */
export function requireNoFaults(
  faults: readonly string[],
  heading: string,
  hint: string | null = null,
): void {
  if (faults.length === 0) return;
  const { shown, others } = firstOf(FAULTS_SHOWN_MAX, faults);
  const lines = [...shown, ...(others === null ? [] : [others])].map((line) => `  ${terminalText(line)}`);
  throw new CommandFailure("refused", [heading, ...lines].join("\n"), hint);
}
