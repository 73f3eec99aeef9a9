import { describe, expect, test } from "bun:test";
import { type InstanceEvent, instanceCodec } from "../../src/domain/instance/events.ts";
import { instanceDecider } from "../../src/domain/instance/state.ts";
import { foldOf } from "../support/givenWhenThen.ts";

const fold = (...events: InstanceEvent[]) =>
  foldOf({ decider: instanceDecider, codec: instanceCodec }, events);
const facts = { logId: "log", sealedDataKey: "first", contentStoreId: "content" };
const created: InstanceEvent = { type: "InstanceCreated", data: facts };
const rotated: InstanceEvent = { type: "MasterKeyRotated", data: { sealedDataKey: "second" } };

describe("an instance", () => {
  test("is nothing before it was created", () => {
    expect(fold()).toBeNull();
    expect(fold(rotated)).toBeNull();
  });

  test("keeps its identity when its key is rotated", () => {
    expect(fold(created)).toEqual({ ...facts, format: 1 });
    expect(fold(created, rotated)).toEqual({ ...facts, sealedDataKey: "second", format: 1 });
  });
});
