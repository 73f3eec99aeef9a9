import { describe, expect, test } from "bun:test";
import { withReplyTexts } from "../../../src/commands/email/decryptRelayReplies.ts";
import { contentSaltOf } from "../../../src/commands/email/emailHistory.ts";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import { emailDecider } from "../../../src/domain/email/state.ts";
import { instanceKeys, newDataKey } from "../../../src/kernel/crypto/instanceKeys.ts";

const SALT = "3f1c9a52-8d0e-4b7a-9c3f-2f6f0a1b2c3d";
const keys = instanceKeys(newDataKey());

const opened = (event: EmailEvent, salt: string | null) =>
  withReplyTexts(keys, salt, [{ sequence: 3, at: "2026-01-01T00:00:00.000Z", event }])[0]?.event.data;

const sealed: EmailEvent = {
  type: "EmailBounced",
  data: {
    attempt: 1,
    reason: "recipient_refused",
    code: 550,
    enhancedCode: "5.2.0",
    sealedReply: keys.encryptWithSalt(SALT, "550 5.2.0 Smithson, Ana has left"),
  },
};
/** As it was recorded before replies were sealed. */
const plain: EmailEvent = {
  type: "EmailBounced",
  data: { attempt: 1, reason: "recipient_refused", code: 550, reply: "550 5.2.0 Ana has left" },
};
const unencryptedSent: EmailEvent = {
  type: "EmailSent",
  data: { attempt: 1, transport: "smtp", reply: "250 2.0.0 taken for Ana" },
};

describe("a relay's reply", () => {
  test("is shown while its salt exists", () => {
    expect(opened(sealed, SALT)).toMatchObject({ reply: "550 5.2.0 Smithson, Ana has left" });
    expect(opened(plain, SALT)).toMatchObject({ reply: "550 5.2.0 Ana has left" });
    expect(opened(unencryptedSent, SALT)).toMatchObject({ reply: "250 2.0.0 taken for Ana" });
  });

  test("is reduced to its codes without the salt, even if an older release stored it in plain text", () => {
    expect(opened(sealed, null)).not.toHaveProperty("reply");
    expect(opened(plain, null)).toMatchObject({ code: 550, reply: "550 5.2.0" });
    expect(opened(unencryptedSent, null)).toMatchObject({ reply: "250 2.0.0" });
  });

  test("cannot be decrypted with another salt, or another instance's key", () => {
    const sealedReply = keys.encryptWithSalt(SALT, "550 no");
    expect(keys.decryptWithSalt(SALT, sealedReply)).toBe("550 no");
    expect(keys.decryptWithSalt(SALT.replace("3", "4"), sealedReply)).toBeNull();
    expect(instanceKeys(newDataKey()).decryptWithSalt(SALT, sealedReply)).toBeNull();
    expect(keys.encryptWithSalt(SALT, "550 no")).not.toBe(sealedReply);
  });

  test("has no salt once the content is erased, even while the log still holds it", () => {
    const stored: EmailEvent = { type: "EmailContentStored", data: { salt: SALT } };
    const queued = { type: "EmailQueued", data: { acceptedAt: "2026-01-01T00:00:00.000Z" } } as EmailEvent;
    const erased: EmailEvent = { type: "EmailContentErased", data: { reason: "requested" } };
    const timelineOf = (...all: readonly EmailEvent[]) => ({
      state: all.reduce(emailDecider.evolve, emailDecider.initialState),
      events: all.map((event, sequence) => ({ sequence, at: "", event })),
    });
    expect(contentSaltOf(timelineOf(stored, queued))).toBe(SALT);
    expect(contentSaltOf(timelineOf(stored, queued, erased))).toBeNull();
    expect(contentSaltOf(timelineOf(queued))).toBeNull();
    expect(contentSaltOf(timelineOf())).toBeNull();
  });
});
