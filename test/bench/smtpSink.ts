/** A relay that takes everything at once, in a process of its own: counts messages and forgets them. */
export interface Sink {
  readonly url: string;
  /** How many final dots it has answered. */
  received(): number;
  stop(): void;
}

export async function startSink(): Promise<Sink> {
  let received = 0;
  let port = 0;
  const ready = Promise.withResolvers<void>();
  const child = Bun.spawn([process.execPath, import.meta.path], {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    ipc(message: { readonly port?: number; readonly received?: number }) {
      received = message.received ?? received;
      if (message.port === undefined) return;
      port = message.port;
      ready.resolve();
    },
  });
  await ready.promise;
  return { url: `smtp://127.0.0.1:${port}`, received: () => received, stop: () => child.kill() };
}

const REPORT_MS = 10;

interface Session {
  pending: string;
  inData: boolean;
}

/** The answer to a line of the dialogue (RFC 5321); "" while there is nothing to say. */
function answer(session: Session, line: string): string {
  const verb = line.slice(0, 4).toUpperCase();
  if (verb === "EHLO") return "250-sink\r\n250-PIPELINING\r\n250 8BITMIME\r\n";
  if (verb === "DATA") {
    session.inData = true;
    return "354 go on\r\n";
  }
  return verb === "QUIT" ? "221 bye\r\n" : "250 ok\r\n";
}

function serve(): void {
  let received = 0;
  const take = (session: Session): string => {
    let replies = "";
    for (;;) {
      const end = session.inData ? session.pending.indexOf("\r\n.\r\n") : session.pending.indexOf("\r\n");
      if (end < 0) return replies;
      const line = session.pending.slice(0, end);
      session.pending = session.pending.slice(end + (session.inData ? 5 : 2));
      if (session.inData) {
        session.inData = false;
        received += 1;
        replies += "250 taken\r\n";
      } else replies += answer(session, line);
    }
  };
  const server = Bun.listen<Session>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = { pending: "", inData: false };
        socket.write("220 sink ESMTP\r\n");
      },
      data(socket, chunk) {
        socket.data.pending += chunk.toString("latin1");
        const replies = take(socket.data);
        if (replies) socket.write(replies);
        if (replies.endsWith("221 bye\r\n")) socket.end();
      },
    },
  });
  process.send?.({ port: server.port });
  let reportedCount = 0;
  setInterval(() => {
    if (reportedCount !== received) process.send?.({ received });
    reportedCount = received;
  }, REPORT_MS);
}

if (import.meta.main) serve();
