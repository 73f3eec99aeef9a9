import { expect, test } from "bun:test";
import { receiveReturnedMail } from "../../../src/commands/email/feedback/receiveReturnedMail.ts";

test("a mail to many addresses is read once, because its author decides how long that takes", async () => {
  let read = 0;
  const context = {
    parser: {
      async parse() {
        read += 1;
        return null;
      },
    },
  };
  const addresses = Array.from({ length: 10 }, (_, attempt) => {
    return { kind: "returnPath", emailId: crypto.randomUUID(), attempt } as const;
  });
  const received = await receiveReturnedMail(
    context as unknown as Parameters<typeof receiveReturnedMail>[0],
    addresses,
    new Uint8Array(),
  );
  expect({ read, received }).toEqual({ read: 1, received: { reading: "unknown", recorded: 0 } });
});
