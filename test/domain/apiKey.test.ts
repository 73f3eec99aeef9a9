import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { apiKeyAggregate } from "../../src/commands/aggregateDefinitions.ts";
import {
  type IssueRefusal,
  issueApiKey,
  issueRefusal,
  renameApiKey,
  revokeApiKey,
} from "../../src/domain/apiKey/decisions.ts";
import type { ApiKeyEvent } from "../../src/domain/apiKey/events.ts";
import { isScope, permits, SCOPES } from "../../src/domain/apiKey/scopes.ts";
import { type ApiKey, isUsable } from "../../src/domain/apiKey/state.ts";
import { foldOf, givenWhenThen } from "../support/givenWhenThen.ts";

const given = givenWhenThen(apiKeyAggregate);
const NOW = Date.parse("2030-01-01T12:00:00Z");
const facts = { workspaceId: "w", name: "ci", hash: "00", scopes: ["email:send"] };
const issued: ApiKeyEvent = { type: "ApiKeyIssued", data: facts };
const expiring: ApiKeyEvent = {
  type: "ApiKeyIssued",
  data: { ...facts, expiresAt: "2030-01-01T12:00:00.000Z" },
};
const revoked: ApiKeyEvent = { type: "ApiKeyRevoked", data: {} };

describe("an API key", () => {
  test("is issued once", () => {
    given()
      .when((state) => issueApiKey(state, facts))
      .then("issued", issued)
      .again("alreadyExists");
  });

  test("is renamed once", () => {
    given(issued)
      .when((state) => renameApiKey(state, "shop"))
      .then("renamed", { type: "ApiKeyRenamed", data: { name: "shop" } })
      .again("renamed");
    given(issued)
      .when((state) => renameApiKey(state, facts.name))
      .then("renamed");
  });

  test("is revoked once", () => {
    given(issued).when(revokeApiKey).then("revoked", revoked).again("revoked");
  });

  test("that was never issued cannot be renamed or revoked", () => {
    given()
      .when((state) => renameApiKey(state, "shop"))
      .then("notFound");
    given().when(revokeApiKey).then("notFound");
  });

  test("that was revoked is not issued again", () => {
    given(issued, revoked)
      .when((state) => issueApiKey(state, facts))
      .then("alreadyExists");
  });

  test.each([
    ["never issued", [], NOW, false],
    ["issued", [issued], NOW, true],
    ["revoked", [issued, revoked], NOW, false],
    ["a moment before its expiry", [expiring], NOW - 1, true],
    ["at its expiry", [expiring], NOW, false],
    ["long after its expiry", [expiring], NOW * 2, false],
    ["revoked without its beginning", [revoked], NOW, false],
  ] as const)("opens something or nothing when %s", (_, events, now, expected) => {
    expect(isUsable(foldOf(apiKeyAggregate, events), now)).toBe(expected);
  });

  test("knows its scopes", () => {
    for (const scope of SCOPES) expect(isScope(scope)).toBe(true);
    for (const text of ["", "email", "email:SEND", "email:*", "toString"]) expect(isScope(text)).toBe(false);
  });
});

describe("a key that issues another one", () => {
  const scopes = ["email:send", "email:read", "workspace:manage"];
  const withoutExpiry = foldOf(apiKeyAggregate, [
    { type: "ApiKeyIssued", data: { ...facts, scopes } },
  ]) as ApiKey;
  const withExpiry: ApiKey = { ...withoutExpiry, expiresAt: NOW };
  const outlives: IssueRefusal = { kind: "outlivesIssuer", expiresAt: NOW };
  const lacks = (...missing: string[]): IssueRefusal => ({ kind: "scopesNotHeld", scopes: missing });

  test.each<[string, ApiKey, Parameters<typeof issueRefusal>[1], IssueRefusal | null]>([
    ["all that it holds", withoutExpiry, { scopes, expiresAt: null }, null],
    ["some of it, for a time", withoutExpiry, { scopes: ["email:read"], expiresAt: NOW }, null],
    ["a part of a scope that it holds", withoutExpiry, { scopes: ["email:status"], expiresAt: null }, null],
    [
      "a scope of which it holds a part",
      { ...withoutExpiry, scopes: new Set(["email:status"]) },
      { scopes: ["email:read"], expiresAt: null },
      lacks("email:read"),
    ],
    ["a scope that it does not hold", withoutExpiry, { scopes: ["a"], expiresAt: null }, lacks("a")],
    [
      "such scopes among its own",
      withoutExpiry,
      { scopes: ["a", ...scopes, "b"], expiresAt: null },
      lacks("a", "b"),
    ],
    ["less time than it has", withExpiry, { scopes, expiresAt: NOW - 1 }, null],
    ["as much time as it has", withExpiry, { scopes, expiresAt: NOW }, null],
    ["more time than it has", withExpiry, { scopes, expiresAt: NOW + 1 }, outlives],
    ["for ever, having a time itself", withExpiry, { scopes, expiresAt: null }, outlives],
    ["neither scope nor time that it has", withExpiry, { scopes: ["a"], expiresAt: null }, lacks("a")],
  ])("%s", (_, issuer, requested, refusal) => {
    expect(issueRefusal(issuer, requested)).toEqual(refusal);
  });

  test("can never grant what it does not hold, through any chain of keys (property)", () => {
    const requested = fc.record({
      scopes: fc.subarray([...SCOPES], { minLength: 1 }),
      expiresAt: fc.option(fc.integer({ min: NOW, max: NOW + 10 }), { nil: null }),
    });
    fc.assert(
      fc.property(requested, fc.array(requested, { maxLength: 8 }), (first, chain) => {
        const root: ApiKey = { ...withoutExpiry, scopes: new Set(first.scopes), expiresAt: first.expiresAt };
        let last = root;
        for (const next of chain)
          if (issueRefusal(last, next) === null)
            last = { ...root, scopes: new Set(next.scopes), expiresAt: next.expiresAt };
        for (const scope of last.scopes) expect(permits(root.scopes, scope)).toBeTrue();
        const endOf = (key: ApiKey) => key.expiresAt ?? Number.POSITIVE_INFINITY;
        expect(endOf(last)).toBeLessThanOrEqual(endOf(root));
      }),
    );
  });
});
