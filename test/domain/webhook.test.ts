import { describe, expect, test } from "bun:test";
import { webhookAggregate } from "../../src/commands/services.ts";
import { ENDPOINTS_MAX, registerEndpoint } from "../../src/domain/webhook/decisions.ts";
import { normaliseDestination, URL_CHARACTERS_MAX } from "../../src/domain/webhook/destination.ts";
import type { WebhookEvent } from "../../src/domain/webhook/events.ts";
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
      .again("alreadyExists");
  });

  test("has its destination for itself, whatever its id", () => {
    given(registered(1))
      .when((state) => registerEndpoint(state, { ...facts(1), endpointId: "another" }))
      .then("alreadyExists");
  });

  test("is the last one at the limit", () => {
    given(...many(ENDPOINTS_MAX - 1))
      .when((state) => registerEndpoint(state, facts(ENDPOINTS_MAX)))
      .then("registered", registered(ENDPOINTS_MAX))
      .again("alreadyExists");
    given(...many(ENDPOINTS_MAX))
      .when((state) => registerEndpoint(state, facts(ENDPOINTS_MAX)))
      .then("limitReached");
  });
});

describe("a destination", () => {
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
  ])("%s is refused", (text) => {
    expect(normaliseDestination(text)).toBeNull();
  });
});
