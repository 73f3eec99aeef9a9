import { describe, expect, test } from "bun:test";
import { suppressionAggregate } from "../../src/commands/aggregateDefinitions.ts";
import { suppress, unsuppress } from "../../src/domain/suppression/decisions.ts";
import type { SuppressionEvent } from "../../src/domain/suppression/events.ts";
import { foldOf, givenWhenThen } from "../support/givenWhenThen.ts";

const given = givenWhenThen(suppressionAggregate);
const facts = {
  workspaceId: "w",
  recipientHash: "00",
  reason: "bounce",
  emailId: "e",
  code: 550,
  reply: "no",
};
const stored: SuppressionEvent = { type: "SuppressionAddressStored", data: { address: "ana@example.com" } };
const suppressed: SuppressionEvent = { type: "RecipientSuppressed", data: facts };
const unsuppressed: SuppressionEvent = {
  type: "RecipientUnsuppressed",
  data: { workspaceId: "w", recipientHash: "00" },
};

describe("a recipient", () => {
  test("is suppressed once", () => {
    given()
      .when((state) => suppress(state, { address: "ana@example.com" }, facts))
      .then("suppressed", stored, suppressed)
      .again("alreadySuppressed");
  });

  test("keeps the first reason", () => {
    given(stored, suppressed)
      .when((state) =>
        suppress(state, { address: "ana@example.com" }, { ...facts, reason: "manual", emailId: "other" }),
      )
      .then("alreadySuppressed");
  });

  test("can be suppressed again after the suppression was lifted", () => {
    given(stored, suppressed, unsuppressed)
      .when((state) => suppress(state, { address: "ana@example.com" }, facts))
      .then("suppressed", stored, suppressed);
  });

  test("is unsuppressed once", () => {
    given(stored, suppressed).when(unsuppress).then("unsuppressed", unsuppressed).again("notSuppressed");
  });

  test("who was never suppressed cannot be unsuppressed", () => {
    given().when(unsuppress).then("notSuppressed");
    given(stored, suppressed, unsuppressed).when(unsuppress).then("notSuppressed");
  });

  test("suppressed by hand has the note in the event with the address, where an erasure finds it", () => {
    const manual = { workspaceId: "w", recipientHash: "00", reason: "manual" };
    const written = { address: "ana@example.com", note: "asked by ana@example.com" };
    given()
      .when((state) => suppress(state, written, manual))
      .then(
        "suppressed",
        { type: "SuppressionAddressStored", data: written },
        { type: "RecipientSuppressed", data: manual },
      );
  });

  test("stays suppressed without the event that held the address", () => {
    expect(foldOf(suppressionAggregate, [suppressed])).toEqual(facts);
  });
});
