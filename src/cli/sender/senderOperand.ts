import type { SenderName } from "../../commands/sender/senderId.ts";
import { parseAddress, parseDomain } from "../../kernel/text/emailAddress.ts";
import { type Invocation, type Operand, UsageError } from "../program/command.ts";

export const SENDER_OPERAND: Operand = {
  name: "address-or-domain",
  help: "billing@acme.example for one address, acme.example for every address at the domain",
};

export function senderNameOf({ operand }: Invocation): SenderName {
  const text = operand(SENDER_OPERAND.name);
  const domain = text.includes("@") ? null : parseDomain(text);
  if (domain !== null) return { kind: "domain", domain };
  const address = parseAddress(text);
  if ("invalid" in address)
    throw new UsageError(
      text.includes("@")
        ? `the address ${text} ${address.invalid}`
        : `${text} is neither an address nor a domain such as acme.example`,
    );
  return { kind: "address", address };
}
