import { Webhook } from "standardwebhooks";

/** What an endpoint is sent: `type` says what `data` holds. Members that you do not know may be added. */
export interface WebhookEvent {
  readonly type: string;
  readonly version: number;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface ReceiverOptions {
  /** The endpoint's signing secret, `whsec_…`: shown when it was registered, and at each rotation. */
  readonly secret: string;
  /** Does the work. When it throws, the event is not lost: it comes again. */
  readonly onEvent: (event: WebhookEvent) => void | Promise<void>;
}

/** More ids than arrive while an event may still be repeated. Keep them in your database for longer than that. */
const SEEN_IDS_MAX = 100_000;

/**
 * Answers the calls of Postledger. It lets in what is signed with `secret` and no more than five minutes old, and
 * does the work of each event once: a repeat has the same `webhook-id`.
 */
export function webhookReceiver({ secret, onEvent }: ReceiverOptions) {
  const webhook = new Webhook(secret);
  /** The work of each event, by its `webhook-id`, the oldest first. */
  const seen = new Map<string, Promise<void>>();

  return async (request: Request): Promise<Response> => {
    // The signature is over the bytes as they came: parsed and written again they may be others.
    const body = await request.text();
    let event: WebhookEvent;
    try {
      event = webhook.verify(body, Object.fromEntries(request.headers)) as WebhookEvent;
    } catch {
      return new Response("the signature does not match", { status: 401 });
    }
    const id = request.headers.get("webhook-id") as string;
    const isRepeat = seen.has(id);
    const work = seen.get(id) ?? Promise.resolve(event).then(onEvent);
    seen.set(id, work);
    try {
      await work;
    } catch {
      seen.delete(id);
      return new Response("try again", { status: 500 });
    }
    const [oldest] = seen.keys();
    if (seen.size > SEEN_IDS_MAX && oldest !== undefined) seen.delete(oldest);
    return new Response(isRepeat ? "seen before" : "thank you");
  };
}

/** `WEBHOOK_SECRET=whsec_… bun examples/webhookReceiver.ts`, behind whatever ends TLS for it. */
if (import.meta.main) {
  const onEvent = ({ type, data }: WebhookEvent) => console.log(type, data.id, data.status ?? "");
  const { WEBHOOK_SECRET: secret } = process.env;
  if (!secret) {
    console.error("WEBHOOK_SECRET is not set: it is the endpoint's signing secret, whsec_…");
    process.exit(1);
  }
  const fetch = webhookReceiver({ secret, onEvent });
  const server = Bun.serve({ port: Number(process.env.PORT ?? 4000), maxRequestBodySize: 65_536, fetch });
  console.log(`listens on ${server.url}`);
}
