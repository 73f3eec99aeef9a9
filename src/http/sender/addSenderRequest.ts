import { type Static, Type } from "@sinclair/typebox";
import type { NewSender } from "../../commands/sender/manageSender.ts";
import { ADDRESS_CHARACTERS_MAX, parseAddress, parseDomain } from "../../kernel/text/emailAddress.ts";
import {
  displayNameFaults,
  fault,
  mailboxFaults,
  memberRules,
  NO_FAULTS,
  type UncheckedMembers,
} from "../body/commonFaults.ts";
import { Closed, Nullable, ShownName, Text } from "../body/commonSchemas.ts";
import { withAdvice, withRules } from "../body/validation.ts";
import type { ProblemDetail } from "../server/problem.ts";

const DOMAIN_CHARACTERS_MAX = 253;
/** Leaves room in the record's name for `_postledger.` (RFC 1035 §2.3.4). */
const RECORD_DOMAIN_CHARACTERS_MAX = DOMAIN_CHARACTERS_MAX - "_postledger.".length;

/** Members of other services' requests that ours does not have. */
const ADVICE = {
  email: "did you mean address?",
  FromEmail: "did you mean address?",
  name: "did you mean domain, or display_name?",
};

export const AddSenderBody = withRules(
  withAdvice(
    ADVICE,
    Closed(
      {
        address: Type.Optional(
          Text({
            minLength: 1,
            maxLength: ADDRESS_CHARACTERS_MAX,
            description: "One bare address. Exactly one of address and domain is given.",
          }),
        ),
        domain: Type.Optional(
          Text({
            minLength: 1,
            maxLength: DOMAIN_CHARACTERS_MAX,
            description: "A domain: once it is verified, every address at exactly it can send.",
          }),
        ),
        display_name: Type.Optional(
          Nullable(
            ShownName(
              "Shown beside the address in From if a send has no `from_name`; a domain's name is shown beside those of its addresses that have none.",
            ),
          ),
        ),
      },
      {
        examples: [{ address: "billing@example.com", display_name: "Example billing" }],
      },
    ),
  ),
  memberRules(senderFaults),
);
type AddSenderBody = Static<typeof AddSenderBody>;

function senderFaults(body: UncheckedMembers): readonly ProblemDetail[] {
  const { address, domain } = body;
  return [
    ...((address === undefined) === (domain === undefined)
      ? fault("", "must have exactly one of address and domain")
      : NO_FAULTS),
    ...mailboxFaults("/address", address, "display_name"),
    ...domainFaults(domain),
    ...displayNameFaults("/display_name", body.display_name),
  ];
}

function domainFaults(domain: unknown): readonly ProblemDetail[] {
  if (typeof domain !== "string") return NO_FAULTS;
  const length = parseDomain(domain)?.length ?? Number.POSITIVE_INFINITY;
  if (length <= RECORD_DOMAIN_CHARACTERS_MAX) return NO_FAULTS;
  return fault(
    "/domain",
    `must be a fully qualified name such as example.com, of at most ${RECORD_DOMAIN_CHARACTERS_MAX} characters`,
  );
}

/** The sender in a body. Throws what is wrong with it. */
export function addedSender(body: AddSenderBody): Omit<NewSender, "workspaceId"> {
  const { address, domain = "", display_name: displayName = null } = body;
  const named = body.display_name === undefined ? {} : { displayName };
  const parsed = address === undefined ? null : parseAddress(address);
  if (parsed !== null && "canonical" in parsed)
    return { name: { kind: "address", address: parsed }, ...named };
  return { name: { kind: "domain", domain: parseDomain(domain) ?? domain }, ...named };
}
