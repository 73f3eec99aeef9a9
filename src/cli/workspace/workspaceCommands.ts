import { systemClock } from "../../adapters/system/systemClock.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import {
  markVerified,
  newSender,
  type SenderName,
  senderIdOf,
  setSender,
} from "../../commands/sender/manageSender.ts";
import { type DomainRecord, domainRecordOf } from "../../commands/sender/verifySenderDomain.ts";
import { issueKey, newWorkspace, revokeKey } from "../../commands/workspace/manageWorkspace.ts";
import { apiKeyCodec } from "../../domain/apiKey/events.ts";
import { isScope, SCOPES, type Scope } from "../../domain/apiKey/scopes.ts";
import {
  type ApiKey,
  type ApiKeyState,
  type ApiKeyStatus,
  apiKeyDecider,
  keyStatus,
} from "../../domain/apiKey/state.ts";
import type { CommandContext } from "../../kernel/event/eventMetadata.ts";
import { parseAddress, parseDomain } from "../../kernel/text/emailAddress.ts";
import { nearestName } from "../../kernel/text/nearestName.ts";
import { epochMs, rfc3339 } from "../../kernel/time.ts";
import { type EventStore, LOG_START } from "../../ports/eventStore.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import {
  type Command,
  type Invocation,
  notFound,
  type Operand,
  type Option,
  UsageError,
} from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";

const WORKSPACE: Option = {
  name: "workspace",
  value: "<id>",
  help: "id of the workspace it belongs to: see `workspace list`",
  isRequired: true,
};

const SENDER: Operand = {
  name: "address-or-domain",
  help: "billing@acme.example for one address, acme.example for every address at the domain",
};

function senderNameOf({ operand }: Invocation): SenderName {
  const text = operand(SENDER.name);
  const domain = text.includes("@") ? null : parseDomain(text);
  if (domain !== null) return { kind: "domain", domain };
  const address = parseAddress(text);
  if ("invalid" in address) throw new UsageError(`the address ${address.invalid}`);
  return { kind: "address", address };
}

function scopesOf(text: string | undefined): readonly Scope[] {
  if (text === undefined) return SCOPES;
  return text.split(",").map((part) => {
    const scope = part.trim();
    if (isScope(scope)) return scope;
    const meant = nearestName(scope, SCOPES);
    const hint = meant === null ? "" : ` Did you mean ${meant}?`;
    throw new UsageError(`${scope} is no scope.${hint} There are ${SCOPES.join(", ")}`);
  });
}

function expiryOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const at = epochMs(text);
  if (Number.isNaN(at))
    throw new UsageError("--expires takes an RFC 3339 time, such as 2027-01-01T00:00:00Z");
  return at;
}

export const createWorkspace: Command = {
  name: "workspace create",
  operands: [{ name: "name", help: "what people call it; in quotes when it has spaces" }],
  summary: "Create a workspace and print its id",
  description: "Where there is no data directory yet, it makes one.",
  dataDirectory: "made",
  examples: ['postledger workspace create "Acme Ltd"'],
  async run(invocation) {
    const name = invocation.operand("name");
    const create = () =>
      withLog(invocation.config, ({ deps }) => newWorkspace(deps, name, systemCommandContext("cli")), {
        begins: true,
      });
    const id = await create();
    invocation.print({ id, name }, [id]);
    return 0;
  },
};

const createApiKey: Command = {
  name: "api-key create",
  summary: "Issue an API key and print it, once",
  options: [
    WORKSPACE,
    { name: "name", value: "<text>", help: "what it is for (default: unnamed)" },
    {
      name: "scopes",
      value: "<list>",
      help: `what it may do, with commas between: ${SCOPES.join(", ")} (default: all of them)`,
    },
    {
      name: "expires",
      value: "<time>",
      help: "when it ends, RFC 3339 such as 2027-01-01T00:00:00Z (default: never)",
    },
  ],
  description: "It is shown this once: the log keeps a keyed hash of it.",
  examples: ["postledger api-key create --workspace <id> --scopes email:send,email:read"],
  async run(invocation) {
    const issue = {
      workspaceId: invocation.required("workspace"),
      name: invocation.option("name") ?? "unnamed",
      scopes: scopesOf(invocation.option("scopes")),
      expiresAt: expiryOf(invocation.option("expires")),
    };
    const issued = await withLog(invocation.config, ({ deps }) =>
      issueKey(deps, issue, systemCommandContext("cli")),
    );
    if (issued === null) notFound(`there is no workspace ${issue.workspaceId}`);
    invocation.print(issued, [issued.key]);
    return 0;
  },
};

interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly status: ApiKeyStatus;
  readonly expires_at: string | null;
}

/** Every key of the log by id, folded while the log is read once. */
async function allKeys(store: EventStore): Promise<ReadonlyMap<string, ApiKeyState>> {
  const keys = new Map<string, ApiKeyState>();
  for await (const { events } of store.readAll(LOG_START, { types: apiKeyCodec.types })) {
    for (const recorded of events) {
      const id = recorded.stream.slice("apikey-".length);
      keys.set(id, apiKeyDecider.evolve(keys.get(id) ?? null, apiKeyCodec.decode(recorded)));
    }
  }
  return keys;
}

function listed(id: string, key: ApiKey): ListedKey {
  const { name, scopes, expiresAt } = key;
  const status = keyStatus(key, systemClock.now());
  return {
    id,
    name,
    scopes: [...scopes],
    status,
    expires_at: expiresAt === null ? null : rfc3339(expiresAt),
  };
}

function keyLine({ id, status, expires_at, name, scopes }: ListedKey): string {
  return `${id}  ${status.padEnd(7)}  ${expires_at ?? "does not expire"}  ${name}  ${scopes.join(",")}`;
}

const listApiKeys: Command = {
  name: "api-key list",
  summary: "List the keys of a workspace",
  description: "Without the keys themselves, which nobody has. Reads the log from its start.",
  examples: ["postledger api-key list --workspace <id>"],
  options: [WORKSPACE],
  async run(invocation) {
    const workspaceId = invocation.required("workspace");
    const keys = await withLog(invocation.config, ({ deps }) => allKeys(deps.store));
    const list = [...keys].flatMap(([id, key]) =>
      key?.workspaceId === workspaceId ? [listed(id, key)] : [],
    );
    invocation.print(list, list.map(keyLine));
    return 0;
  },
};

const revokeApiKey: Command = {
  name: "api-key revoke",
  operands: [{ name: "id", help: "id of the key: see `api-key list`" }],
  summary: "Revoke a key: within a second it opens nothing",
  examples: ["postledger api-key revoke <id>"],
  async run(invocation) {
    const id = invocation.operand("id");
    const outcome = await withLog(invocation.config, ({ deps }) =>
      revokeKey(deps, id, systemCommandContext("cli")),
    );
    if (outcome === "notFound") notFound(`there is no key ${id}`);
    invocation.print({ id, revoked: true }, [`${id} revoked`]);
    return 0;
  },
};

const addSender: Command = {
  name: "sender add",
  operands: [SENDER],
  summary: "Add an address or a domain to send from",
  description: "It cannot send before it is verified.",
  examples: [
    "postledger sender add billing@acme.example --workspace <id>",
    "postledger sender add acme.example --workspace <id> # Every address at the domain",
  ],
  options: [WORKSPACE],
  async run(invocation) {
    const workspaceId = invocation.required("workspace");
    const name = senderNameOf(invocation);
    const { added, record } = await withLog(invocation.config, async ({ deps }) => ({
      added: await newSender(deps, { workspaceId, name }, systemCommandContext("cli")),
      record: name.kind === "domain" ? domainRecordOf(deps.keys, workspaceId, name.domain) : null,
    }));
    if (added === null) notFound(`there is no workspace ${workspaceId}`);
    const { outcome } = added;
    const json = record === null ? { outcome } : { outcome, dns_record: { type: "TXT", ...record } };
    const verify = `postledger sender verify ${invocation.operand(SENDER.name)} --workspace ${workspaceId}`;
    invocation.print(json, addedLines(outcome === "added", record, verify));
    return 0;
  },
};

/** What was done, and what is still to be done before the sender can send. */
function addedLines(isNew: boolean, record: DomainRecord | null, verify: string): readonly string[] {
  const shown = record === null ? [] : [`  ${record.name}  ${record.value}`];
  if (!isNew) return ["was there already", ...(record === null ? [] : ["Its TXT record:"]), ...shown];
  const wants = "It can send once it is verified.";
  return record === null
    ? ["added", `${wants} On your word: \`${verify}\``]
    : [
        "added",
        `${wants} Publish this TXT record, then ask the API to look for it:`,
        ...shown,
        `On your word, without it: \`${verify}\``,
      ];
}

type SenderChange = (deps: Dependencies, id: string, context: CommandContext) => Promise<string>;

/** A command that changes a sender that is there. */
function senderCommand(verb: string, summary: string, done: string, change: SenderChange): Command {
  return {
    name: `sender ${verb}`,
    operands: [SENDER],
    summary,
    options: [WORKSPACE],
    examples: [`postledger sender ${verb} billing@acme.example --workspace <id>`],
    async run(invocation) {
      const workspaceId = invocation.required("workspace");
      const name = senderNameOf(invocation);
      const context = { ...systemCommandContext("cli"), workspaceId };
      const outcome = await withLog(invocation.config, ({ deps }) =>
        change(deps, senderIdOf(deps.keys, workspaceId, name), context),
      );
      if (outcome === "notFound") notFound("there is no such sender; add it first");
      invocation.print({ outcome: done }, [done]);
      return 0;
    },
  };
}

export const senderCommands: readonly Command[] = [
  addSender,
  senderCommand("verify", "Mark a sender as verified, on your word", "verified", (deps, id, context) =>
    markVerified(deps, id, "operator", context),
  ),
  senderCommand("disable", "Let a sender send no more; its mail waits", "disabled", (deps, id, context) =>
    setSender(deps, id, "disabled", context),
  ),
  senderCommand("enable", "Let a sender that was disabled send again", "enabled", (deps, id, context) =>
    setSender(deps, id, "enabled", context),
  ),
];

export const apiKeyCommands: readonly Command[] = [createApiKey, listApiKeys, revokeApiKey];
