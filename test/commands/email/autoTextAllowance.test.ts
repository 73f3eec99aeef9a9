import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createDependencies } from "../../../src/commands/createDependencies.ts";
import type { Dependencies } from "../../../src/commands/dependencies.ts";
import { sendEmail } from "../../../src/commands/email/send/sendEmail.ts";
import { fairMutex } from "../../../src/kernel/concurrency/fairMutex.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { parseAddress } from "../../../src/kernel/text/emailAddress.ts";
import type { HtmlToText } from "../../../src/ports/mail/htmlToText.ts";
import { type DeliveryWorld, deliveryWorld } from "../../reactors/email/deliveryFixtures.ts";

let world: DeliveryWorld;
beforeEach(async () => {
  world = await deliveryWorld();
});
afterEach(() => world.close());

/** Reads one html at a time, in as many ms of processor time as it says. */
function reader(): HtmlToText {
  const turns = fairMutex();
  return {
    read: (html, { id, isAbandoned }) =>
      turns.run(id, async () => {
        if (isAbandoned?.()) return { kind: "busy" };
        const processorMs = Math.min(500, Number(html));
        return Number(html) > 500
          ? { kind: "unreadable", processorMs }
          : { kind: "text", text: html, processorMs };
      }),
    close() {},
  };
}

/** The outcome of a send whose html takes so long to read. */
async function send(deps: Dependencies, processorMs: number, autoText = true) {
  const [from, to] = ["shop@example.com", "ana@example.org"].map(parseAddress);
  if (!from || !to || "invalid" in from || "invalid" in to) throw new Error("no addresses");
  const html = String(processorMs);
  return sendEmail(deps, {
    workspaceId: world.workspaceId,
    idempotencyKey: newId(),
    comparable: { html, autoText },
    from,
    to,
    content: { from: from.sent, to: to.sent, subject: "Hello", html },
    autoText,
    template: null,
    attachments: [],
    context: { at: world.clock.now(), correlationId: "t", actor: "t", workspaceId: world.workspaceId },
  });
}

const template = (deps: Dependencies) =>
  deps.templateScheduler.run({ workspaceId: world.workspaceId }, () => "rendered");

describe("the texts made of a workspace's html", () => {
  let deps: Dependencies;
  beforeEach(() => {
    deps = createDependencies({ ...world.deps, htmlToText: reader() });
  });

  test.each([
    ["slow", 500],
    ["too slow", 5_000],
  ])("use up the allowance of its templates if they are %s", async (_, processorMs) => {
    const outcomes = [];
    for (let count = 0; count < 6; count += 1) outcomes.push(await send(deps, processorMs));
    // Two seconds at once, less 2 ms that each has free.
    const late = outcomes.slice(5);
    expect(late).toMatchObject([
      { kind: "refused", code: "RATE_LIMITED", detail: expect.stringContaining("too much processor time") },
    ]);
    expect(outcomes.slice(0, 5).filter((one) => "code" in one && one.code === "RATE_LIMITED")).toEqual([]);
    const retryAfterMs = late[0]?.kind === "refused" ? (late[0].retryAfterMs ?? 0) : 0;
    expect(retryAfterMs).toBeWithin(1, 3_000);
    await expect(template(deps)).rejects.toThrow("too much processor time");
    expect(await send(deps, processorMs, false)).toMatchObject({ kind: "accepted" });
    world.pass(retryAfterMs);
    expect(await template(deps)).toBe("rendered");
    expect(await send(deps, 1)).toMatchObject({ kind: "accepted" });
  });

  test("are not made any more once those before them have used it up, however many came at once", async () => {
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => send(deps, 500)));
    expect(outcomes.filter(({ kind }) => kind === "accepted").length).toBeWithin(4, 7);
    const refused = outcomes.find(({ kind }) => kind === "refused");
    expect(refused).toMatchObject({ code: "RATE_LIMITED" });
  });

  test("use none of it if each takes at most 2 ms, as that of an ordinary mail does", async () => {
    for (let count = 0; count < 1_100; count += 1)
      expect(await send(deps, 2)).toMatchObject({ kind: "accepted" });
  });
});
