import { describe, expect, test } from "bun:test";
import { revokeKey } from "../../../src/commands/apiKey/revokeApiKey.ts";
import { makeLiveStreams, STREAMS_PER_SESSION_MAX } from "../../../src/http/dashboard/live/liveStreams.ts";
import { HOUR_MS } from "../../../src/kernel/time.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { logIn, type Visitor } from "../../support/dashboard.ts";
import { dashboardFixture } from "../../support/dashboardFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

/** A stream that is listened to. */
interface Listening {
  readonly status: number;
  heard(): string;
  hasEnded(): boolean;
  hangUp(): Promise<void>;
}

describe.each(await testStores())("pages that are live on $name", (store) => {
  const here = dashboardFixture(store);

  const listen = async (
    of: Visitor,
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Listening> => {
    const abort = new AbortController();
    const response = await fetch(`${here.service.url}/dashboard${path}`, {
      headers: { cookie: of.cookie, ...headers },
      signal: abort.signal,
    });
    let text = "";
    let isOver = false;
    const decoder = new TextDecoder();
    const reading = (async () => {
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk as Uint8Array);
    })()
      .catch(() => {})
      .finally(() => {
        isOver = true;
      });
    return {
      status: response.status,
      heard: () => text,
      hasEnded: () => isOver,
      async hangUp() {
        abort.abort();
        await reading;
      },
    };
  };
  /** The address of the stream that a page has in it. */
  const streamIn = async (path: string) => {
    const { html } = await here.visitor.get(path);
    return /hx-sse:connect="\/dashboard([^"]+)"/.exec(html)?.[1] ?? "";
  };
  const isChanged = (stream: Listening) => stream.heard().includes("event: changed");

  test("hear of a new message, and say nothing of it", async () => {
    const stream = await listen(here.visitor, await streamIn("/messages"));
    expect(stream.heard()).not.toContain("changed");
    const { json } = await here.tenant.send(newKey(), message());
    await until(() => isChanged(stream), "the change");
    expect(stream.heard()).not.toContain(json.id);
    await stream.hangUp();
  });

  test("hear of what happened between the page and its stream", async () => {
    const path = await streamIn("/messages");
    await here.tenant.send(newKey(), message());
    const stream = await listen(here.visitor, path);
    await until(() => isChanged(stream), "the change");
    const id = /id: (\S+)/.exec(stream.heard())?.[1] ?? "";
    await stream.hangUp();
    const again = await listen(here.visitor, path, { "last-event-id": id });
    const { json } = await here.tenant.send(newKey(), message());
    expect(json.id).toBeString();
    await until(() => isChanged(again), "the next change");
    await again.hangUp();
  });

  test("hear nothing of another workspace", async () => {
    const other = await here.service.tenant();
    const stream = await listen(here.visitor, await streamIn("/messages"));
    const own = await listen(await logIn(here.service.url, other.apiKey), "/live?shown=");
    await other.send(newKey(), message());
    await until(() => isChanged(own), "the other's change");
    expect(isChanged(stream)).toBe(false);
    await Promise.all([stream.hangUp(), own.hangUp()]);
  });

  test("hear of one message what happens to it", async () => {
    const { json } = await here.tenant.send(newKey(), message());
    const stream = await listen(here.visitor, await streamIn(`/messages/${json.id}`));
    await here.tenant.call("POST", `/api/v1/emails/${json.id}/cancel`);
    await until(() => isChanged(stream), "the change");
    await stream.hangUp();
  });

  test("are so many at most for one session: the oldest makes room", async () => {
    const streams: Listening[] = [];
    for (let nth = 0; nth <= STREAMS_PER_SESSION_MAX; nth += 1)
      streams.push(await listen(here.visitor, "/live?shown="));
    await until(() => streams[0]?.hasEnded() === true, "the end of the oldest");
    expect(streams.slice(1).some((stream) => stream.hasEnded())).toBe(false);
    await Promise.all(streams.map((stream) => stream.hangUp()));
  });

  test("end with their session: at log-out, and when its key is revoked", async () => {
    const leaving = await logIn(here.service.url, here.tenant.apiKey);
    const stream = await listen(leaving, "/live?shown=");
    await leaving.post("/log-out");
    await until(() => stream.hasEnded(), "the end of the stream");
    const revoked = await here.tenant.withKey({});
    const other = await listen(await logIn(here.service.url, revoked.apiKey), "/live?shown=");
    await revokeKey(here.service.log, revoked.keyId, systemCommandContext("test"));
    await until(() => other.hasEnded(), "the end of the other stream");
  });

  test("do not keep the service from stopping", async () => {
    const stream = await listen(here.visitor, "/live?shown=");
    await here.service.restart();
    await until(() => stream.hasEnded(), "the end of the stream");
  });
});

test("a page whose subject changes all the time is told of it no sooner than it has rested", async () => {
  const session = { id: "s", keyId: "k", hasOwnKey: false, startedAt: 0, seenAt: 0 };
  const streams = makeLiveStreams({ isAlive: async () => true });
  let changes = 0;
  const version = async () => String(++changes);
  const heardOf = (subject: string, restMs: number) => {
    const watch = { session, workspaceId: "w", subject, version, restMs, shown: "" };
    const reading = streams.open(watch)?.text();
    return async () => ((await reading) ?? "").split("event: changed").length - 1;
  };
  const rested = heardOf("rested", HOUR_MS);
  const told = heardOf("told", 0);
  await until(() => changes >= 6, "three looks");
  streams.stop();
  expect(await rested()).toBe(1);
  expect(await told()).toBeGreaterThan(1);
});
