import { createSocket, type RemoteInfo } from "node:dgram";

/** What the server says about a name: records of one or more strings each, a fault, or nothing at all. */
export type DnsAnswer = readonly (readonly string[])[] | "NXDOMAIN" | "SERVFAIL" | "REFUSED" | "silence";

export interface DnsServer {
  /** `address:port`, as DNS_SERVERS takes it. */
  readonly address: string;
  /** Names in lower case; those that are not here do not exist. */
  readonly zone: Map<string, DnsAnswer>;
  /** The names that were asked for, in order. */
  readonly asked: string[];
  close(): void;
}

const HEADER_BYTES = 12;
const TYPE_TXT = 16;
const CLASS_IN = 1;
/** A response to a recursive query, recursion available. */
const FLAGS = 0x8180;
const CODES = { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 } as const;

/** The question's name, and where the question ends (RFC 1035 §4.1.2). */
function questionOf(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: at + 5 };
}

/** One TXT record of the name that was asked for (RFC 1035 §3.3.14). */
function txtRecord(strings: readonly string[]): Buffer {
  const data = Buffer.concat(
    strings.map((text) => Buffer.from(String.fromCharCode(text.length) + text, "latin1")),
  );
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
  head.writeUInt16BE(TYPE_TXT, 2);
  head.writeUInt16BE(CLASS_IN, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function response(query: Buffer, end: number, answer: Exclude<DnsAnswer, "silence">): Buffer {
  const records = typeof answer === "string" ? [] : answer.map(txtRecord);
  const head = Buffer.alloc(HEADER_BYTES);
  query.copy(head, 0, 0, 2);
  head.writeUInt16BE(FLAGS | (typeof answer === "string" ? CODES[answer] : 0), 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(records.length, 6);
  return Buffer.concat([head, query.subarray(HEADER_BYTES, end), ...records]);
}

/** A name server on a free port of 127.0.0.1 that knows TXT records only. */
export async function startDnsServer(): Promise<DnsServer> {
  const socket = createSocket("udp4");
  const zone = new Map<string, DnsAnswer>();
  const asked: string[] = [];
  socket.on("message", (query: Buffer, from: RemoteInfo) => {
    const { name, end } = questionOf(query);
    asked.push(name);
    const answer = zone.get(name) ?? "NXDOMAIN";
    if (answer !== "silence") socket.send(response(query, end, answer), from.port, from.address);
  });
  await new Promise<void>((resolve) => {
    socket.bind(0, "127.0.0.1", resolve);
  });
  return {
    address: `127.0.0.1:${socket.address().port}`,
    zone,
    asked,
    close() {
      socket.close();
    },
  };
}
