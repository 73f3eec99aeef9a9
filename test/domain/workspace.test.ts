import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { workspaceAggregate } from "../../src/commands/aggregateDefinitions.ts";
import {
  changeLimits,
  createWorkspace,
  pauseSending,
  renameWorkspace,
  resumeSending,
} from "../../src/domain/workspace/decisions.ts";
import type { WorkspaceEvent } from "../../src/domain/workspace/events.ts";
import { pausedMs } from "../../src/domain/workspace/state.ts";
import { limitsOf, type WorkspaceLimits } from "../../src/domain/workspace/workspaceLimits.ts";
import { rfc3339 } from "../../src/kernel/time.ts";
import { foldOf, givenWhenThen } from "../support/givenWhenThen.ts";

const given = givenWhenThen(workspaceAggregate);
const NOW = Date.parse("2030-01-01T12:00:00Z");
const created: WorkspaceEvent = { type: "WorkspaceCreated", data: { name: "shop" } };
const paused = (at: number): WorkspaceEvent => ({ type: "SendingPaused", data: { at: rfc3339(at) } });
const resumed = (at: number): WorkspaceEvent => ({ type: "SendingResumed", data: { at: rfc3339(at) } });

describe("a workspace", () => {
  test("is created once", () => {
    given()
      .when((state) => createWorkspace(state, "shop"))
      .then("created", created)
      .again("alreadyExists");
  });

  test("is renamed once", () => {
    given(created)
      .when((state) => renameWorkspace(state, "store"))
      .then("renamed", { type: "WorkspaceRenamed", data: { name: "store" } })
      .again("renamed");
    given(created)
      .when((state) => renameWorkspace(state, "shop"))
      .then("renamed");
  });

  test("is paused once", () => {
    given(created)
      .when((state) => pauseSending(state, NOW))
      .then("paused", paused(NOW))
      .again("paused");
  });

  test("is resumed once", () => {
    given(created, paused(NOW))
      .when((state) => resumeSending(state, NOW + 1))
      .then("resumed", resumed(NOW + 1))
      .again("resumed");
  });

  test("that is not paused has nothing to resume", () => {
    given(created)
      .when((state) => resumeSending(state, NOW))
      .then("resumed");
  });

  test("that was never created is neither renamed, paused nor resumed", () => {
    given()
      .when((state) => renameWorkspace(state, "shop"))
      .then("notFound");
    given()
      .when((state) => pauseSending(state, NOW))
      .then("notFound");
    given()
      .when((state) => resumeSending(state, NOW))
      .then("notFound");
  });
});

describe("a workspace's limits", () => {
  const defaults: WorkspaceLimits = {
    messagesPerDay: 1_000,
    storageBytes: 2_000,
    contentBytes: 3_000,
    keyRequestsPerSecond: 30,
    workspaceRequestsPerSecond: 40,
    attachmentRetentionHours: 24,
    contentRetentionDays: 30,
    archiveAttachments: false,
  };
  const changed = (data: Extract<WorkspaceEvent, { type: "LimitsChanged" }>["data"]): WorkspaceEvent => ({
    type: "LimitsChanged",
    data,
  });
  const limitsFrom = (...events: WorkspaceEvent[]) =>
    limitsOf(foldOf(workspaceAggregate, [created, ...events]), defaults);

  test("are changed once", () => {
    given(created)
      .when((state) => changeLimits(state, { messagesPerDay: 5, archiveAttachments: true }))
      .then("changed", changed({ messagesPerDay: 5, archiveAttachments: true }))
      .again("changed");
  });

  test("record only what is new", () => {
    given(created, changed({ messagesPerDay: 5 }))
      .when((state) => changeLimits(state, { messagesPerDay: 5, storageBytes: 6 }))
      .then("changed", changed({ storageBytes: 6 }));
  });

  test("are reset to the default once", () => {
    given(created, changed({ messagesPerDay: 5 }))
      .when((state) => changeLimits(state, { messagesPerDay: null, storageBytes: null }))
      .then("changed", changed({ messagesPerDay: null }))
      .again("changed");
  });

  test("of a workspace that was never created do not change", () => {
    given()
      .when((state) => changeLimits(state, { messagesPerDay: 5 }))
      .then("notFound");
  });

  test("are the instance's, except those that were set", () => {
    expect(limitsFrom()).toEqual(defaults);
    const own = [changed({ messagesPerDay: 0, archiveAttachments: true }), changed({ storageBytes: 7 })];
    expect(limitsFrom(...own)).toEqual({
      ...defaults,
      messagesPerDay: 0,
      storageBytes: 7,
      archiveAttachments: true,
    });
    expect(limitsFrom(...own, changed({ messagesPerDay: null, archiveAttachments: false }))).toEqual({
      ...defaults,
      storageBytes: 7,
    });
  });
});

describe("the time that a workspace was paused", () => {
  const fold = (...events: WorkspaceEvent[]) => foldOf(workspaceAggregate, [created, ...events]);

  test.each([
    ["never", fold(), 0],
    ["before all that counts", fold(paused(NOW), resumed(NOW + 10)), 0],
    ["across the beginning", fold(paused(NOW), resumed(NOW + 30)), 10],
    ["within", fold(paused(NOW + 30), resumed(NOW + 50)), 20],
    ["twice", fold(paused(NOW + 30), resumed(NOW + 50), paused(NOW + 60), resumed(NOW + 65)), 25],
    ["until now", fold(paused(NOW + 90)), 10],
    ["only after now", fold(paused(NOW + 200)), 0],
    ["no such workspace", foldOf(workspaceAggregate, []), 0],
  ])("%s", (_, state, expected) => {
    expect(pausedMs(state, NOW + 20, NOW + 100)).toBe(expected);
  });

  test("grows with the clock and never by more than the clock (property)", () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 1_000 }), { maxLength: 12 });
    fc.assert(
      fc.property(gaps, fc.nat(5_000), fc.nat(5_000), fc.nat(5_000), (waits, since, first, more) => {
        let at = NOW;
        const events = waits.map((wait, index) => {
          at += wait;
          return index % 2 === 0 ? paused(at) : resumed(at);
        });
        const state = fold(...events);
        const now = NOW + since + first;
        const before = pausedMs(state, NOW + since, now);
        const after = pausedMs(state, NOW + since, now + more);
        expect(before).toBeGreaterThanOrEqual(0);
        expect(before).toBeLessThanOrEqual(first);
        expect(after).toBeGreaterThanOrEqual(before);
        expect(after - before).toBeLessThanOrEqual(more);
      }),
      { numRuns: 300 },
    );
  });
});
