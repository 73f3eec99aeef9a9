import { type Address, parseAddress } from "../../src/kernel/text/emailAddress.ts";

/** Parses an address that must be valid. */
export function addressOf(text: string): Address {
  const parsed = parseAddress(text);
  if ("invalid" in parsed) throw new Error(`${text} ${parsed.invalid}`);
  return parsed;
}
