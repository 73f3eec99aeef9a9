import { describe, expect, test } from "bun:test";
import { classifyMailOutcome } from "../../../src/domain/email/delivery/classifyMailOutcome.ts";
import { enhancedCode } from "../../../src/domain/email/delivery/smtpReplyRules.ts";
import type { MailOutcome, MailStage } from "../../../src/kernel/outcome/mailOutcome.ts";

const refused = (stage: MailStage, reply: string): MailOutcome => {
  return { kind: "refused", stage, code: Number(reply.slice(0, 3)), reply };
};

/** What matters of a result, in a line. */
function describeOutcome(outcome: MailOutcome): string {
  const result = classifyMailOutcome(outcome);
  switch (result.kind) {
    case "sent":
      return "sent";
    case "failed":
      return "failed";
    case "bounced":
      return result.suppress ? "bounced, suppresses" : "bounced";
    case "deferred": {
      const { attemptBurnt, ambiguous, relayFault } = result;
      const notes = [attemptBurnt && "burns", ambiguous && "ambiguous", relayFault && "relay fault"];
      return ["deferred", ...notes.filter(Boolean)].join(", ");
    }
  }
}

const RECIPIENTS_TURN: readonly MailStage[] = ["rcpt", "data", "final"];

describe("the recipient's side", () => {
  test.each([
    ["rcpt", "450 4.2.0 mailbox busy"],
    ["rcpt", "451 4.7.1 greylisted, come back later"],
    ["rcpt", "450 greylisted"],
    ["rcpt", "452 4.2.2 mailbox full"],
    ["data", "451 4.2.0 not now"],
    ["final", "450 4.2.1 the user gets mail at too high a rate"],
  ] as const)("%s: %s is deferred and burns an attempt", (stage, reply) => {
    expect(describeOutcome(refused(stage, reply))).toBe("deferred, burns");
  });

  test.each(
    RECIPIENTS_TURN.flatMap((stage) =>
      ["550 no", "552 5.2.2 full", "554 5.6.0 bad", "550 5.4.1 no"].map((reply) => [stage, reply] as const),
    ),
  )("%s: %s bounces and suppresses nobody", (stage, reply) => {
    expect(describeOutcome(refused(stage, reply))).toBe("bounced");
  });

  test.each(["5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"])(
    "%s bounces, and suppresses at RCPT only",
    (code) => {
      expect(describeOutcome(refused("rcpt", `550 ${code} no such mailbox`))).toBe("bounced, suppresses");
      expect(describeOutcome(refused("rcpt", `556-${code} no such mailbox`))).toBe("bounced, suppresses");
      expect(describeOutcome(refused("data", `550 ${code} no such mailbox`))).toBe("bounced");
      expect(describeOutcome(refused("final", `550 ${code} no such mailbox`))).toBe("bounced");
    },
  );

  test.each(["5.1.0", "5.1.4", "5.1.5", "5.1.9", "5.1.11", "5.1.100", "5.2.1"])(
    "%s suppresses nobody",
    (code) => {
      expect(describeOutcome(refused("rcpt", `550 ${code} no`))).toBe("bounced");
    },
  );

  test("a code in the middle of the text suppresses nobody", () => {
    expect(describeOutcome(refused("rcpt", "550 see 5.1.1 in our manual"))).toBe("bounced");
  });
});

describe("a refusal of us or our sender fails and never suppresses:", () => {
  test.each([
    ["mail", "550 no"],
    ["mail", "550 5.1.1 no such sender"],
    ["rcpt", "550 5.7.1 relaying denied"],
    ["data", "554 5.7.1 spam"],
    ["final", "550 5.7.26 unauthenticated sender"],
    ["rcpt", "553 5.1.7 bad sender address"],
    ["rcpt", "553 5.1.8 sender's domain does not exist"],
    ["final", "550 5.1.8 sender's domain does not exist"],
  ] as const)("%s: %s", (stage, reply) => {
    expect(describeOutcome(refused(stage, reply))).toBe("failed");
  });
});

describe("the relay's fault burns no attempt:", () => {
  test.each([
    ["connect", "421 4.3.2 closing"],
    ["connect", "554 5.3.2 no service here"],
    ["connect", "550 5.7.1 your address is blocked"],
    ["connect", "454 4.7.0 temporary authentication failure"],
    ["mail", "450 4.1.8 cannot look your domain up"],
    ["mail", "452 4.3.1 out of space"],
    ["rcpt", "421 4.7.0 too many connections"],
    ["data", "421 4.7.28 unusual rate of mail"],
    ["final", "421 try later"],
    ["rcpt", "451 4.3.0 system trouble"],
    ["final", "452 4.3.1 out of space"],
    ["final", "454 Throttling failure: Maximum sending rate exceeded."],
    ["data", "454 4.7.0 Throttling failure"],
    ["rcpt", "450 4.7.0 throttled, slow down"],
    ["mail", "530 5.7.0 authenticate first"],
    ["rcpt", "530 authenticate first"],
    ["rcpt", "535 5.7.8 wrong password"],
    ["data", "535 wrong password"],
  ] as const)("%s: %s", (stage, reply) => {
    expect(describeOutcome(refused(stage, reply))).toBe("deferred, relay fault");
  });

  test.each(["connect", "mail", "rcpt", "data", "final"] as const)("no connection at %s", (stage) => {
    expect(describeOutcome({ kind: "broken", stage, reason: "ECONNRESET" })).toBe("deferred, relay fault");
  });
});

describe("the rest", () => {
  test("accepted is sent", () => {
    expect(classifyMailOutcome({ kind: "accepted", reply: "250 ok" })).toEqual({
      kind: "sent",
      reply: "250 ok",
    });
  });

  test("no answer to the final dot is ambiguous: the relay may have it", () => {
    expect(describeOutcome({ kind: "unknown", reason: "timeout" })).toBe(
      "deferred, burns, ambiguous, relay fault",
    );
  });

  test("out of time is nobody's fault: nothing left this machine", () => {
    expect(describeOutcome({ kind: "outOfTime" })).toBe("deferred");
  });

  test.each([
    ["550 5.1.1 no", "5.1.1"],
    ["550-5.1.10 no", "5.1.10"],
    ["550 5.1.1", "5.1.1"],
    ["550", ""],
    ["550 no", ""],
    ["550 5.1 no", ""],
    ["550 5.1.1.1 no", "5.1.1"],
    ["", ""],
  ])("the enhanced code of %p is %p", (reply, expected) => {
    expect(enhancedCode(reply)).toBe(expected);
  });
});
