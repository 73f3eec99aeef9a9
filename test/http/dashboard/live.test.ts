import { describe, expect, test } from "bun:test";
import { revokeKey } from "../../../src/commands/apiKey/revokeApiKey.ts";
import { createLiveStreams, STREAMS_PER_SESSION_MAX } from "../../../src/http/dashboard/live/liveStreams.ts";
import { HOUR_MS } from "../../../src/kernel/time.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { logIn, type Visitor } from "../../support/dashboard.ts";
import { dashboardFixture } from "../../support/dashboardFixture.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

/** A stream that is listened to. */
interface Listener {
  readonly status: number;
  received(): string;
  hasEnded(): boolean;
  hangUp(): Promise<void>;
}

describe.each(await testStores())("pages that are live on $name", (store) => {
  const fixture = dashboardFixture(store, {});

  const listen = async (
    visitor: Visitor,
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Listener> => {
    const abort = new AbortController();
    const response = await fetch(`${fixture.service.url}/dashboard${path}`, {
      headers: { cookie: visitor.cookie, ...headers },
      signal: abort.signal,
    });
    let text = "";
    let hasEnded = false;
    const decoder = new TextDecoder();
    const reading = (async () => {
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk as Uint8Array);
    })()
      .catch(() => {})
      .finally(() => {
        hasEnded = true;
      });
    return {
      status: response.status,
      received: () => text,
      hasEnded: () => hasEnded,
      async hangUp() {
        abort.abort();
        await reading;
      },
    };
  };
  /** The address of the stream that a page has in it. */
  const streamIn = async (path: string) => {
    const { html } = await fixture.visitor.get(path);
    return /hx-sse:connect="\/dashboard([^"]+)"/.exec(html)?.[1] ?? "";
  };
  const isChanged = (stream: Listener) => stream.received().includes("event: changed");

  test("hear of a new message, and say nothing of it", async () => {
    const stream = await listen(fixture.visitor, await streamIn("/messages"));
    expect(stream.received()).not.toContain("changed");
    const { json } = await fixture.tenant.send(newKey(), message());
    await until(() => isChanged(stream), "the change event");
    expect(stream.received()).not.toContain(json.id);
    await stream.hangUp();
  });

  test("hear of what happened between the page and its stream", async () => {
    const path = await streamIn("/messages");
    await fixture.tenant.send(newKey(), message());
    const stream = await listen(fixture.visitor, path);
    await until(() => isChanged(stream), "the change event");
    const id = /id: (\S+)/.exec(stream.received())?.[1] ?? "";
    await stream.hangUp();
    const reconnected = await listen(fixture.visitor, path, { "last-event-id": id });
    const { json } = await fixture.tenant.send(newKey(), message());
    expect(json.id).toBeString();
    await until(() => isChanged(reconnected), "the next change event");
    await reconnected.hangUp();
  });

  test("hear nothing of another workspace", async () => {
    const other = await fixture.service.tenant();
    const stream = await listen(fixture.visitor, await streamIn("/messages"));
    const own = await listen(await logIn(fixture.service.url, other.apiKey), "/live?shown=");
    await other.send(newKey(), message());
    await until(() => isChanged(own), "the other workspace's change event");
    expect(isChanged(stream)).toBe(false);
    await Promise.all([stream.hangUp(), own.hangUp()]);
  });

  test("hear of one message what happens to it", async () => {
    const { json } = await fixture.tenant.send(newKey(), message());
    const stream = await listen(fixture.visitor, await streamIn(`/messages/${json.id}`));
    await fixture.tenant.call("POST", `/api/v1/emails/${json.id}/cancel`);
    await until(() => isChanged(stream), "the change event");
    await stream.hangUp();
  });

  test("are so many at most for one session: the oldest makes room", async () => {
    const streams: Listener[] = [];
    for (let nth = 0; nth <= STREAMS_PER_SESSION_MAX; nth += 1)
      streams.push(await listen(fixture.visitor, "/live?shown="));
    await until(() => streams[0]?.hasEnded() === true, "the oldest stream to end");
    expect(streams.slice(1).some((stream) => stream.hasEnded())).toBe(false);
    await Promise.all(streams.map((stream) => stream.hangUp()));
  });

  test("end with their session: at log-out, and when its key is revoked", async () => {
    const otherSession = await logIn(fixture.service.url, fixture.tenant.apiKey);
    const stream = await listen(otherSession, "/live?shown=");
    await otherSession.post("/log-out");
    await until(() => stream.hasEnded(), "the stream to end");
    const revoked = await fixture.tenant.withKey({});
    const other = await listen(await logIn(fixture.service.url, revoked.apiKey), "/live?shown=");
    await revokeKey(fixture.service.log, revoked.keyId, systemCommandContext("test"));
    await until(() => other.hasEnded(), "the other stream to end");
  });

  test("do not keep the service from stopping", async () => {
    const stream = await listen(fixture.visitor, "/live?shown=");
    await fixture.service.restart();
    await until(() => stream.hasEnded(), "the stream to end");
  });
});

test("a page whose subject changes constantly is notified only after a pause", async () => {
  const session = { id: "s", keyId: "k", hasOwnKey: false, startedAt: 0, seenAt: 0 };
  const streams = createLiveStreams({ isAlive: async () => true });
  let changes = 0;
  const version = async () => String(++changes);
  const countChecks = (subject: string, restMs: number) => {
    const watch = { session, workspaceId: "w", subject, version, restMs, shown: "" };
    const reading = streams.open(watch)?.text();
    return async () => ((await reading) ?? "").split("event: changed").length - 1;
  };
  const afterRest = countChecks("rested", HOUR_MS);
  const withoutRest = countChecks("told", 0);
  await until(() => changes >= 6, "three checks");
  streams.stop();
  expect(await afterRest()).toBe(1);
  expect(await withoutRest()).toBeGreaterThan(1);
});
