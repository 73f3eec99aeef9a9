import { OwnersInTurn } from "../../kernel/ownersInTurn.ts";

/** How long the reading of one mail may take, in ms; one of 16 MB as programs write them takes a tenth of that. */
const PARSE_MS_MAX = 5_000;

interface Job<Result> {
  readonly bytes: Uint8Array;
  readonly settle: PromiseWithResolvers<Result>;
}

/** A thread that reads mails one after another. */
export interface ParserThreadSupervisor<Result> {
  /** Owners take turns, so that nobody's mails wait for all of another one's. Rejects for bugs alone. */
  parse(bytes: Uint8Array, owner: string): Promise<Result>;
  close(): void;
}

/**
 * Reads mails on a thread of its own, which begins with the first of them. `script` answers each message, the bytes of a
 * mail, with what it has read. One that takes longer than {@link PARSE_MS_MAX} is `tooLong`, and the thread is ended.
 */
export function parserThreadSupervisor<Result>(
  script: string,
  tooLong: Result,
): ParserThreadSupervisor<Result> {
  const waiting = new OwnersInTurn<Job<Result>>();
  let thread: Worker | null = null;
  let isBusy = false;

  const end = (ended: Worker) => {
    ended.terminate();
    if (thread === ended) thread = null;
  };

  const next = () => {
    const job = waiting.next();
    isBusy = job !== undefined;
    if (job !== undefined) run(job);
  };

  const run = ({ bytes, settle }: Job<Result>) => {
    const worker = thread ?? new Worker(script);
    thread = worker;
    const timer = setTimeout(() => {
      end(worker);
      settle.resolve(tooLong);
      next();
    }, PARSE_MS_MAX);
    worker.onmessage = ({ data }: MessageEvent<Result>) => {
      clearTimeout(timer);
      settle.resolve(data);
      next();
    };
    worker.onerror = ({ message }) => {
      clearTimeout(timer);
      end(worker);
      settle.reject(new Error(message));
      next();
    };
    worker.postMessage(bytes);
  };

  return {
    parse(bytes, owner) {
      const settle = Promise.withResolvers<Result>();
      waiting.add(owner, { bytes, settle });
      if (!isBusy) next();
      return settle.promise;
    },
    close() {
      if (thread !== null) end(thread);
    },
  };
}
