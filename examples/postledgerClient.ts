/** Where the service is, and how long to try. */
export interface ClientOptions {
  /** Of the service, such as `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly apiKey: string;
  /** How long one try may take, in ms. */
  readonly tryMs?: number;
  /** How long all tries of a call may take together, in ms. */
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
  /** For programs: `IDEMPOTENCY_CONFLICT`, `RATE_LIMITED` and so on; `NO_ANSWER` where none came. */
  readonly code: string;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** Names the request in the service's log. */
  readonly requestId: string | null;
  /** The wrong values of the request, each with a JSON Pointer to it. */
  readonly errors: readonly { readonly pointer: string; readonly message: string }[];

  constructor(problem: Partial<Problem>, options?: ErrorOptions) {
    super(problem.detail ?? problem.title ?? "the service did not answer", options);
    this.status = problem.status ?? null;
    this.code = problem.code ?? "NO_ANSWER";
    this.retryable = problem.retryable ?? true;
    this.requestId = problem.request_id ?? null;
    this.errors = problem.errors ?? [];
  }
}

interface Problem {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly code: string;
  readonly retryable: boolean;
  readonly request_id: string;
  readonly errors: PostledgerError["errors"];
}

interface Page<Item> {
  readonly data: readonly Item[];
  /** Absent where the answer has all items: `GET /webhooks` without a `limit`. */
  readonly next_cursor?: string | null;
}

/** A message to be sent; every member is in the API reference. */
export interface NewEmail {
  readonly from: string;
  readonly to: string;
  readonly subject?: string;
  readonly html?: string;
  readonly text?: string;
  readonly template_id?: string;
  readonly template_alias?: string;
  readonly [member: string]: unknown;
}

export interface AcceptedEmail {
  readonly id: string;
  readonly object: "email";
  readonly status: string;
  readonly created_at: string;
}

const TRY_MS = 10_000;
const CALL_MS = 60_000;
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
  async call<Answer>(method: string, path: string, call: Call = {}): Promise<Answer> {
    const { callMs = CALL_MS } = this.#options;
    const isRepeatable = method === "GET" || call.idempotencyKey !== undefined;
    const deadline = performance.now() + callMs;
    for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
      const tried = await this.#try<Answer>(method, path, call);
      if ("answer" in tried) return tried.answer;
      // Half of the pause is left to chance, so that many callers do not come again at once.
      const waitMs = Math.max(tried.retryAfterMs, pauseMs * (0.5 + Math.random() / 2));
      const isLast = !isRepeatable || !tried.error.retryable || performance.now() + waitMs > deadline;
      if (isLast) throw tried.error;
      await pause(waitMs, call.signal);
    }
  }

  async #try<Answer>(method: string, path: string, call: Call): Promise<Tried<Answer>> {
    try {
      const response = await fetch(this.#target(path, call), this.#requestOf(method, call));
      const text = await response.text();
      if (response.ok) return { answer: (text === "" ? null : JSON.parse(text)) as Answer };
      const retryAfterMs = 1_000 * Number(response.headers.get("retry-after")) || 0;
      return { error: new PostledgerError(problemOf(response.status, text)), retryAfterMs };
    } catch (cause) {
      call.signal?.throwIfAborted();
      return { error: new PostledgerError({}, { cause }), retryAfterMs: 0 };
    }
  }

  #target(path: string, { query = {} }: Call): URL {
    const target = new URL(path, this.#options.url);
    for (const [name, value] of Object.entries(query)) target.searchParams.set(name, String(value));
    return target;
  }

  #requestOf(method: string, { body, idempotencyKey, signal }: Call): RequestInit {
    const headers = new Headers({ authorization: `Bearer ${this.#options.apiKey}` });
    if (body !== undefined) headers.set("content-type", "application/json");
    if (idempotencyKey !== undefined) headers.set("idempotency-key", idempotencyKey);
    const timeout = AbortSignal.timeout(this.#options.tryMs ?? TRY_MS);
    return {
      method,
      headers,
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
  }
}

type Tried<Answer> =
  | { readonly answer: Answer }
  | { readonly error: PostledgerError; readonly retryAfterMs: number };

/** A proxy in front of the service answers with pages of its own. */
function problemOf(status: number, text: string): Partial<Problem> {
  try {
    return { ...(JSON.parse(text) as Problem), status };
  } catch {
    return {
      status,
      code: `HTTP_${status}`,
      title: `an answer of ${status}`,
      retryable: status >= 500 || status === 429,
    };
  }
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
