import { type AddressInfo, createServer, type Socket } from "node:net";

/** Where a transaction stands when the sink is about to answer: the commands of RFC 5321 that end in a reply. */
export type SinkStage = "mail" | "rcpt" | "data" | "final";

/** One message that the sink got up to its final dot, whatever it answered then. */
export interface Copy {
  /** X-Postledger-Id. */
  readonly id: string;
  readonly messageId: string;
  readonly subject: string;
  readonly to: string;
  /** The sink's clock when the final dot came, in ms since the epoch. */
  readonly at: number;
  /** The number of the service run that sent it, given by the test. */
  readonly generation: number;
}

/** A transaction of one connection, from MAIL FROM to the answer to the final dot. */
export interface Transaction {
  readonly connection: number;
  readonly generation: number;
  to: string;
  /** Set once the final dot has come. */
  copy: Copy | null;
}

/**
 * Called before a stage is answered. Nothing: the sink takes it. A text: said in place of the sink's answer.
 * A promise holds the answer back.
 */
type StageHook = (
  stage: SinkStage,
  transaction: Transaction,
) => Promise<string | undefined> | string | undefined;

/**
 * An SMTP server that the test controls completely. It is raw because npm's `smtp-server` waits 100 ms for
 * each connection and decides by itself when it answers.
 */
export interface RawSink {
  readonly port: number;
  /** In the order of their final dots. */
  readonly copies: readonly Copy[];
  /** Copies by X-Postledger-Id. */
  readonly copiesById: ReadonlyMap<string, readonly Copy[]>;
  /** Stamped on all transactions that begin from now on. */
  generation: number;
  onStage: StageHook | null;
  /** Connections that are open now. */
  connectionsOpen(): number;
  /** Transactions whose connection ended before their final dot came. */
  readonly interrupted: readonly Transaction[];
  close(): Promise<void>;
}

const REPLIES: Readonly<Record<SinkStage, string>> = {
  mail: "250 2.1.0 sender taken",
  rcpt: "250 2.1.5 recipient taken",
  data: "354 go ahead",
  final: "250 2.0.0 taken",
};
const STAGES: Readonly<Record<string, SinkStage>> = { MAIL: "mail", RCPT: "rcpt", DATA: "data" };
const PLAIN_ANSWERS: Readonly<Record<string, string>> = {
  EHLO: "250-sink.test\r\n250-8BITMIME\r\n250 SMTPUTF8",
  HELO: "250 sink.test",
  RSET: "250 2.0.0 forgotten",
  NOOP: "250 2.0.0 well",
};
const FINAL_DOT = "\r\n.\r\n";

function headerOf(content: string, name: string): string {
  const head = content.slice(0, content.indexOf("\r\n\r\n") + 2).replace(/\r\n[ \t]+/g, " ");
  return new RegExp(`^${name}: *(.*)\r$`, "im").exec(head)?.[1] ?? "";
}

/** One connection: takes bytes, says lines. Answers strictly one after another, as SMTP without pipelining is. */
class Conversation {
  private input = "";
  private busy = false;
  private inContent = false;
  private transaction: Transaction | null = null;

  constructor(
    private readonly number: number,
    private readonly socket: Socket,
    private readonly sink: SinkState,
  ) {
    socket.setNoDelay(true);
    socket.setEncoding("latin1");
    socket.on("error", () => {});
    socket.on("data", (text: string) => {
      this.input += text;
      void this.advance();
    });
    socket.on("close", () => {
      sink.sockets.delete(socket);
      if (this.transaction && this.transaction.copy === null) sink.interrupted.push(this.transaction);
    });
    this.reply("220 sink.test ESMTP");
  }

  private reply(text: string): void {
    if (!this.socket.destroyed) this.socket.write(`${text}\r\n`);
  }

  private async advance(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    while (await this.step());
    this.busy = false;
  }

  /** Deals with one command or one content; false when neither is complete. */
  private async step(): Promise<boolean> {
    const end = this.inContent ? FINAL_DOT : "\r\n";
    const at = this.input.indexOf(end);
    if (at < 0) return false;
    const text = this.input.slice(0, at);
    this.input = this.input.slice(at + end.length);
    if (this.inContent) await this.endContent(`${text}\r\n`);
    else await this.command(text);
    return true;
  }

  private async command(line: string): Promise<void> {
    const verb = line.slice(0, 4).toUpperCase();
    const stage = STAGES[verb];
    if (stage) return this.answerStage(stage, line);
    if (verb === "QUIT") {
      this.reply("221 2.0.0 bye");
      this.socket.end();
      return;
    }
    if (verb === "RSET") this.transaction = null;
    this.reply(PLAIN_ANSWERS[verb] ?? "502 5.5.1 not here");
  }

  private async answerStage(stage: SinkStage, line: string): Promise<void> {
    if (stage === "mail") {
      this.transaction = {
        connection: this.number,
        generation: this.sink.generation,
        to: "",
        copy: null,
      };
    }
    const { transaction } = this;
    if (!transaction) return this.reply("503 5.5.1 MAIL first");
    if (stage === "rcpt") transaction.to = /<(.*)>/.exec(line)?.[1] ?? "";
    const answer = (await this.sink.onStage?.(stage, transaction)) ?? REPLIES[stage];
    this.inContent = stage === "data" && answer.startsWith("354");
    this.reply(answer);
  }

  private async endContent(content: string): Promise<void> {
    this.inContent = false;
    const { transaction } = this;
    if (!transaction) return;
    const copy: Copy = {
      id: headerOf(content, "X-Postledger-Id"),
      messageId: headerOf(content, "Message-ID"),
      subject: headerOf(content, "Subject"),
      to: transaction.to,
      at: Date.now(),
      generation: transaction.generation,
    };
    transaction.copy = copy;
    this.sink.copies.push(copy);
    this.sink.copiesById.set(copy.id, [...(this.sink.copiesById.get(copy.id) ?? []), copy]);
    const answer = (await this.sink.onStage?.("final", transaction)) ?? REPLIES.final;
    this.transaction = null;
    this.reply(answer);
  }
}

interface SinkState {
  generation: number;
  onStage: StageHook | null;
  readonly copies: Copy[];
  readonly copiesById: Map<string, readonly Copy[]>;
  readonly interrupted: Transaction[];
  readonly sockets: Set<Socket>;
}

/** Starts a sink on a free loopback port. */
export async function startRawSink(): Promise<RawSink> {
  const state: SinkState = {
    generation: 0,
    onStage: null,
    copies: [],
    copiesById: new Map(),
    interrupted: [],
    sockets: new Set(),
  };
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    state.sockets.add(socket);
    new Conversation(connections, socket, state);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(state, {
    port,
    connectionsOpen: () => state.sockets.size,
    async close() {
      for (const socket of state.sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
