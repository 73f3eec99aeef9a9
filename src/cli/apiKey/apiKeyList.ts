import { systemClock } from "../../adapters/system/systemClock.ts";
import { apiKeyAggregate } from "../../commands/aggregateDefinitions.ts";
import { readApiKeyLastUse } from "../../commands/apiKey/apiKeyLastUse.ts";
import { keyNameWithPerson } from "../../domain/apiKey/person.ts";
import { type ApiKey, keyStatus } from "../../domain/apiKey/state.ts";
import { forEachConcurrently } from "../../kernel/concurrency/forEachConcurrently.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import type { Command, Invocation } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { loadOfWorkspace, WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";

/**
 * Whether the key was issued for a rotation that its predecessor's stream does not confirm. Its secret is handed out
 * only after that, so nobody has it, unless the rotation is under way at this moment.
 */
function isNeverHandedOut(id: string, { rotatedFrom }: ApiKey, keys: ReadonlyMap<string, ApiKey>): boolean {
  return rotatedFrom !== null && keys.get(rotatedFrom)?.rotatedTo.includes(id) === false;
}

interface KeysAndUses {
  readonly keys: ReadonlyMap<string, ApiKey>;
  /** The hour of each key's last use. A running service writes it within a minute. */
  readonly lastUses: ReadonlyMap<string, EpochMs>;
}

/** Key uses to read at once. */
const READS_AT_ONCE = 32;

async function keysAndUses(store: EventStore, invocation: Invocation): Promise<KeysAndUses> {
  const keys = new Map(await loadOfWorkspace(store, invocation, apiKeyAggregate));
  const lastUses = new Map<string, EpochMs>();
  await forEachConcurrently(keys.keys(), READS_AT_ONCE, async (id) => {
    const last = await readApiKeyLastUse(store, id);
    if (last !== null) lastUses.set(id, last.at);
    return last !== null;
  });
  return { keys, lastUses };
}

function listed(id: string, key: ApiKey, { keys, lastUses }: KeysAndUses) {
  const { name, scopes, expiresAt, senders, clientRanges, isTest, person, issuerId, rotatedFrom } = key;
  const lastUse = lastUses.get(id);
  return {
    id,
    name,
    scopes: [...scopes],
    status: keyStatus(key, systemClock.now()),
    expires_at: expiresAt === null ? null : rfc3339(expiresAt),
    last_used_at: lastUse === undefined ? null : rfc3339(lastUse),
    issued_by: issuerId,
    rotated_from: rotatedFrom,
    senders: senders && [...senders],
    client_ranges: clientRanges,
    person,
    test: isTest,
    handed_out: !isNeverHandedOut(id, key, keys),
  };
}

function keyLine({
  id,
  status,
  expires_at,
  last_used_at,
  name,
  person,
  scopes,
  issued_by,
  test,
  handed_out,
}: ReturnType<typeof listed>): string {
  const isLeft = status === "active" && !handed_out;
  const remark = isLeft ? "  its rotation was not recorded, so nobody has its secret: revoke it" : "";
  const expiry = expires_at === null ? "does not expire" : `until ${expires_at}`;
  const lastUse = last_used_at === null ? "never used" : `last used in the hour from ${last_used_at}`;
  const issuer = issued_by === null ? "" : `  issued by ${issued_by}`;
  return `${id}  ${status.padEnd(7)}  ${expiry}  ${lastUse}  ${keyNameWithPerson({ name, person })}  ${scopes.join(",")}${issuer}${test ? "  test" : ""}${remark}`;
}

export const apiKeyList: Command = {
  name: "api-key list",
  summary: "List the keys of a workspace",
  description:
    "The keys themselves are not shown: nobody has them. The last use is the beginning of its hour; a use shows within a minute. Reads the log from its start.",
  examples: ["postledger api-key list --workspace <id>"],
  options: [WORKSPACE_OPTION],
  async run(invocation) {
    const found = await withLog(invocation.config, ({ deps }) => keysAndUses(deps.store, invocation));
    const list = [...found.keys].map(([id, key]) => listed(id, key, found));
    invocation.print(list, list.map(keyLine));
  },
};
