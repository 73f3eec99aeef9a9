import { issueKey } from "../../commands/apiKey/issueApiKey.ts";
import { missingSendersOfKey } from "../../commands/apiKey/missingSendersOfKey.ts";
import { PERSON_RULE, parsePerson } from "../../domain/apiKey/person.ts";
import { isScope, isTestScope, SCOPES, type Scope, TEST_SCOPES } from "../../domain/apiKey/scopes.ts";
import { invariant } from "../../kernel/assert.ts";
import { parseAddressRange } from "../../kernel/network/clientIp.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { SHOWN_NAME_CHARACTERS_MAX } from "../../kernel/text/displayNameFault.ts";
import { parseAddress, parseDomain } from "../../kernel/text/emailAddress.ts";
import { nearestName } from "../../kernel/text/nearestName.ts";
import { epochMs } from "../../kernel/time.ts";
import { type Command, type Invocation, LIST_VALUE, UsageError } from "../program/command.ts";
import { displayNameArgument } from "../program/displayNameArgument.ts";
import { changeLog } from "../program/openStoreForCommand.ts";
import { WORKSPACE_OPTION, workspaceOf } from "../workspace/workspaceOption.ts";
import { personsKeyText } from "./personsKeyText.ts";

function scopesOf({ option }: Invocation, isTest: boolean): readonly Scope[] {
  const [text, isEvery] = [option("scopes"), option("all-scopes") !== undefined];
  if (text !== undefined && isEvery) throw new UsageError("give --scopes or --all-scopes, not both");
  if (text === undefined) return everyScope(isTest, isEvery);
  const scopes = text.split(",").map((part) => {
    const scope = part.trim();
    if (isScope(scope)) return scope;
    if (scope === "")
      throw new UsageError(`--scopes: the list has an empty name. There are ${SCOPES.join(", ")}`);
    const meant = nearestName(scope, SCOPES);
    const hint = meant === null ? "" : ` Did you mean ${meant}?`;
    throw new UsageError(`${scope} is not a scope.${hint} There are ${SCOPES.join(", ")}`);
  });
  if (isTest && !scopes.every(isTestScope)) {
    throw new UsageError(`--scopes: a test key can hold ${TEST_SCOPES.join(", ")}`);
  }
  return scopes;
}

/** A live key gets every scope only if that is asked for: it may also issue keys and erase people. */
function everyScope(isTest: boolean, isEvery: boolean): readonly Scope[] {
  if (isTest) return TEST_SCOPES;
  if (isEvery) return SCOPES;
  throw new UsageError(
    `say what the key may do with --scopes, such as --scopes email:send,email:read, or give it everything with --all-scopes. There are ${SCOPES.join(", ")}`,
  );
}

/** The parts of a comma-separated list; null if there is no list. */
function listOf(text: string | undefined, partOf: (part: string) => string): readonly string[] | null {
  return text === undefined ? null : text.split(",").map((part) => partOf(part.trim()));
}

/** A sender in the canonical form that keys are compared with. */
function senderOf(text: string): string {
  const address = text.includes("@") ? parseAddress(text) : null;
  if (address !== null && "invalid" in address) throw new UsageError(`--sender: ${text} ${address.invalid}`);
  const canonical = address === null ? parseDomain(text) : address.canonical;
  if (canonical === null) throw new UsageError(`--sender: ${text} is neither an address nor a domain`);
  return canonical;
}

/** What it means for a key that the workspace lacks a sender that it is bound to. */
function missingSenderText(sender: string, workspaceId: string): string {
  const effect = sender.includes("@") ? "cannot send from it" : "can send only from addresses there that are";
  return `${sender} is no sender of the workspace, so the key ${effect}; ${POSTLEDGER} sender add ${sender} --workspace ${workspaceId} adds it`;
}

function clientRangeOf(text: string): string {
  if (parseAddressRange(text) !== null) return text;
  throw new UsageError(`--client-range: ${text} is neither an IP address nor a range such as 10.0.0.0/8`);
}

function personOf(text: string | undefined): string | null {
  const person = text === undefined ? null : parsePerson(text);
  if (text !== undefined && person === null) throw new UsageError(`--person must ${PERSON_RULE}`);
  return person;
}

function expiryOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const at = epochMs(text);
  if (Number.isNaN(at))
    throw new UsageError("--expires takes an RFC 3339 time, such as 2027-01-01T00:00:00Z");
  return at;
}

const NO_LOGIN_PROXY =
  "LOGIN_PROXY_HEADER is not set here: for single sign-on the service needs it, and LOGIN_PROXIES.";

export const apiKeyCreate: Command = {
  name: "api-key create",
  summary: "Issue an API key and print it, once",
  options: [
    WORKSPACE_OPTION,
    { name: "name", value: "<text>", help: "what it is for (default: the person, else unnamed)" },
    {
      name: "scopes",
      value: LIST_VALUE,
      help: `what it may do, separated by commas: ${SCOPES.join(", ")} (default: with --test all that a test key can hold; otherwise --all-scopes must be given)`,
    },
    { name: "all-scopes", value: null, help: "it may do everything that such a key can" },
    {
      name: "test",
      value: null,
      help: `make a test key: its mail is only simulated, and listed separately; it can hold ${TEST_SCOPES.join(", ")}, and does by default`,
    },
    {
      name: "sender",
      value: LIST_VALUE,
      help: "addresses and domains that it may send from, separated by commas (default: all of the workspace)",
    },
    {
      name: "client-range",
      value: LIST_VALUE,
      help: "IP addresses, or ranges such as 10.0.0.0/8, that it is accepted from, separated by commas (default: everywhere)",
    },
    {
      name: "expires",
      value: "<time>",
      help: "when it ends, RFC 3339 such as 2027-01-01T00:00:00Z (default: never)",
    },
    {
      name: "person",
      value: "<name>",
      help: "who logs in to the dashboard with it: an email address or user name, as the proxy of LOGIN_PROXY_HEADER sends it (default: whoever has the key)",
    },
  ],
  description:
    "It is shown only once: the log keeps a keyed hash of it. A person's key is not shown at all, and works nowhere but in the dashboard.",
  examples: [
    "postledger api-key create --scopes email:send,email:read",
    "postledger api-key create --all-scopes --sender acme.example",
    "postledger api-key create --workspace <id> --test",
    "postledger api-key create --person ana@example.com --scopes email:read",
  ],
  async run(invocation) {
    const isTest = invocation.option("test") !== undefined;
    const person = personOf(invocation.option("person"));
    const name = invocation.option("name") ?? person?.slice(0, SHOWN_NAME_CHARACTERS_MAX) ?? "unnamed";
    const issue = {
      isTest,
      person,
      name: displayNameArgument("--name", name),
      scopes: scopesOf(invocation, isTest),
      senders: listOf(invocation.option("sender"), senderOf),
      clientRanges: listOf(invocation.option("client-range"), clientRangeOf),
      expiresAt: expiryOf(invocation.option("expires")),
    };
    const { issued, missing, workspaceId } = await changeLog(invocation.config, async (deps, context) => {
      const workspaceId = await workspaceOf(deps.store, invocation);
      return {
        workspaceId,
        missing: await missingSendersOfKey(deps, workspaceId, issue.senders ?? []),
        issued: await issueKey(deps, { ...issue, workspaceId }, context),
      };
    });
    invariant(issued, "a workspace is never removed");
    const shown = { ...issued, person, scopes: issue.scopes, test: isTest, missing_senders: missing };
    invocation.print(shown, [issued.key ?? personsKeyText(issued.id)]);
    if (invocation.json) return;
    // On standard error, because scripts take the key from standard output.
    if (person !== null && invocation.config.loginProxy === null) process.stderr.write(`${NO_LOGIN_PROXY}\n`);
    for (const sender of missing) process.stderr.write(`${missingSenderText(sender, workspaceId)}\n`);
  },
};
