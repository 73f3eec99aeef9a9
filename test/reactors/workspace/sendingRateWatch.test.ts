import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { emails } from "../../../projections/emails/emails.ts";
import type { Dependencies } from "../../../src/commands/dependencies.ts";
import {
  newWorkspace,
  pauseWorkspace,
  resumeWorkspace,
} from "../../../src/commands/workspace/manageWorkspace.ts";
import { workspaceStream } from "../../../src/domain/workspace/events.ts";
import type { RateSettings } from "../../../src/domain/workspace/sendingRates.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, rfc3339 } from "../../../src/kernel/time.ts";
import type { EventStore } from "../../../src/ports/eventStore.ts";
import type { ReadDatabaseFile } from "../../../src/ports/readDatabase.ts";
import { type SendingRateWatch, sendingRateWatch } from "../../../src/reactors/workspace/sendingRateWatch.ts";
import { openStore } from "../../../src/service/adapters/openStore.ts";
import { readConfig } from "../../../src/service/config/config.ts";
import { emptyReadModel } from "../../support/emptyReadModel.ts";
import { testStores } from "../../support/stores/stores.ts";
import { testDependencies } from "../../support/testDependencies.ts";
import { until } from "../../support/until.ts";
import { type TestClock, testClock } from "../email/deliveryFixtures.ts";

const OFF = { bounce: 0, complaint: 0 };
/** 5 % and 0.1 %. */
const WARNING = { bounce: 5_000, complaint: 100 };
/** 10 % and 0.5 %. */
const PAUSE = { bounce: 10_000, complaint: 500 };

describe.each(await testStores())("the watch of bounce and complaint rates on $name", (testStore) => {
  let dataDir: string;
  let stores: EventStore[];
  let instances: Dependencies[];
  let clock: TestClock;
  let db: ReadDatabaseFile;
  let watches: SendingRateWatch[];
  let changes: string[];
  let faults: unknown[];
  /** How often each watch has begun a round. */
  let looks: number[];
  let messages = 0;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "postledger-rates-"));
    const config = readConfig({ ...testStore.env, DATA_DIR: dataDir });
    clock = testClock();
    stores = [await openStore(config), await openStore(config)];
    instances = stores.map((store) => testDependencies({ store, clock }));
    db = emptyReadModel(emails);
    [watches, changes, faults, looks] = [[], [], [], []];
  });
  afterEach(async () => {
    for (const watch of watches) await watch.stop();
    db.close();
    for (const store of stores) await store.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const context = () => ({ at: clock.now(), correlationId: "test", actor: "cli" });
  const [first, second] = [() => instances[0] as Dependencies, () => instances[1] as Dependencies];
  const workspace = () => newWorkspace(first(), "shop", context());

  function apply(stream: string, revision: number, type: string, data: object): void {
    const metadata = { at: rfc3339(clock.now()), actor: "test" };
    emails.apply({ stream, revision, id: crypto.randomUUID(), metadata, type, data }, db);
  }

  /** Messages that a relay took, all accepted now; the first of them bounced for good, or were complained about. */
  function sent(
    workspaceId: string,
    {
      count = 100,
      bounced = 0,
      complained = 0,
      marks = {},
    }: Partial<Record<"count" | "bounced" | "complained", number>> & {
      readonly marks?: object;
    },
  ): void {
    for (let nth = 0; nth < count; nth += 1) {
      messages += 1;
      const stream = `email-${messages}`;
      apply(stream, 1, "EmailQueued", {
        ...{ workspaceId, senderId: "s", recipientHash: "h", fingerprint: "f", contentEventId: "c" },
        ...{ acceptedAt: rfc3339(clock.now()), contentDigest: "d", contentBytes: 1, ...marks },
      });
      apply(stream, 2, "EmailSent", { attempt: 1, transport: "smtp", reply: "250" });
      const report = { attempt: 1, source: "ses" };
      if (nth < bounced)
        apply(stream, 3, "EmailBounced", { ...report, reason: "recipient_address_rejected" });
      else if (nth < bounced + complained)
        apply(stream, 3, "EmailComplained", { ...report, feedbackType: "abuse" });
    }
  }

  function watch(thresholds: Partial<RateSettings>, deps = first()): SendingRateWatch {
    const nth = watches.length;
    const made = sendingRateWatch({
      deps,
      emails: db,
      worker: `w${nth}`,
      hasCaughtUp: () => {
        looks[nth] = (looks[nth] ?? 0) + 1;
        return true;
      },
      thresholds: { warning: OFF, pause: OFF, ...thresholds },
      intervalMs: 1,
      onChange: (change, { workspaceId, kind, reported, sent: of }) =>
        changes.push(`${workspaceId} ${kind} ${change} ${reported}/${of}`),
      onTrouble: (error) => faults.push(error),
    });
    watches.push(made);
    made.start();
    return made;
  }

  /** Waits until each watch has gone through all workspaces since now. */
  async function looked(): Promise<void> {
    const before = watches.map((_, nth) => looks[nth] ?? 0);
    // One round may be under way, so the next one has to end too.
    await until(
      () => before.every((count, nth) => (looks[nth] ?? 0) >= count + 2),
      "each watch to look again",
    );
    expect(faults).toEqual([]);
  }

  async function pausesOf(id: string) {
    const events = await stores[0]?.read(workspaceStream(id), 0, 100);
    return (events ?? []).filter(({ type }) => type === "SendingPaused");
  }

  test("tells of a rate once when it begins to be high and once when it is well below, and pauses nobody", async () => {
    const id = await workspace();
    const { high } = watch({ warning: WARNING });
    sent(id, { bounced: 4 });
    await looked();
    expect([changes, high()]).toEqual([[], []]);
    sent(id, { count: 1, bounced: 1 });
    sent(id, { count: 1, bounced: 1 });
    await looked();
    expect(changes).toEqual([`${id} bounce began 6/102`]);
    // Near the threshold it stays.
    sent(id, { count: 20 });
    await looked();
    expect(high()).toEqual([{ workspaceId: id, kind: "bounce", reported: 6, sent: 122 }]);
    sent(id, { count: 878, complained: 1 });
    await looked();
    expect(changes.slice(1).sort()).toEqual([`${id} bounce ended 6/1000`, `${id} complaint began 1/1000`]);
    clock.advance(8 * DAY_MS);
    await looked();
    expect(changes.at(-1)).toBe(`${id} complaint ended 1/1000`);
    expect(high()).toEqual([]);
    expect(await pausesOf(id)).toEqual([]);
  });

  test("pauses a workspace once, whoever looks, with the rate as the reason and the service as the actor", async () => {
    const [id, other] = [await workspace(), await workspace()];
    sent(id, { bounced: 10 });
    sent(other, { bounced: 9 });
    watch({ pause: PAUSE });
    watch({ pause: PAUSE }, second());
    await until(async () => (await pausesOf(id)).length > 0, "the pause");
    await looked();
    const pauses = await pausesOf(id);
    expect(pauses).toHaveLength(1);
    const since = rfc3339(clock.now() - 7 * DAY_MS);
    expect(pauses[0]).toMatchObject({
      data: { at: rfc3339(clock.now()), rate: { kind: "bounce", reported: 10, sent: 100, since } },
      metadata: { actor: expect.stringMatching(/^worker:w[01]$/), workspaceId: id },
    });
    expect(await pausesOf(other)).toEqual([]);
  });

  test("leaves a workspace alone after a resumption until messages since then are too bad themselves", async () => {
    const id = await workspace();
    sent(id, { bounced: 50 });
    watch({ pause: PAUSE });
    watch({ pause: PAUSE }, second());
    await until(async () => (await pausesOf(id)).length === 1, "the pause");
    clock.advance(MINUTE_MS);
    await resumeWorkspace(first(), id, context());
    second().workspaces.forget(id);
    await looked();
    // The rest of the hour counts for nothing.
    sent(id, { bounced: 20 });
    await looked();
    expect(await pausesOf(id)).toHaveLength(1);
    clock.advance(HOUR_MS);
    sent(id, { bounced: 9 });
    await looked();
    expect(await pausesOf(id)).toHaveLength(1);
    sent(id, { bounced: 11 });
    await until(async () => (await pausesOf(id)).length === 2, "the second pause");
    expect((await pausesOf(id))[1]?.data).toMatchObject({ rate: { reported: 20, sent: 200 } });
  });

  test("pauses nobody for test mail, mail to the simulator, few messages or a workspace that is paused", async () => {
    const [tested, few, held] = [await workspace(), await workspace(), await workspace()];
    sent(tested, { bounced: 100, marks: { simulated: true } });
    sent(tested, { bounced: 100, marks: { simulated: true, test: true } });
    sent(tested, { count: 99, bounced: 99 });
    sent(few, { count: 900, complained: 90 });
    sent(held, { bounced: 100 });
    await pauseWorkspace(first(), held, context());
    watch({ pause: PAUSE });
    await looked();
    for (const id of [tested, few]) expect(await pausesOf(id)).toEqual([]);
    expect((await pausesOf(held)).map(({ data }) => data)).toEqual([{ at: rfc3339(clock.now()) }]);
  });

  test("somebody's own pause and resumption begin nothing anew", async () => {
    const id = await workspace();
    sent(id, { bounced: 9 });
    await pauseWorkspace(first(), id, context());
    clock.advance(MINUTE_MS);
    await resumeWorkspace(first(), id, context());
    sent(id, { bounced: 11 });
    watch({ pause: PAUSE });
    await until(async () => (await pausesOf(id)).length === 2, "the pause");
    expect((await pausesOf(id))[1]?.data).toMatchObject({ rate: { reported: 20, sent: 200 } });
  });

  test("a clock that was ahead neither pauses for what it dated later, nor keeps a resumed one from being paused", async () => {
    const id = await workspace();
    clock.advance(40 * DAY_MS);
    sent(id, { bounced: 50 });
    const made = watch({ pause: PAUSE });
    await until(async () => (await pausesOf(id)).length === 1, "the pause");
    await made.stop();
    await resumeWorkspace(first(), id, context());
    clock.advance(-40 * DAY_MS);
    sent(id, { bounced: 9 });
    watch({ pause: PAUSE });
    await until(() => (looks[1] ?? 0) >= 3, "the second watch to look twice");
    expect(await pausesOf(id)).toHaveLength(1);
    sent(id, { bounced: 11 });
    await until(async () => (await pausesOf(id)).length === 2, "the second pause");
    expect((await pausesOf(id))[1]?.data).toMatchObject({ rate: { reported: 20, sent: 200 } });
  });

  test("says nothing before the read model has caught up and all workspaces were looked at", async () => {
    const id = await workspace();
    sent(id, { bounced: 50 });
    let isThere = false;
    const made = sendingRateWatch({
      ...{ deps: first(), emails: db, worker: "w", thresholds: { warning: WARNING, pause: PAUSE } },
      ...{ onChange: () => {}, onTrouble: (error: unknown) => faults.push(error) },
      hasCaughtUp: () => {
        looks[0] = (looks[0] ?? 0) + 1;
        return isThere;
      },
    });
    watches.push(made);
    made.start();
    await until(() => (looks[0] ?? 0) >= 2, "the watch to ask twice");
    expect(made.high()).toBeNull();
    expect(await pausesOf(id)).toEqual([]);
    isThere = true;
    await until(() => made.high() !== null, "the first look");
    expect(made.high()).toHaveLength(1);
    expect(await pausesOf(id)).toHaveLength(1);
  });

  test("goes through many workspaces, of which one cannot be read", async () => {
    const ids: string[] = [];
    for (let nth = 0; nth < 60; nth += 1) ids.push(await workspace());
    for (const id of ids) sent(id, { count: 100, bounced: 10 });
    const [broken = ""] = ids.toSorted();
    const deps = {
      clock,
      workspaces: {
        ...first().workspaces,
        get: async (id: string) => {
          if (id === broken) throw new Error("an event that cannot be read");
          return first().workspaces.get(id);
        },
      },
    };
    const made = sendingRateWatch({
      ...{
        deps,
        emails: db,
        worker: "w",
        hasCaughtUp: () => true,
        thresholds: { warning: OFF, pause: PAUSE },
      },
      ...{ intervalMs: HOUR_MS, onChange: () => {}, onTrouble: (error: unknown) => faults.push(error) },
    });
    watches.push(made);
    made.start();
    const allPaused = async () => {
      for (const id of ids) if (id !== broken && (await pausesOf(id)).length === 0) return false;
      return true;
    };
    await until(allPaused, "all others to be paused");
    expect(faults).toEqual([new Error("an event that cannot be read")]);
  });
});
