import { type Address, parseAddress } from "../../src/kernel/text/emailAddress.ts";

/** An address that is known to be one. */
export function addressOf(text: string): Address {
  const parsed = parseAddress(text);
  if ("invalid" in parsed) throw new Error(`${text} ${parsed.invalid}`);
  return parsed;
}
