import { createSocket, type RemoteInfo } from "node:dgram";

export type DnsType = "A" | "AAAA" | "TXT";
/** The value of a record: an address, or a text, which may consist of several strings. */
export type DnsRecord = string | readonly string[];
/** The records, or why there are none: no such name, a server failure, a refusal, or no answer at all. */
export type DnsAnswer = readonly DnsRecord[] | "nxdomain" | "servfail" | "refused" | "silent";

/** A name server for tests (RFC 1035 §4), over UDP on loopback. */
export interface NameServer {
  /** `127.0.0.1:<port>`, as DNS_SERVERS takes it. */
  readonly address: string;
  /** All questions received, in order: `A example.com`. */
  readonly questions: readonly string[];
  stop(): void;
}

const TYPES: Readonly<Record<number, DnsType>> = { 1: "A", 16: "TXT", 28: "AAAA" };
const TYPE_NUMBERS: Readonly<Record<DnsType, number>> = { A: 1, TXT: 16, AAAA: 28 };
const HEADER_BYTES = 12;
const RESPONSE_CODES = { nxdomain: 3, servfail: 2, refused: 5 } as const;

interface Question {
  readonly name: string;
  readonly type: DnsType | undefined;
  readonly end: number;
}

function questionOf(query: Buffer): Question {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: TYPES[query.readUInt16BE(at + 1)], end: at + 5 };
}

function ipv6Bytes(text: string): Buffer {
  const [head = "", tail] = text.split("::");
  const groups = (part: string) => part.split(":").filter((group) => group !== "");
  const middle = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array<string>(middle).fill("0"), ...groups(tail ?? "")];
  return Buffer.concat(all.map((group) => Buffer.from(group.padStart(4, "0"), "hex")));
}

/** The strings of one TXT record, each of at most 255 bytes (RFC 1035 §3.3.14). */
function txtBytes(value: DnsRecord): Buffer {
  const strings = [value].flat().map((text) => Buffer.from(text));
  return Buffer.concat(strings.flatMap((text) => [Buffer.from([text.length]), text]));
}

function recordBytes(type: DnsType, value: DnsRecord): Buffer {
  if (type === "TXT") return txtBytes(value);
  const address = String(value);
  return type === "A" ? Buffer.from(address.split(".").map(Number)) : ipv6Bytes(address);
}

function answerBytes(query: Buffer, { type, end }: Question, answer: Exclude<DnsAnswer, "silent">): Buffer {
  const records = typeof answer === "string" || type === undefined ? [] : answer;
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | (typeof answer === "string" ? RESPONSE_CODES[answer] : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  const body = records.map((value) => {
    const data = recordBytes(type as DnsType, value);
    const fixed = Buffer.alloc(12);
    fixed.writeUInt16BE(0xc00c, 0);
    fixed.writeUInt16BE(TYPE_NUMBERS[type as DnsType], 2);
    fixed.writeUInt16BE(1, 4);
    fixed.writeUInt16BE(data.length, 10);
    return Buffer.concat([fixed, data]);
  });
  return Buffer.concat([header, query.subarray(HEADER_BYTES, end), ...body]);
}

/** What Linux reports on the next call after an answer to a process that was killed (ICMP port unreachable). */
function isClientGone(error: NodeJS.ErrnoException | null): boolean {
  return error?.code === "ECONNREFUSED";
}

/** Starts a name server that answers each question with the result of `answer`. */
export async function startNameServer(
  answer: (name: string, type: DnsType) => DnsAnswer,
): Promise<NameServer> {
  const socket = createSocket("udp4");
  const questions: string[] = [];
  const send = (bytes: Buffer, { port, address }: RemoteInfo) =>
    socket.send(bytes, port, address, (error) => {
      // The report was about an earlier client, and kept this answer back.
      if (isClientGone(error)) socket.send(bytes, port, address, () => {});
      else if (error !== null) throw error;
    });
  socket.on("error", (error) => {
    if (!isClientGone(error)) throw error;
  });
  socket.on("message", (query: Buffer, from: RemoteInfo) => {
    const question = questionOf(query);
    questions.push(`${question.type ?? "other"} ${question.name}`);
    const reply = question.type === undefined ? [] : answer(question.name, question.type);
    if (reply !== "silent") send(answerBytes(query, question, reply), from);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  socket.unref();
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    stop: () => socket.close(),
  };
}

let shared: Promise<NameServer> | undefined;

/** The default name server of services under test: it knows no names, and forwards no queries. */
export function emptyNameServer(): Promise<NameServer> {
  shared ??= startNameServer(() => "nxdomain");
  return shared;
}
