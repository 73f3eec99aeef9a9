import { systemClock } from "../../adapters/system/systemClock.ts";
import { apiKeyAggregate } from "../../commands/aggregateDefinitions.ts";
import { type ApiKey, keyStatus } from "../../domain/apiKey/state.ts";
import { rfc3339 } from "../../kernel/time.ts";
import type { Command } from "../program/command.ts";
import { loadOfWorkspace, WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";

/**
 * Whether the key was issued for a rotation that its predecessor's stream does not confirm. Its secret is handed out
 * only after that, so nobody has it, unless the rotation is under way at this moment.
 */
function isNeverHandedOut(id: string, { rotatedFrom }: ApiKey, keys: ReadonlyMap<string, ApiKey>): boolean {
  return rotatedFrom !== null && keys.get(rotatedFrom)?.rotatedTo.includes(id) === false;
}

function listed(id: string, key: ApiKey, keys: ReadonlyMap<string, ApiKey>) {
  const { name, scopes, expiresAt, senders, clientRanges, isTest } = key;
  return {
    id,
    name,
    scopes: [...scopes],
    status: keyStatus(key, systemClock.now()),
    expires_at: expiresAt === null ? null : rfc3339(expiresAt),
    senders: senders && [...senders],
    client_ranges: clientRanges,
    test: isTest,
    handed_out: !isNeverHandedOut(id, key, keys),
  };
}

function keyLine({
  id,
  status,
  expires_at,
  name,
  scopes,
  test,
  handed_out,
}: ReturnType<typeof listed>): string {
  const isLeft = status === "active" && !handed_out;
  const remark = isLeft ? "  its rotation was not recorded, so nobody has its secret: revoke it" : "";
  return `${id}  ${status.padEnd(7)}  ${expires_at ?? "does not expire"}  ${name}  ${scopes.join(",")}${test ? "  test" : ""}${remark}`;
}

export const apiKeyList: Command = {
  name: "api-key list",
  summary: "List the keys of a workspace",
  description: "The keys themselves are not shown: nobody has them. Reads the log from its start.",
  examples: ["postledger api-key list --workspace <id>"],
  options: [WORKSPACE_OPTION],
  async run(invocation) {
    const keys = await loadOfWorkspace(invocation, apiKeyAggregate);
    const byId = new Map(keys);
    const list = keys.map(([id, key]) => listed(id, key, byId));
    invocation.print(list, list.map(keyLine));
  },
};
