/** A name server (RFC 1035 §4) that knows one address, 127.0.0.1, for every name, and costs next to nothing. */
export interface LoopbackNames {
  /** `127.0.0.1:<port>`. */
  readonly address: string;
  stop(): void;
}

const HEADER_BYTES = 12;
const TYPE_A = 1;
/** A pointer to the name asked for, type A, class IN, a TTL of 0, four bytes: 127.0.0.1. */
const RECORD = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);

/** The answer to a query: its header and question, and a record where an address was asked for. */
function answerFor(query: Buffer): Buffer {
  let end = HEADER_BYTES;
  while ((query[end] ?? 0) > 0) end += 1 + (query[end] ?? 0);
  end += 5;
  const isForAddress = query.readUInt16BE(end - 4) === TYPE_A;
  const answer = Buffer.concat([query.subarray(0, end), ...(isForAddress ? [RECORD] : [])]);
  answer.writeUInt16BE(0x8180, 2);
  answer.writeUInt16BE(isForAddress ? 1 : 0, 6);
  answer.writeUInt32BE(0, 8);
  return answer;
}

export async function startLoopbackNames(): Promise<LoopbackNames> {
  const socket = await Bun.udpSocket({
    hostname: "127.0.0.1",
    socket: {
      data: (self, query, port, address) => {
        self.send(answerFor(query), port, address);
      },
    },
  });
  return { address: `127.0.0.1:${socket.port}`, stop: () => socket.close() };
}
