import { type Static, Type } from "@sinclair/typebox";
import { PERSON_CHARACTERS_MAX, PERSON_RULE, parsePerson } from "../../domain/apiKey/person.ts";
import { isTestScope, SCOPES, TEST_SCOPES } from "../../domain/apiKey/scopes.ts";
import { parseAddressRange } from "../../kernel/network/clientIp.ts";
import { ADDRESS_CHARACTERS_MAX, parseAddress, parseDomain } from "../../kernel/text/emailAddress.ts";
import { type EpochMs, epochMs } from "../../kernel/time.ts";
import {
  addressFaults,
  displayNameFaults,
  fault,
  memberRules,
  NO_FAULTS,
  type UncheckedMembers,
} from "../body/commonFaults.ts";
import { Closed, Nullable, ShownName, Text, Time } from "../body/commonSchemas.ts";
import { dateTime } from "../body/dateTimeText.ts";
import { withAdvice, withRules } from "../body/validation.ts";
import { invalid, type ProblemDetail } from "../server/problem.ts";
import { Scope } from "./apiKeyResource.ts";

const Scopes = Type.Array(Scope, { minItems: 1, uniqueItems: true, maxItems: SCOPES.length });

const BOUND_ITEMS_MAX = 100;

/** Members of other services' requests that ours does not have. */
const ADVICE = {
  permission: "scopes say what it may do",
  permissions: "scopes say what it may do",
  domain_id: "did you mean senders?",
};

export const IssueApiKeyBody = withRules(
  withAdvice(
    ADVICE,
    Closed(
      {
        name: ShownName("What it is for."),
        scopes: Scopes,
        expires_at: Type.Optional(
          Nullable(Time("RFC 3339, in the future; never when it is absent or null.")),
        ),
        senders: Type.Optional(
          Nullable(
            Type.Array(Text({ minLength: 1, maxLength: ADDRESS_CHARACTERS_MAX }), {
              minItems: 1,
              maxItems: BOUND_ITEMS_MAX,
              description:
                "Addresses and domains that it may send from; absent or null: all of the workspace. A domain is exactly that " +
                "one. It then cancels and erases messages from those alone.",
            }),
          ),
        ),
        client_ranges: Type.Optional(
          Nullable(
            Type.Array(Text({ minLength: 1, maxLength: 49 }), {
              minItems: 1,
              maxItems: BOUND_ITEMS_MAX,
              description:
                "Client addresses, or ranges of them in CIDR notation, that it is accepted from; absent or null: all. What a " +
                "proxy says of a client counts where the proxy is one of TRUSTED_PROXIES.",
            }),
          ),
        ),
        person: Type.Optional(
          Nullable(
            Text({
              minLength: 1,
              maxLength: PERSON_CHARACTERS_MAX,
              description:
                "Who logs in to the dashboard with it by single sign-on: an email address or a user name, as the login proxy sends it " +
                "(LOGIN_PROXY_HEADER); upper and lower case do not matter. The answer's `key` is then null. Absent or null: it is for whoever has it.",
            }),
          ),
        ),
        test: Type.Optional(
          Type.Boolean({
            default: false,
            description: `Makes a test key (\`pl_test_…\`): its mail is only simulated, and listed separately. It can hold ${TEST_SCOPES.join(", ")}.`,
          }),
        ),
      },
      { examples: [{ name: "Shop", scopes: ["email:send", "email:read"] }] },
    ),
  ),
  memberRules((members) => [
    ...displayNameFaults("/name", members.name),
    ...testScopeFaults(members),
    ...personFaults(members.person),
    ...textFaults("/senders", members.senders, senderFaults),
    ...textFaults("/client_ranges", members.client_ranges, rangeFaults),
  ]),
);
export type IssueApiKeyBody = Static<typeof IssueApiKeyBody>;

function testScopeFaults({ test, scopes }: UncheckedMembers): readonly ProblemDetail[] {
  if (test !== true || !Array.isArray(scopes)) return NO_FAULTS;
  return scopes.every(isTestScope)
    ? NO_FAULTS
    : fault("/scopes", `must be of ${TEST_SCOPES.join(", ")} for a test key`);
}

function personFaults(person: unknown): readonly ProblemDetail[] {
  if (typeof person !== "string" || parsePerson(person) !== null) return NO_FAULTS;
  return fault("/person", `must ${PERSON_RULE}`);
}

type TextRule = (pointer: string, text: string) => readonly ProblemDetail[];

/** Faults of what a key is bound to. */
function textFaults(pointer: string, texts: unknown, rule: TextRule): readonly ProblemDetail[] {
  if (!Array.isArray(texts)) return NO_FAULTS;
  const checked = texts.slice(0, BOUND_ITEMS_MAX);
  return checked.flatMap((text, index) =>
    typeof text === "string" ? rule(`${pointer}/${index}`, text) : [],
  );
}

function senderFaults(pointer: string, text: string): readonly ProblemDetail[] {
  if (text.includes("@")) return addressFaults(pointer, text);
  return parseDomain(text) === null
    ? fault(pointer, "must be an address or a fully qualified domain")
    : NO_FAULTS;
}

function rangeFaults(pointer: string, text: string): readonly ProblemDetail[] {
  if (parseAddressRange(text) !== null) return NO_FAULTS;
  return fault(pointer, "must be an IP address, or a range of them in CIDR notation");
}

/** The key that a body asks for, ready for the command. */
export function wantedKey(body: IssueApiKeyBody, now: EpochMs) {
  const {
    name,
    scopes,
    expires_at: expires = null,
    senders = null,
    client_ranges: clientRanges = null,
    test: isTest = false,
    person: named = null,
  } = body;
  const person = named === null ? null : parsePerson(named);
  const bound = { senders: senders?.map(canonicalSender) ?? null, clientRanges };
  return { name, scopes, expiresAt: expiryOf(expires, now), ...bound, isTest, person };
}

/** A sender in the form that keys are compared with; the rules have already accepted it. */
function canonicalSender(text: string): string {
  const address = parseAddress(text);
  return "canonical" in address ? address.canonical : (parseDomain(text) ?? text);
}

function expiryOf(text: string | null, now: EpochMs): EpochMs | null {
  if (text === null) return null;
  const at = epochMs(dateTime("/expires_at", text));
  if (at <= now) throw invalid("/expires_at", "is not in the future");
  return at;
}
