import { NOTE_CHARACTERS_MAX } from "../../commands/suppression/addOrRemoveSuppression.ts";
import { type Address, parseAddress } from "../../kernel/text/emailAddress.ts";
import { codePoints } from "../../kernel/text/textLength.ts";
import { type Invocation, type Operand, type Option, UsageError } from "../program/command.ts";

export const ADDRESS_OPERAND: Operand = { name: "address", help: "the recipient's address" };

/** The address operand. Throws a {@link UsageError} if it is not an address. */
export function addressOf({ operand }: Pick<Invocation, "operand">): Address {
  const address = parseAddress(operand(ADDRESS_OPERAND.name));
  if ("invalid" in address) throw new UsageError(`the address ${address.invalid}`);
  return address;
}

export const NOTE_OPTION: Option = {
  name: "note",
  value: "<text>",
  help: "why, for your team (default: none)",
};

/** The note option; null if not given. Throws a {@link UsageError} if it is too long. */
export function noteOf({ option }: Invocation): string | null {
  const note = option(NOTE_OPTION.name) ?? null;
  if (note !== null && codePoints(note) > NOTE_CHARACTERS_MAX)
    throw new UsageError(`the note must have at most ${NOTE_CHARACTERS_MAX} characters`);
  return note;
}
