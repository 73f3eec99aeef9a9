import { type Answer, callerOf } from "../../support/service.ts";

/** What a 202 said. */
export interface Receipt {
  readonly id: string;
  readonly status: string;
  readonly created_at: string;
}

/** One Idempotency-Key and all answers to its requests. */
export interface Post {
  readonly key: string;
  readonly subject: string;
  readonly to: string;
  /** The first 202; null while none has come. */
  receipt: Receipt | null;
  /** 202s without `Idempotent-Replayed`: one key is accepted once, so never more than one. */
  freshAnswers: number;
  /** Requests in flight. */
  inFlight: number;
  /** Whether some request got no answer: the connection broke. */
  wasInterrupted: boolean;
}

export interface LoadOptions {
  /** Requests at once. */
  readonly posters: number;
  /** Accepted messages that have not reached the sink. */
  readonly backlog: (accepted: number) => number;
}

/** One post in so many is sent twice at the same moment: both must get the one answer. */
const DUPLICATE_SHARE = 0.1;
/** A poster rests up to so long between two posts, so that the load leaves room for others on the machine. */
const PAUSE_MS_MAX = 15;

/** Posts messages without end and remembers what was promised. Violations are collected in `problems`. */
export class Load {
  readonly posts: Post[] = [];
  readonly problems: string[] = [];
  /** Posters wait while the backlog is longer than this. */
  backlogMax = Number.POSITIVE_INFINITY;
  /** Requests that were answered with 503. */
  unavailable = 0;
  private accepted = 0;
  private serial = 0;
  private running = false;
  private posters: Promise<unknown> = Promise.resolve();
  private service = { url: "", apiKey: "" };
  private readonly run = crypto.randomUUID().slice(0, 8);

  constructor(private readonly options: LoadOptions) {}

  /** From now on requests go to this service. */
  setTarget(service: { readonly url: string; readonly apiKey: string }): void {
    this.service = service;
  }

  start(): void {
    this.running = true;
    this.posters = Promise.all(Array.from({ length: this.options.posters }, () => this.post()));
  }

  /** Starts no new posts; settles when those in flight have ended, one way or the other. */
  async stop(): Promise<void> {
    this.running = false;
    await this.posters;
  }

  /** Posts with a request in flight now. */
  inFlight(): readonly Post[] {
    return this.posts.filter((post) => post.inFlight > 0);
  }

  unanswered(): readonly Post[] {
    return this.posts.filter((post) => post.receipt === null);
  }

  /** One request of this post; true when it was answered with 202. */
  async request(post: Post): Promise<boolean> {
    const { url, apiKey } = this.service;
    post.inFlight += 1;
    try {
      const answer = await callerOf(url, apiKey).send(post.key, {
        from: "hello@example.com",
        to: post.to,
        subject: post.subject,
        text: `This is ${post.subject}.`,
      });
      return this.readAnswer(post, answer);
    } catch {
      post.wasInterrupted = true;
      return false;
    } finally {
      post.inFlight -= 1;
    }
  }

  newPost(): Post {
    this.serial += 1;
    const name = `${this.run}-${this.serial}`;
    const post: Post = {
      key: `crash-${name}`,
      subject: `Message ${name}`,
      to: `someone-${this.serial}@example.net`,
      receipt: null,
      freshAnswers: 0,
      inFlight: 0,
      wasInterrupted: false,
    };
    this.posts.push(post);
    return post;
  }

  private async post(): Promise<void> {
    while (this.running) {
      await Bun.sleep(Math.random() * PAUSE_MS_MAX);
      if (this.options.backlog(this.accepted) > this.backlogMax) continue;
      const post = this.newPost();
      const copies = Math.random() < DUPLICATE_SHARE ? 2 : 1;
      await Promise.all(Array.from({ length: copies }, () => this.request(post)));
    }
  }

  private readAnswer(post: Post, { status, json, headers, text }: Answer): boolean {
    if (status === 503) this.unavailable += 1;
    else if (status !== 202) this.problems.push(`${post.key} was answered ${status}: ${text.slice(0, 200)}`);
    if (status !== 202) return false;
    const { id, status: state, created_at } = json as Receipt;
    if (!headers.has("idempotent-replayed")) post.freshAnswers += 1;
    if (post.freshAnswers > 1) this.problems.push(`${post.key} was accepted as new twice`);
    if (post.receipt === null) {
      post.receipt = { id, status: state, created_at };
      this.accepted += 1;
    } else if (post.receipt.id !== id || post.receipt.created_at !== created_at) {
      this.problems.push(`${post.key} was told ${post.receipt.id} and then ${id}`);
    }
    return true;
  }
}
