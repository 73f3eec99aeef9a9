import { NOTE_CHARACTERS_MAX } from "../../commands/suppression/addOrRemoveSuppression.ts";
import { codePoints } from "../../kernel/text/textLength.ts";
import { type Invocation, type Option, UsageError } from "../program/command.ts";

export const NOTE_OPTION: Option = {
  name: "note",
  value: "<text>",
  help: "why, for your team (default: none)",
};

/** The note that the call gives; null without one. Throws a {@link UsageError} for one that is too long. */
export function noteOf({ option }: Invocation): string | null {
  const note = option(NOTE_OPTION.name) ?? null;
  if (note !== null && codePoints(note) > NOTE_CHARACTERS_MAX)
    throw new UsageError(`the note must have at most ${NOTE_CHARACTERS_MAX} characters`);
  return note;
}
