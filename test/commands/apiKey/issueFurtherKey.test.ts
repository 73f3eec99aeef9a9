import { afterEach, beforeEach, expect, test } from "bun:test";
import { apiKeyAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { principalOfKey } from "../../../src/commands/apiKey/authenticate.ts";
import { issueFurtherKey, issueKey } from "../../../src/commands/apiKey/issueApiKey.ts";
import { revokeKey } from "../../../src/commands/apiKey/revokeApiKey.ts";
import { load } from "../../../src/commands/transact.ts";
import { apiKeyStream } from "../../../src/domain/apiKey/events.ts";
import { type DeliveryWorld, deliveryWorld } from "../../reactors/email/deliveryFixtures.ts";

let world: DeliveryWorld;
beforeEach(async () => {
  world = await deliveryWorld();
});
afterEach(() => world.close());

test("a key that is revoked while it issues another one does not live on in that one", async () => {
  const { deps, store, workspaceId } = world;
  const context = { at: world.clock.now(), correlationId: "test", actor: "test", workspaceId };
  const wanted = { name: "key", scopes: ["email:send"] as const, expiresAt: null };
  const issuer = await issueKey(deps, { ...wanted, workspaceId }, context);
  const principal = issuer && (await principalOfKey(deps, issuer.id));
  if (!principal) throw new Error("the key is in the log");
  const issued: string[] = [];
  store.beforeAppend = async (stream, types) => {
    if (!types.includes("ApiKeyIssued")) return;
    issued.push(stream);
    await revokeKey(deps, issuer.id, context);
  };
  expect(await issueFurtherKey(deps, principal, wanted, context)).toEqual({ kind: "issuerGone" });
  const [stream = ""] = issued;
  const { state } = await load(store, apiKeyAggregate.of(stream.slice(apiKeyStream("").length)));
  expect(state).toMatchObject({ revoked: true });
});
