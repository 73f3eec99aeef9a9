import { describe, expect, test } from "bun:test";
import { apiKeyAggregate } from "../../src/commands/services.ts";
import { issueApiKey, revokeApiKey } from "../../src/domain/apiKey/decisions.ts";
import type { ApiKeyEvent } from "../../src/domain/apiKey/events.ts";
import { isScope, SCOPES } from "../../src/domain/apiKey/scopes.ts";
import { isUsable } from "../../src/domain/apiKey/state.ts";
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

  test("is revoked once", () => {
    given(issued).when(revokeApiKey).then("revoked", revoked).again("revoked");
  });

  test("that was never issued cannot be revoked", () => {
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
