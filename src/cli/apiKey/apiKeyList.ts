import { systemClock } from "../../adapters/system/systemClock.ts";
import { apiKeyAggregate } from "../../commands/aggregateDefinitions.ts";
import { type ApiKey, keyStatus } from "../../domain/apiKey/state.ts";
import { rfc3339 } from "../../kernel/time.ts";
import type { Command } from "../program/command.ts";
import { loadOfWorkspace, WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";

function listed(id: string, key: ApiKey) {
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
  };
}

function keyLine({ id, status, expires_at, name, scopes, test }: ReturnType<typeof listed>): string {
  return `${id}  ${status.padEnd(7)}  ${expires_at ?? "does not expire"}  ${name}  ${scopes.join(",")}${test ? "  test" : ""}`;
}

export const apiKeyList: Command = {
  name: "api-key list",
  summary: "List the keys of a workspace",
  description: "The keys themselves are not shown: nobody has them. Reads the log from its start.",
  examples: ["postledger api-key list --workspace <id>"],
  options: [WORKSPACE_OPTION],
  async run(invocation) {
    const keys = await loadOfWorkspace(invocation, apiKeyAggregate);
    const list = keys.map(([id, key]) => listed(id, key));
    invocation.print(list, list.map(keyLine));
  },
};
