import { afterEach, beforeEach, expect, test } from "bun:test";
import { apiKeyAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { principalOfKey } from "../../../src/commands/apiKey/authenticate.ts";
import { issueFurtherKey, issueKey } from "../../../src/commands/apiKey/issueApiKey.ts";
import { revokeKey } from "../../../src/commands/apiKey/revokeApiKey.ts";
import { rotateKey, rotateKeyForOperator } from "../../../src/commands/apiKey/rotateApiKey.ts";
import { load } from "../../../src/commands/transact.ts";
import { apiKeyStream } from "../../../src/domain/apiKey/events.ts";
import { invariant } from "../../../src/kernel/assert.ts";
import type { CommandContext } from "../../../src/kernel/event/commandContext.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import { type DeliveryWorld, deliveryWorld } from "../../reactors/email/deliveryFixtures.ts";

const NEW_KEY = { name: "key", scopes: ["email:send"] as const, expiresAt: null };

let world: DeliveryWorld;
let context: CommandContext;
beforeEach(async () => {
  world = await deliveryWorld();
  context = { at: world.clock.now(), correlationId: "test", actor: "test", workspaceId: world.workspaceId };
});
afterEach(() => world.close());

async function newKey() {
  const issued = await issueKey(world.deps, { ...NEW_KEY, workspaceId: world.workspaceId }, context);
  const principal = issued && (await principalOfKey(world.deps, issued.id));
  invariant(principal, "the key is in the log");
  return principal;
}

/** Revokes the key just before the next one is issued. Gives the state of that next key. */
function revokeAtNextIssue(keyId: string) {
  let issued = "";
  world.store.beforeAppend = async (stream, types) => {
    if (!types.includes("ApiKeyIssued")) return;
    issued = stream.slice(apiKeyStream("").length);
    await revokeKey(world.deps, keyId, context);
  };
  return async () => (await load(world.store, apiKeyAggregate.of(issued))).state;
}

test("a key that is revoked while it issues another one does not live on in that one", async () => {
  const issuer = await newKey();
  const nextKey = revokeAtNextIssue(issuer.keyId);
  expect(await issueFurtherKey(world.deps, issuer, NEW_KEY, context)).toEqual({ kind: "issuerGone" });
  expect(await nextKey()).toMatchObject({ revoked: true });
});

test("a key that is revoked while another one rotates it does not live on in its replacement", async () => {
  const [issuer, old] = [await newKey(), await newKey()];
  const nextKey = revokeAtNextIssue(old.keyId);
  const rotation = { id: old.keyId, overlapMs: 1_000 };
  expect(await rotateKey(world.deps, issuer, rotation, context)).toEqual({ kind: "notActive" });
  expect(await nextKey()).toMatchObject({ revoked: true });
});

test("nor does one that the operator rotates at that moment", async () => {
  const old = await newKey();
  const nextKey = revokeAtNextIssue(old.keyId);
  const rotation = { id: old.keyId, overlapMs: 1_000 };
  expect(await rotateKeyForOperator(world.deps, rotation, context)).toEqual({ kind: "notActive" });
  expect(await nextKey()).toMatchObject({ revoked: true });
});

test("a replacement that can neither be confirmed nor revoked is named by the error", async () => {
  const [issuer, old] = [await newKey(), await newKey()];
  let issued = "";
  world.store.beforeAppend = (stream, types) => {
    if (types.includes("ApiKeyIssued")) issued = stream.slice(apiKeyStream("").length);
    else throw new StoreError("unavailable", "gone");
  };
  const rotation = { id: old.keyId, overlapMs: 1_000 };
  for (const rotate of [
    () => rotateKey(world.deps, issuer, rotation, context),
    () => rotateKeyForOperator(world.deps, rotation, context),
  ]) {
    const error = await rotate().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreError);
    expect(String(error)).toContain(
      `gone; the new key ${issued} may be left: nobody has its secret, so revoke it`,
    );
  }
});

test("a replacement whose rotation the store could not record is revoked: nobody got its secret", async () => {
  const [issuer, old] = [await newKey(), await newKey()];
  let issued = "";
  world.store.beforeAppend = (stream, types) => {
    if (types.includes("ApiKeyIssued")) issued = stream.slice(apiKeyStream("").length);
    if (types.includes("ApiKeyRotated")) throw new StoreError("unavailable", "gone");
  };
  const rotation = { id: old.keyId, overlapMs: 1_000 };
  for (const rotate of [
    () => rotateKey(world.deps, issuer, rotation, context),
    () => rotateKeyForOperator(world.deps, rotation, context),
  ]) {
    await expect(rotate()).rejects.toThrow("gone");
    expect((await load(world.store, apiKeyAggregate.of(issued))).state).toMatchObject({ revoked: true });
    expect((await load(world.store, apiKeyAggregate.of(old.keyId))).state).toMatchObject({ revoked: false });
  }
});
