import { afterEach, beforeEach, expect, test } from "bun:test";
import { threadedSubmittedMailParser } from "../../src/adapters/postalMime/threadedSubmittedMailParser.ts";
import type { Principal } from "../../src/commands/apiKey/authenticate.ts";
import { issueKey } from "../../src/commands/apiKey/issueApiKey.ts";
import { BodyAdmissionControl } from "../../src/http/body/bodyAdmission.ts";
import { createRateLimits } from "../../src/http/limits/rateLimits.ts";
import { RequestsInFlight } from "../../src/http/limits/requestsInFlight.ts";
import { StoreError, type StoreFailure } from "../../src/ports/eventStore.ts";
import type { SubmissionHandlers } from "../../src/ports/submission/submissionServer.ts";
import { submissionSession } from "../../src/smtp/submissionSession.ts";
import { type DeliveryWorld, deliveryWorld } from "../reactors/email/deliveryFixtures.ts";

const CONTENT = "From: shop@example.com\r\nSubject: Hello\r\n\r\nIt works.\r\n";

let world: DeliveryWorld;
let handlers: SubmissionHandlers<Principal>;
let user: Principal;
let close: () => void;
/** The streams of the messages, in the order of their acceptance. */
let accepted: string[];

beforeEach(async () => {
  world = await deliveryWorld();
  accepted = [];
  countAccepted();
  const parser = threadedSubmittedMailParser();
  const bodies = new BodyAdmissionControl(100_000_000);
  handlers = submissionSession({
    deps: world.deps,
    rateLimits: createRateLimits(0),
    parser,
    bodies,
    requests: new RequestsInFlight(),
    isClosed: () => false,
    log: { answered() {}, failed() {} },
    requestTimeoutMs: 60_000,
  });
  close = () => {
    parser.close();
    bodies.stop();
  };
  const { workspaceId, clock, deps } = world;
  const issue = { workspaceId, name: "test", scopes: ["email:send"], expiresAt: null } as const;
  const context = { at: clock.now(), correlationId: "test", actor: "test", workspaceId };
  const loggedIn = await handlers.logIn((await issueKey(deps, issue, context))?.key ?? "", {
    address: "127.0.0.1",
  });
  if ("code" in loggedIn) throw new Error(loggedIn.text);
  user = loggedIn.user;
});
afterEach(async () => {
  close();
  await world.close();
});

function countAccepted(): void {
  world.store.afterAppend = (stream) => {
    if (stream.startsWith("email-")) accepted.push(stream);
  };
}

async function replyTo(recipients: readonly string[], content = CONTENT): Promise<string> {
  const { code, text } = await handlers.take({
    user,
    recipients,
    content: (async function* () {
      yield Buffer.from(content);
    })(),
  });
  return `${code} ${text}`;
}

/** Fails the nth append of a message, before or after it is written. */
function failAppend(nth: number, failure: StoreFailure): void {
  const { afterAppend } = world.store;
  let appends = 0;
  const fail = (stream: string) => {
    if (!stream.startsWith("email-")) return;
    appends += 1;
    if (appends === nth) throw new StoreError(failure, "the store failed");
  };
  if (failure === "unavailable") world.store.beforeAppend = fail;
  else
    world.store.afterAppend = (stream, types) => {
      void afterAppend(stream, types);
      fail(stream);
    };
}

const TO = ["ana@example.org", "bob@example.org", "eve@example.org"];

test("a mail that the store's failure interrupts continues when it comes again, and uses one unit for each", async () => {
  failAppend(2, "unavailable");
  expect(await replyTo(TO)).toBe(
    "451 4.3.0 1 of 3 recipients were accepted; send the same mail again (INTERNAL_ERROR)",
  );
  expect(await replyTo(TO)).toStartWith("250 2.6.0 accepted 3 messages");
  expect(accepted).toHaveLength(3);
  expect(await world.deps.quota.used(world.workspaceId, world.clock.now())).toBe(3);
});

test("a mail that may have been written is found when it comes again", async () => {
  failAppend(1, "outcomeUnknown");
  expect(await replyTo(["ana@example.org"])).toStartWith("451 4.3.0 ");
  expect(await replyTo(["ana@example.org"])).toStartWith("250 ");
  expect(accepted).toHaveLength(1);
});

test("an equal mail is another one once the first is accepted, whatever interrupted that", async () => {
  failAppend(2, "unavailable");
  await replyTo(TO);
  await replyTo(TO);
  expect(await replyTo(TO)).toStartWith("250 ");
  expect(new Set(accepted).size).toBe(6);
});

test("another mail, or the same to others, is not the one that was interrupted", async () => {
  failAppend(2, "unavailable");
  await replyTo(TO);
  expect(await replyTo(TO.slice(0, 2))).toStartWith("250 ");
  expect(await replyTo(TO, `X-Nth: 2\r\n${CONTENT}`)).toStartWith("250 ");
  expect(new Set(accepted).size).toBe(6);
});

test("equal mails at the same time are two", async () => {
  const replies = await Promise.all([replyTo(["ana@example.org"]), replyTo(["ana@example.org"])]);
  expect(replies.every((reply) => reply.startsWith("250 "))).toBe(true);
  expect(new Set(accepted).size).toBe(2);
});
