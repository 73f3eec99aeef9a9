import { describe, expect, test } from "bun:test";
import {
  copyInstance,
  freezeInstance,
  loseEvents,
  restoreInstance,
  resumeInstance,
  unfreezeInstance,
} from "../../src/domain/instance/decisions.ts";
import { type InstanceEvent, instanceCodec } from "../../src/domain/instance/events.ts";
import { incarnationsOf, instanceDecider, type Restoration } from "../../src/domain/instance/state.ts";
import { coveredMs, rfc3339, SECOND_MS } from "../../src/kernel/time.ts";
import { foldOf, givenWhenThen } from "../support/givenWhenThen.ts";

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
    expect(fold(created)).toMatchObject({ ...facts, format: 1 });
    expect(fold(created, rotated)).toMatchObject({ ...facts, sealedDataKey: "second" });
  });
});

const at = (seconds: number) => rfc3339(seconds * SECOND_MS);
const frozen = (seconds: number): InstanceEvent => ({ type: "InstanceSealed", data: { at: at(seconds) } });
const unfrozen = (seconds: number): InstanceEvent => ({
  type: "InstanceUnsealed",
  data: { at: at(seconds) },
});
const resumed = (seconds: number): InstanceEvent => ({ type: "InstanceResumed", data: { at: at(seconds) } });
const restoration = (copyId: string, seconds: number) => {
  const times = { takenAt: (seconds - 5) * SECOND_MS, at: seconds * SECOND_MS };
  return { copyId, from: "backup", sealed: false, ...times } as const satisfies Restoration;
};
const restored = (copyId: string, seconds: number): InstanceEvent => {
  const { takenAt, at: _, ...data } = restoration(copyId, seconds);
  return { type: "InstanceRestored", data: { ...data, takenAt: rfc3339(takenAt), at: at(seconds) } };
};
const spans = (...pairs: (readonly [number, number | null])[]) =>
  pairs.map(([from, to]) => ({ from: from * SECOND_MS, to: to === null ? null : to * SECOND_MS }));

describe("a freeze", () => {
  test("begins once, and ends once", () => {
    expect(freezeInstance(fold(created), 3_000)).toEqual({ outcome: 3_000, events: [frozen(3)] });
    expect(freezeInstance(fold(created, frozen(3)), 9_000)).toEqual({ outcome: 3_000, events: [] });
    expect(unfreezeInstance(fold(created, frozen(3)), 4_000)).toEqual({
      outcome: "unfrozen",
      events: [unfrozen(4)],
    });
    expect(unfreezeInstance(fold(created), 4_000)).toEqual({ outcome: "notFrozen", events: [] });
    expect(freezeInstance(null, 1)).toEqual({ outcome: null, events: [] });
    expect(unfreezeInstance(null, 1)).toEqual({ outcome: "notFrozen", events: [] });
  });

  test("is a downtime from its beginning to its end", () => {
    expect(fold(created, frozen(3))).toMatchObject({ frozenAt: 3_000, downtimes: spans([3, null]) });
    expect(fold(created, frozen(3), unfrozen(7))).toMatchObject({ frozenAt: null, downtimes: spans([3, 7]) });
  });
});

describe("a restoration", () => {
  test("holds until it is resumed, once", () => {
    expect(restoreInstance(fold(created), restoration("a", 20))).toEqual({
      outcome: "restored",
      events: [restored("a", 20)],
    });
    expect(restoreInstance(fold(created, restored("a", 20)), restoration("a", 21)).events).toEqual([]);
    expect(restoreInstance(null, restoration("a", 20)).outcome).toBe("notFound");
    const held = fold(created, restored("a", 20));
    expect(held).toMatchObject({ isHeld: true, restored: restoration("a", 20) });
    expect(resumeInstance(held, 30_000)).toEqual({ outcome: restoration("a", 20), events: [resumed(30)] });
    const afterResume = fold(created, restored("a", 20), resumed(30));
    expect(afterResume).toMatchObject({ isHeld: false });
    expect(resumeInstance(afterResume, 31_000)).toEqual({ outcome: null, events: [] });
    expect(resumeInstance(null, 1)).toEqual({ outcome: null, events: [] });
  });

  test("is a downtime from when the copy was taken, or from the freeze before it", () => {
    expect(fold(created, restored("a", 20), resumed(30))?.downtimes).toEqual(spans([15, 30]));
    expect(fold(created, frozen(3), restored("a", 20), resumed(30))).toMatchObject({
      frozenAt: null,
      downtimes: spans([3, 30]),
    });
    const restoredTwice = fold(created, restored("a", 20), restored("b", 40), resumed(50));
    expect(restoredTwice?.downtimes).toEqual(spans([15, 50]));
    expect(restoredTwice?.restored?.copyId).toBe("b");
  });

  test("still holds when a freeze that came after it ends", () => {
    const state = fold(created, restored("a", 20), frozen(22), unfrozen(24));
    expect(state).toMatchObject({ isHeld: true, frozenAt: null, downtimes: spans([15, null]) });
  });
});

describe("a log that lost its newest events", () => {
  const given = givenWhenThen({ decider: instanceDecider, codec: instanceCodec });
  const loss = { copyId: "b", incarnation: "log", takenAt: 15_000, at: 20_000 };
  const lost: InstanceEvent = {
    type: "InstanceRestored",
    data: { copyId: "b", from: "backup", lost: true, sealed: false, takenAt: at(15), at: at(20) },
  };

  test("is held once, by the first instance that finds it", () => {
    given(created)
      .when((state) => loseEvents(state, loss))
      .then("held", lost)
      .again("notHeld");
    const other = { ...loss, copyId: "c" };
    given(created, lost)
      .when((state) => loseEvents(state, other))
      .then("notHeld");
    given(created, lost, resumed(30))
      .when((state) => loseEvents(state, other))
      .then("notHeld");
  });

  test("is held again if it loses events again, also while it is held or after it was restored", () => {
    const again: InstanceEvent = { ...lost, data: { ...lost.data, copyId: "c" } as typeof lost.data };
    for (const before of [lost, restored("b", 20)])
      given(created, before)
        .when((state) => loseEvents(state, { ...loss, copyId: "c", incarnation: "log/b" }))
        .then("held", again);
  });

  test("sends nothing while it is frozen, and needs no hold", () => {
    given(created, frozen(3))
      .when((state) => loseEvents(state, loss))
      .then("notHeld");
    given()
      .when((state) => loseEvents(state, loss))
      .then("notHeld");
  });

  test("is another copy of the log, whose downtime began with its newest event", () => {
    const held = fold(created, lost);
    expect(held).toMatchObject({ isHeld: true, restored: { from: "loss" }, downtimes: spans([15, null]) });
    expect(held && incarnationsOf(held)).toEqual(["log", "log/b"]);
    expect(held?.copies).toEqual([]);
    expect(resumeInstance(held, 30_000)).toMatchObject({ outcome: { from: "loss" }, events: [resumed(30)] });
  });
});

describe("a copy", () => {
  const copy = { kind: "backup", at: 3_000, place: "/backups/one" } as const;
  const copied: InstanceEvent = { type: "InstanceCopied", data: { ...copy, at: at(3) } };

  test("is recorded before it is taken, unless the log is frozen", () => {
    expect(copyInstance(fold(created), copy)).toEqual({ outcome: "noted", events: [copied] });
    expect(copyInstance(fold(created, frozen(2)), copy)).toEqual({ outcome: "notTaken", events: [] });
    expect(copyInstance(null, copy).events).toEqual([]);
    expect(fold(created, copied, copied)?.copies).toEqual([copy, copy]);
  });

  test("that is kept up to date counts once, with its newest record", () => {
    const kept = (seconds: number, place: string) => {
      const followed = { kind: "backup", at: seconds * SECOND_MS, place, following: true } as const;
      const [event] = copyInstance(fold(created), followed).events;
      return { followed, event: event as InstanceEvent };
    };
    const [first, other, again] = [kept(1, "/a"), kept(2, "/b"), kept(4, "/a")];
    const state = fold(created, first.event, other.event, copied, again.event);
    expect(state?.copies).toEqual([other.followed, copy, again.followed]);
  });

  test("that the log was imported from counts too, if the log could not record it", () => {
    const imported = (isFrozen: boolean): InstanceEvent => {
      const data = { copyId: "a", from: "import", takenAt: at(5), sealed: isFrozen, at: at(9) } as const;
      return { type: "InstanceRestored", data };
    };
    expect(fold(created, imported(true))?.copies).toEqual([{ kind: "export", at: 5_000, place: null }]);
    expect(fold(created, imported(false))?.copies).toEqual([]);
  });

  test("is remembered with a bounded number before it", () => {
    const many = Array.from({ length: 250 }, () => copied);
    expect(fold(created, ...many)?.copies).toHaveLength(200);
  });
});

describe("the time covered by spans", () => {
  test("counts overlaps once, and only between the given beginning and end", () => {
    expect(coveredMs(spans([0, 10], [5, 12], [20, null]), 2_000, 25_000)).toBe(15_000);
    expect(coveredMs(spans([20, null], [0, 30]), 5_000, 10_000)).toBe(5_000);
    expect(coveredMs([], 0, 1_000)).toBe(0);
  });
});
