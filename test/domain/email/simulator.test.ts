import { expect, test } from "bun:test";
import { classifyMailOutcome } from "../../../src/domain/email/delivery/classifyMailOutcome.ts";
import { SIMULATED_REASONS, simulatedEnd, simulatedOutcome } from "../../../src/domain/email/simulator.ts";

/** What becomes of mail to a simulator address. */
function resultFor(name: string) {
  const end = simulatedEnd(`${name}@Simulator.test`);
  if (end === null) throw new Error("the address is the simulator's");
  return classifyMailOutcome(simulatedOutcome(end));
}

test.each([
  ["bounced", "recipient_address_rejected"],
  ["bounced+order-7", "recipient_address_rejected"],
  ...SIMULATED_REASONS.flatMap((reason) => [
    [`bounced+${reason}`, reason],
    [`Bounced+${reason}+order-7`, reason],
  ]),
])("%s@ bounces as %s, and suppresses nobody", (name, reason) => {
  expect(resultFor(name)).toMatchObject({ kind: "bounced", reason, suppress: false });
});

test.each(["failed", "failed+mailbox_full"])("%s@ fails", (name) => {
  expect(resultFor(name)).toMatchObject({ kind: "failed", reason: "policy_rejected" });
});

test("an address elsewhere is not the simulator's", () => {
  expect(simulatedEnd("bounced@simulator.test.example")).toBeNull();
});
