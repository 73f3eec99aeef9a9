import { describe, expect, test } from "bun:test";
import { senderAggregate } from "../../src/commands/services.ts";
import { addSender, verifySender } from "../../src/domain/sender/decisions.ts";
import type { SenderEvent } from "../../src/domain/sender/events.ts";
import { canSend } from "../../src/domain/sender/state.ts";
import { foldOf, givenWhenThen } from "../support/givenWhenThen.ts";

const given = givenWhenThen(senderAggregate);
const facts = { workspaceId: "w", address: "shop@example.com", displayName: "Shop" };
const added: SenderEvent = { type: "SenderAdded", data: facts };
const verified: SenderEvent = { type: "SenderVerified", data: { method: "operator" } };
const disabled: SenderEvent = { type: "SenderDisabled", data: {} };
const enabled: SenderEvent = { type: "SenderEnabled", data: {} };

describe("a sender", () => {
  test("is added once", () => {
    given()
      .when((state) => addSender(state, facts))
      .then("added", added)
      .again("alreadyAdded");
  });

  test("is verified once", () => {
    given(added)
      .when((state) => verifySender(state, "operator"))
      .then("verified", verified)
      .again("verified");
  });

  test("that was never added cannot be verified", () => {
    given()
      .when((state) => verifySender(state, "operator"))
      .then("notFound");
  });

  test("that is disabled stays disabled when it is verified", () => {
    given(added, disabled)
      .when((state) => verifySender(state, "operator"))
      .then("verified", verified);
    expect(canSend(foldOf(senderAggregate, [added, disabled, verified]))).toBe(false);
  });

  test.each([
    ["never added", [], false],
    ["added", [added], false],
    ["verified", [added, verified], true],
    ["disabled", [added, verified, disabled], false],
    ["enabled again", [added, verified, disabled, enabled], true],
    ["enabled and never verified", [added, disabled, enabled], false],
    ["without its beginning", [verified], false],
  ] as const)("can send or cannot when %s", (_, events, expected) => {
    expect(canSend(foldOf(senderAggregate, events))).toBe(expected);
  });
});
