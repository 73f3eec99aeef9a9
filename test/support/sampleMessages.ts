import { SENDER, type Tenant, type TestService } from "./tenants.ts";
import { until } from "./until.ts";

const PEOPLE = ["ana.ruiz", "ben.okafor", "chiara.rossi", "dmitri.petrov", "eun-ji.kim", "farah.haddad"];
const SUBJECTS = [
  "Your order #10482 has shipped",
  "Reset your password",
  "Invoice 2026-0117 from Acme",
  "Confirm your new address",
  "Your weekly report is ready",
  "You have a new sign-in from Lisbon",
];

/** A mail such as a shop sends. */
export const SHOP_HTML = `<!doctype html><html><body style="margin:0;background:#f4f4f7;font-family:Georgia,serif">
<table width="100%" cellpadding="0" cellspacing="0"><tr><td align="center" style="padding:32px 12px">
<table style="width:100%;max-width:560px;background:#fff;border-radius:8px"><tr><td style="padding:32px">
<h1 style="margin:0 0 12px;font-size:24px">Your order has shipped</h1><p style="color:#444">Hello Ana, the parcel with
your order <b>#10482</b> left our warehouse this morning.</p><p><a href="https://shop.example/track"
style="background:#1a6b54;color:#fff;padding:10px 18px;border-radius:6px;text-decoration:none">Track the parcel</a></p>
</td></tr></table></td></tr></table></body></html>`;

/** Ids of messages by their status. */
export interface Samples {
  readonly sent: string;
  readonly deferred: string;
  readonly bounced: string;
  readonly failed: string;
  readonly queued: string;
}

const attempted = { attempt: 1, worker: "eager-otter", leaseMs: 60_000, transport: "smtp" };

/** Fills a workspace with messages in every state, by appending their events. The service must not deliver mail. */
export async function sendSamples(service: TestService, tenant: Tenant, count = 40): Promise<Samples> {
  const ids: string[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const { json } = await tenant.send(`sample-${String(nth).padStart(5, "0")}`, {
      from: SENDER,
      to: `${PEOPLE[nth % PEOPLE.length]}@example.org`,
      subject: SUBJECTS[nth % SUBJECTS.length],
      html: SHOP_HTML,
      text: "Your order has shipped.\n\nHello Ana, the parcel with your order #10482 left our warehouse this morning.",
      metadata: { order: 10_482 + nth },
    });
    ids.push(json.id);
  }
  const [queued = "", deferred = "", bounced = "", failed = "", ...rest] = ids.toReversed();
  const started = { type: "EmailDeliveryStarted", data: attempted } as const;
  await service.addEmailEvents(deferred, started, {
    type: "EmailDeferred",
    data: {
      attempt: 1,
      reason: "greylisted",
      attemptBurnt: true,
      ambiguous: false,
      nextAttemptAt: new Date(Date.now() + 240_000).toISOString(),
      code: 451,
      reply: "451 4.7.1 <recipient>: Greylisting in action, please come back later",
    },
  });
  await service.addEmailEvents(bounced, started, {
    type: "EmailBounced",
    data: {
      attempt: 1,
      reason: "recipient_address_rejected",
      code: 550,
      enhancedCode: "5.1.1",
      reply: "550 5.1.1 <recipient>: Recipient address rejected: User unknown in virtual mailbox table",
    },
  });
  await service.addEmailEvents(failed, started, {
    type: "EmailFailed",
    data: {
      attempt: 1,
      reason: "policy_rejected",
      code: 550,
      reply: "550 5.7.26 This mail is unauthenticated",
    },
  });
  for (const id of rest)
    await service.addEmailEvents(id, started, {
      type: "EmailSent",
      data: { attempt: 1, transport: "smtp", reply: "250 2.0.0 Ok: queued as 4XyZ1" },
    });
  const statusOf = async (status: string) =>
    (await tenant.call("GET", `/api/v1/emails?status=${status}`)).json.data.length;
  await until(
    async () => (await statusOf("failed")) === 1 && (await statusOf("sent")) > 0,
    "the read model to show the messages",
  );
  return { sent: rest[0] ?? "", deferred, bounced, failed, queued };
}
