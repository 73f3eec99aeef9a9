import { describe, expect, test } from "bun:test";
import { webhookAggregate } from "../../src/commands/aggregateDefinitions.ts";
import {
  deleteEndpoint,
  disableEndpoint,
  ENDPOINTS_MAX,
  enableEndpoint,
  registerEndpoint,
  requestTest,
  rotateSecret,
  updateEndpoint,
} from "../../src/domain/webhook/decisions.ts";
import type { WebhookEvent } from "../../src/domain/webhook/events.ts";
import { REQUESTS_KNOWN_MAX, signingSecrets, webhookDecider } from "../../src/domain/webhook/state.ts";
import { privateHostOf, readDestination, URL_CHARACTERS_MAX } from "../../src/domain/webhook/webhookUrl.ts";
import { givenWhenThen } from "../support/givenWhenThen.ts";

const given = givenWhenThen(webhookAggregate);
const facts = (number: number) => ({
  endpointId: `endpoint-${number}`,
  workspaceId: "w",
  url: `https://example.com/${number}`,
  description: null,
  eventTypes: null,
  sealedSecret: "sealed",
});
const registered = (number: number): WebhookEvent => ({
  type: "WebhookEndpointRegistered",
  data: facts(number),
});
const many = (count: number) => Array.from({ length: count }, (_, index) => registered(index));

describe("a webhook endpoint", () => {
  test("is registered once for a destination", () => {
    given()
      .when((state) => registerEndpoint(state, facts(1)))
      .then("registered", registered(1))
      .again("repeated");
  });

  test("is the only one with its destination, whatever its id", () => {
    given(registered(1))
      .when((state) => registerEndpoint(state, { ...facts(1), endpointId: "another" }))
      .then("alreadyExists");
  });

  test("is the last one at the limit", () => {
    given(...many(ENDPOINTS_MAX - 1))
      .when((state) => registerEndpoint(state, facts(ENDPOINTS_MAX)))
      .then("registered", registered(ENDPOINTS_MAX))
      .again("repeated");
    given(...many(ENDPOINTS_MAX))
      .when((state) => registerEndpoint(state, facts(ENDPOINTS_MAX)))
      .then("limitReached");
  });
});

const id = "endpoint-1";
const disabled = (reason: "manual" | "failing" | "gone"): WebhookEvent => ({
  type: "WebhookEndpointDisabled",
  data: { endpointId: id, reason },
});
const enabled: WebhookEvent = { type: "WebhookEndpointEnabled", data: { endpointId: id } };
const deleted: WebhookEvent = { type: "WebhookEndpointDeleted", data: { endpointId: id } };

describe("a registered endpoint", () => {
  test("changes only where the new values differ, once", () => {
    const change = { endpointId: id, description: "shop", eventTypes: ["email.sent"], url: facts(1).url };
    given(registered(1))
      .when((state) => updateEndpoint(state, change))
      .then("updated", {
        type: "WebhookEndpointUpdated",
        data: { endpointId: id, description: "shop", eventTypes: ["email.sent"] },
      })
      .again("updated");
  });

  test("does not take another one's destination, and may keep its own", () => {
    given(registered(1), registered(2))
      .when((state) => updateEndpoint(state, { endpointId: id, url: facts(2).url }))
      .then("alreadyExists");
    given(registered(1))
      .when((state) => updateEndpoint(state, { endpointId: id, url: facts(1).url }))
      .then("updated");
  });

  test("is disabled and enabled once, and keeps the first reason", () => {
    given(registered(1))
      .when((state) => disableEndpoint(state, id, "gone"))
      .then("disabled", disabled("gone"))
      .again("disabled");
    given(registered(1), disabled("gone"))
      .when((state) => disableEndpoint(state, id, "manual"))
      .then("disabled");
    given(registered(1), disabled("manual"))
      .when((state) => enableEndpoint(state, id))
      .then("enabled", enabled)
      .again("enabled");
  });

  test("is deleted once, and its destination is free again", () => {
    given(registered(1))
      .when((state) => deleteEndpoint(state, id))
      .then("deleted", deleted)
      .again("notFound");
    given(registered(1), deleted)
      .when((state) => registerEndpoint(state, { ...facts(2), url: facts(1).url }))
      .then("registered", { type: "WebhookEndpointRegistered", data: { ...facts(2), url: facts(1).url } });
  });

  test("can be tested while it is active", () => {
    given(registered(1))
      .when((state) => requestTest(state, id))
      .then("requested", { type: "WebhookTestRequested", data: { endpointId: id } });
    given(registered(1), disabled("manual"))
      .when((state) => requestTest(state, id))
      .then("disabled");
  });

  test("signs with its earlier secrets until they expire, even if a rotation is repeated", () => {
    const now = Date.parse("2030-01-01T00:00:00Z");
    const rotated = (sealedSecret: string, overlapMs: number): WebhookEvent => ({
      type: "WebhookEndpointSecretRotated",
      data: { endpointId: id, sealedSecret, previousUntil: new Date(now + overlapMs).toISOString() },
    });
    given(registered(1))
      .when((state) => rotateSecret(state, { endpointId: id, sealedSecret: "second" }, now, 1_000))
      .then("rotated", rotated("second", 1_000));
    const fold = (...events: WebhookEvent[]) =>
      events.reduce(webhookDecider.evolve, webhookDecider.initialState).endpoints.get(id);
    const rotatedOnce = fold(registered(1), rotated("second", 1_000));
    expect(rotatedOnce && signingSecrets(rotatedOnce, now + 999)).toEqual(["second", "sealed"]);
    expect(rotatedOnce && signingSecrets(rotatedOnce, now + 1_000)).toEqual(["second"]);
    const rotatedTwice = fold(registered(1), rotated("second", 1_000), rotated("third", 1_000));
    expect(rotatedTwice && signingSecrets(rotatedTwice, now)).toEqual(["third", "second", "sealed"]);
    expect(rotatedTwice && signingSecrets(rotatedTwice, now + 1_000)).toEqual(["third"]);
    const leaked = fold(registered(1), rotated("second", 1_000), rotated("third", 0));
    expect(leaked && signingSecrets(leaked, now)).toEqual(["third"]);
    const names = ["second", "third", "fourth", "fifth", "sixth"];
    const rotatedOften = fold(registered(1), ...names.map((name) => rotated(name, 1_000)));
    expect(rotatedOften && signingSecrets(rotatedOften, now)).toEqual(["sixth", "fifth", "fourth", "third"]);
    const atOnce = fold(registered(1), rotated("second", 0));
    expect(atOnce && signingSecrets(atOnce, now)).toEqual(["second"]);
  });

  test("is not registered again by a repeat, even after it was deleted", () => {
    given(registered(1))
      .when((state) => registerEndpoint(state, { ...facts(1), url: "https://other.example/" }))
      .then("repeated");
    given(registered(1), { type: "WebhookEndpointDeleted", data: { endpointId: id } })
      .when((state) => registerEndpoint(state, facts(1)))
      .then("repeated");
  });

  test("is not rotated again by a repeat, also after later rotations; only the last ones are known", () => {
    const rotated = (rotationId: string): WebhookEvent => ({
      type: "WebhookEndpointSecretRotated",
      data: {
        endpointId: id,
        sealedSecret: rotationId,
        previousUntil: "1970-01-01T00:00:00.000Z",
        rotationId,
      },
    });
    const again = { endpointId: id, sealedSecret: "fresh", rotationId: "first" };
    const later = (count: number) => Array.from({ length: count }, (_, nth) => rotated(`later ${nth}`));
    given(registered(1), rotated("first"), ...later(REQUESTS_KNOWN_MAX - 1))
      .when((state) => rotateSecret(state, again, 0, 0))
      .then("repeated");
    given(registered(1), rotated("first"), ...later(REQUESTS_KNOWN_MAX))
      .when((state) => rotateSecret(state, again, 0, 0))
      .then("rotated", {
        type: "WebhookEndpointSecretRotated",
        data: { ...again, previousUntil: "1970-01-01T00:00:00.000Z" },
      });
  });

  test("that does not exist cannot be changed", () => {
    given()
      .when((state) => updateEndpoint(state, { endpointId: id, description: null }))
      .then("notFound");
    given()
      .when((state) => disableEndpoint(state, id, "manual"))
      .then("notFound");
    given()
      .when((state) => enableEndpoint(state, id))
      .then("notFound");
    given()
      .when((state) => rotateSecret(state, { endpointId: id, sealedSecret: "x" }, 0, 0))
      .then("notFound");
    given()
      .when((state) => requestTest(state, id))
      .then("notFound");
  });
});

describe("a destination", () => {
  const normaliseDestination = (text: string, allowed?: ReadonlySet<string>) => {
    const read = readDestination(text, allowed);
    return "url" in read ? read.url : null;
  };

  test.each([
    ["https://example.com", "https://example.com/"],
    ["https://example.com:443/a?b=c#d", "https://example.com/a?b=c"],
    ["https://EXAMPLE.com./a", "https://example.com/a"],
    ["https://bücher.example.com/", "https://xn--bcher-kva.example.com/"],
  ])("%s is %s", (text, expected) => {
    expect(normaliseDestination(text)).toBe(expected);
  });

  test.each([
    "",
    "example.com",
    "http://example.com/",
    "https://example.com:8443/",
    "https://user@example.com/",
    "https://user:secret@example.com/",
    "https://localhost/",
    "https://hooks/",
    "https://a.localhost/",
    "https://a.local/",
    "https://a.internal/",
    "https://a.home.arpa/",
    "https://8.8.8.8/",
    "https://[2606:4700::1111]/",
    "https://127.0.0.1/",
    "https://0x7f.1/",
    "https://2130706433/",
    "https://①②⑦.0.0.1/",
    "https://10.0.0.1/",
    "https://169.254.169.254/latest/meta-data",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:8.8.8.8]/",
    "https://[fd00::1]/",
    "https://[2002:7f00:1::]/",
    `https://example.com/${"a".repeat(URL_CHARACTERS_MAX)}`,
    `https://example.com/${"é".repeat(URL_CHARACTERS_MAX / 2)}`,
  ])("%s is refused", (text) => {
    expect(normaliseDestination(text)).toBeNull();
  });

  test("that is allowed as a pair of host and port is allowed only as that pair", () => {
    const allowed = new Set(["receiver.test:8443", "localhost:443"]);
    expect(normaliseDestination("https://receiver.test:8443/a", allowed)).toBe(
      "https://receiver.test:8443/a",
    );
    expect(normaliseDestination("https://localhost/", allowed)).toBe("https://localhost/");
    for (const other of [
      "https://receiver.test/",
      "https://receiver.test:8444/",
      "http://receiver.test:8443/",
    ])
      expect(normaliseDestination(other, allowed)).toBeNull();
  });

  test.each([
    ["example.com/hook", "it is no URL such as https://app.example.com/hook", null],
    ["https:example.com/hook", "it is no URL such as https://app.example.com/hook", null],
    ["https:/example.com/hook", "it is no URL such as https://app.example.com/hook", null],
    ["https://f.example.com\\@127.0.0.1/", "it holds white space or a backslash", null],
    ["http://example.com/hook", "it does not begin with https://", null],
    ["ftp://example.com/", "it does not begin with https://", null],
    ["http://localhost:4000/", "it does not begin with https://", "localhost:4000"],
    ["http://127.0.0.1/", "it does not begin with https://", "127.0.0.1:80"],
    ["https://user:secret@example.com/", "it holds a user or a password", null],
    ["https://192.0.2.1/", "it has an address in place of a name", null],
    ["https://[2001:db8::1]:4000/", "it has an address in place of a name", null],
    ["https://example.com:8443/", "it has another port", "example.com:8443"],
    ["https://app.internal/", "its name is not public", "app.internal:443"],
    ["https://localhost/", "its name is not public", "localhost:443"],
    [`https://example.com/${"a".repeat(URL_CHARACTERS_MAX)}`, "it has more than 2000 characters", null],
  ])(
    "%s is refused with its fault, and passes when what is said can be listed is listed",
    (text, fault, pair) => {
      expect(readDestination(text)).toEqual({ fault });
      if (pair === null) return;
      expect(privateHostOf(text)).toBe(pair);
      expect(readDestination(text, new Set([pair]))).toEqual({ url: text });
    },
  );

  test.each([
    "http://example.com/hook",
    "https://192.0.2.1/",
    "https://[::1]/",
    "https://user@example.com/",
    "ftp://localhost/",
    "https:localhost/",
    "https://localhost:4000\n",
    "example.com",
  ])("%s has no pair that would help", (text) => {
    expect(privateHostOf(text)).toBeNull();
  });
});
