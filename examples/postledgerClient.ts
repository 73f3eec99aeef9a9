/** Where the service is, and how long to try. */
export interface ClientOptions {
  /** Of the service, such as `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly apiKey: string;
  /** How long one try may take, in ms; by default 20 s, and 1 s more for each 100,000 bytes of the body. */
  readonly tryMs?: number;
  /** How long a call may take, with all tries and the pauses between, in ms; by default 60 s, and as much more. */
  readonly callMs?: number;
}

export interface Call {
  readonly query?: Readonly<Record<string, string | number>>;
  readonly body?: unknown;
  /** Makes a send repeatable. Name it after what the message is about (`order-4711-shipped`). */
  readonly idempotencyKey?: string;
  /** Ends the call early. */
  readonly signal?: AbortSignal;
}

/** What a problem document (RFC 9457) says; `status` is null where no answer came. */
export class PostledgerError extends Error {
  override readonly name = "PostledgerError";
  readonly status: number | null;
  /** For programs. `NO_ANSWER` where none came, `HTTP_502` and so on from a proxy; a newer service may have more. */
  readonly code: ProblemCode | "NO_ANSWER" | `HTTP_${number}` | (string & {});
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** How long to wait before that, in ms; null where the service does not say. */
  readonly retryAfterMs: number | null;
  /** Of `IDEMPOTENCY_CONFLICT`: the message that was accepted with the key. */
  readonly emailId: string | null;
  /** Names the request in the service's log. */
  readonly requestId: string | null;
  /** The wrong values of the request, each with a JSON Pointer to it. */
  readonly errors: readonly { readonly pointer: string; readonly message: string }[];

  constructor(problem: Partial<Problem>, options?: ErrorOptions) {
    super(problem.detail ?? problem.title ?? "the service did not answer", options);
    this.status = problem.status ?? null;
    this.code = problem.code ?? "NO_ANSWER";
    this.retryable = problem.retryable ?? true;
    this.retryAfterMs = problem.retry_after ? 1_000 * problem.retry_after : null;
    this.emailId = problem.email_id ?? null;
    this.requestId = problem.request_id ?? null;
    this.errors = problem.errors ?? [];
  }
}

interface Problem {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly code: PostledgerError["code"];
  readonly retryable: boolean;
  /** In seconds; of a whole answer it is in the header. */
  readonly retry_after?: number;
  readonly email_id?: string;
  readonly request_id: string;
  readonly errors: PostledgerError["errors"];
}

interface Page<Item> {
  readonly data: readonly Item[];
  /** Absent where the answer has all items: `GET /webhooks` without a `limit`. */
  readonly next_cursor?: string | null;
}

const TRY_MS = 20_000;
const CALL_MS = 60_000;
/** The slowest link for which the defaults leave time: the largest body, 16 MB, takes 160 s on it. */
const BODY_BYTES_PER_MS_MIN = 100;
/** The pause before the first repeat; it doubles each time. */
const PAUSE_MS = 250;
const PAUSE_MS_MAX = 10_000;

/**
 * Calls the API with `fetch`. What can be repeated without harm is repeated after a network fault, a 429 or a 503: reads,
 * and sends, which keep their Idempotency-Key, so that none goes out twice.
 */
export class PostledgerClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Sends one message. Without a key of yours it gets one of its own, which is the same for all tries of this call. */
  send(email: NewEmail, call: Pick<Call, "idempotencyKey" | "signal"> = {}): Promise<AcceptedEmail> {
    const { idempotencyKey = crypto.randomUUID() } = call;
    return this.call("POST", "/api/v1/emails", { ...call, idempotencyKey, body: email });
  }

  /**
   * Sends up to 100 messages, and answers a result for each, in their order. Those that may be accepted later are sent
   * again together, after the longest wait among them. If the call itself fails, that is the result of all that were in
   * it. Throws only what `signal` aborts with.
   */
  async sendBatch(
    emails: readonly BatchedEmail[],
    { signal }: Pick<Call, "signal"> = {},
  ): Promise<readonly BatchResult[]> {
    const results: BatchResult[] = [];
    const deadline = this.#deadlineOf(JSON.stringify(emails));
    let due = [...emails.keys()];
    for (let tries = 1; due.length > 0; tries += 1) {
      const body = JSON.stringify({ emails: due.map((place) => emails[place]) });
      const request = { method: "POST", path: "/api/v1/emails/batch", body, ...(signal && { signal }) };
      const tried = await this.#try<{ data: readonly (AcceptedEmail | Problem)[] }>(request, deadline);
      const pauseMs = pauseMsAfter(tries);
      const waits = new Map<number, number>();
      for (const [nth, place] of due.entries()) {
        const result = tried instanceof PostledgerError ? tried : resultOf(tried.data[nth]);
        results[place] = result;
        const waitMs = result instanceof PostledgerError ? waitMsAfter(result, pauseMs, deadline) : null;
        if (waitMs !== null) waits.set(place, waitMs);
      }
      due = [...waits.keys()];
      if (due.length > 0) await pause(Math.max(...waits.values()), signal);
    }
    return results;
  }

  /** All items of a list, newest first, page by page as they are asked for. */
  async *list<Item>(path: string, call: Call = {}): AsyncGenerator<Item> {
    let cursor: string | null = null;
    do {
      const query: Record<string, string | number> = {
        ...call.query,
        ...(cursor === null ? {} : { cursor }),
      };
      const page: Page<Item> = await this.call("GET", path, { ...call, query });
      yield* page.data;
      cursor = page.next_cursor ?? null;
    } while (cursor !== null);
  }

  /** Any other call of the API. Throws {@link PostledgerError}, and what `signal` aborts with. */
  async call<Answer>(method: string, path: string, { body, ...call }: Call = {}): Promise<Answer> {
    const isRepeatable = method === "GET" || call.idempotencyKey !== undefined;
    const request = { ...call, method, path, body: body === undefined ? null : JSON.stringify(body) };
    const deadline = this.#deadlineOf(request.body);
    for (let tries = 1; ; tries += 1) {
      const tried = await this.#try<Answer>(request, deadline);
      if (!(tried instanceof PostledgerError)) return tried;
      const waitMs = isRepeatable ? waitMsAfter(tried, pauseMsAfter(tries), deadline) : null;
      if (waitMs === null) throw tried;
      await pause(waitMs, call.signal);
    }
  }

  #deadlineOf(body: string | null): number {
    return performance.now() + (this.#options.callMs ?? CALL_MS + uploadMsMax(body));
  }

  async #try<Answer>(request: ReadyRequest, deadline: number): Promise<Answer | PostledgerError> {
    const { tryMs = TRY_MS + uploadMsMax(request.body) } = this.#options;
    const limitMs = Math.max(1, Math.ceil(Math.min(tryMs, deadline - performance.now())));
    try {
      const response = await fetch(this.#target(request), this.#init(request, limitMs));
      const text = await response.text();
      if (response.ok) return (text === "" ? null : JSON.parse(text)) as Answer;
      return new PostledgerError(problemOf(response, text));
    } catch (cause) {
      request.signal?.throwIfAborted();
      return new PostledgerError({}, { cause });
    }
  }

  #target({ path, query = {} }: ReadyRequest): URL {
    const target = new URL(path, this.#options.url);
    for (const [name, value] of Object.entries(query)) target.searchParams.set(name, String(value));
    return target;
  }

  #init({ method, body, idempotencyKey, signal }: ReadyRequest, limitMs: number): RequestInit {
    const headers = new Headers({ authorization: `Bearer ${this.#options.apiKey}` });
    if (body !== null) headers.set("content-type", "application/json");
    if (idempotencyKey !== undefined) headers.set("idempotency-key", idempotencyKey);
    const timeout = AbortSignal.timeout(limitMs);
    return { method, headers, body, signal: signal ? AbortSignal.any([signal, timeout]) : timeout };
  }
}

interface ReadyRequest extends Omit<Call, "body"> {
  readonly method: string;
  readonly path: string;
  /** As JSON. */
  readonly body: string | null;
}

/** A proxy in front of the service answers with pages of its own. */
function problemOf({ status, headers }: Response, text: string): Partial<Problem> {
  const unknown: Partial<Problem> = {
    code: `HTTP_${status}`,
    title: `an answer of ${status}`,
    retryable: status >= 500 || status === 429,
    retry_after: Number(headers.get("retry-after")) || 0,
  };
  try {
    return { ...unknown, ...(JSON.parse(text) as Problem), status };
  } catch {
    return { ...unknown, status };
  }
}

/** Of one message of a batch. */
function resultOf(answer: AcceptedEmail | Problem | undefined): BatchResult {
  return answer && "id" in answer ? answer : new PostledgerError(answer ?? {});
}

/** The time that the defaults leave for a body to arrive. */
function uploadMsMax(body: string | null): number {
  return body === null ? 0 : new Blob([body]).size / BODY_BYTES_PER_MS_MIN;
}

/** Half of the pause is left to chance, so that many callers do not come again at once. */
function pauseMsAfter(tries: number): number {
  return Math.min(PAUSE_MS * 2 ** (tries - 1), PAUSE_MS_MAX) * (0.5 + Math.random() / 2);
}

/** How long to wait before another try; null if it cannot succeed, or not before the deadline. */
function waitMsAfter(error: PostledgerError, pauseMs: number, deadline: number): number | null {
  const waitMs = Math.max(error.retryAfterMs ?? 0, pauseMs);
  return error.retryable && performance.now() + waitMs < deadline ? waitMs : null;
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
  });
}

/** A message to be sent; the API reference says more about each member. */
export interface NewEmail {
  readonly from: string;
  readonly from_name?: string;
  readonly to: string;
  readonly to_name?: string;
  readonly reply_to?: string;
  readonly reply_to_name?: string;
  readonly subject?: string;
  readonly html?: string;
  readonly text?: string;
  /** RFC 3339, as `deliver_before` is. */
  readonly scheduled_at?: string;
  readonly deliver_before?: string;
  readonly content_retention?: "until_final_status";
  readonly auto_text?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly tags?: readonly string[];
  readonly template_id?: string;
  readonly template_alias?: string;
  readonly template_version_id?: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, string | number | boolean>>;
  /** Files, or ids of uploads. */
  readonly attachments?: readonly (string | AttachedFile)[];
}

export interface AttachedFile {
  readonly filename: string;
  readonly content_type: string;
  /** Base64. */
  readonly content: string;
  readonly content_id?: string;
}

export interface BatchedEmail extends NewEmail {
  readonly idempotency_key: string;
}

export interface AcceptedEmail {
  readonly id: string;
  readonly object: "email";
  readonly status: "queued" | "scheduled" | "suppressed";
  readonly created_at: string;
}

export type BatchResult = AcceptedEmail | PostledgerError;

/** Of a message in a list, or read by its id. */
export type EmailStatus =
  | AcceptedEmail["status"]
  | "sending"
  | "deferred"
  | "sent"
  | "delivered"
  | "bounced"
  | "complained"
  | "failed"
  | "canceled";

export type ProblemCode =
  | "INVALID_REQUEST"
  | "IDEMPOTENCY_KEY_REQUIRED"
  | "UNAUTHORIZED"
  | "FORBIDDEN"
  | "SENDING_PAUSED"
  | "WEBHOOK_NOT_FOUND"
  | "IDEMPOTENCY_CONFLICT"
  | "WEBHOOK_ALREADY_EXISTS"
  | "ATTACHMENT_NOT_READY"
  | "ATTACHMENT_EXPIRED"
  | "ATTACHMENT_LIMIT_EXCEEDED"
  | "PAYLOAD_TOO_LARGE"
  | "STORAGE_LIMIT_EXCEEDED"
  | "ATTACHMENT_INVALID"
  | "ATTACHMENT_TYPE_UNSUPPORTED"
  | "INVALID_WEBHOOK_URL"
  | "SENDER_UNAVAILABLE"
  | "TEMPLATE_UNAVAILABLE"
  | "INVALID_TEMPLATE_DATA"
  | "DAILY_LIMIT_REACHED"
  | "RATE_LIMITED"
  | "INTERNAL_ERROR"
  | "NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "EMAIL_NOT_CANCELABLE"
  | "EMAIL_NOT_SCHEDULED"
  | "WEBHOOK_DISABLED"
  | "RECIPIENT_SUPPRESSED"
  | "SENDER_VERIFICATION_UNAVAILABLE"
  | "SENDER_VERIFICATION_FAILED"
  | "SENDER_LIMIT_REACHED"
  | "TEMPLATE_ALREADY_EXISTS"
  | "TEMPLATE_ARCHIVED"
  | "TEMPLATE_LIMIT_REACHED"
  | "WEBHOOK_LIMIT_REACHED"
  | "API_KEY_NOT_ACTIVE"
  | "API_KEY_LIMIT_REACHED";
