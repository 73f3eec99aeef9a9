import { type Address, parseAddress } from "../../kernel/text/emailAddress.ts";
import { type Invocation, type Operand, UsageError } from "../program/command.ts";

export const ADDRESS_OPERAND: Operand = { name: "address", help: "the recipient's address" };

/** The address that a call is about. Throws a {@link UsageError} for what is none. */
export function addressOf({ operand }: Invocation): Address {
  const address = parseAddress(operand(ADDRESS_OPERAND.name));
  if ("invalid" in address) throw new UsageError(`the address ${address.invalid}`);
  return address;
}
