/** The wire format of Protocol Buffers, as much as appends and reads need (protobuf.dev, "Encoding"). */

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED_32 = 5;
const TYPE_BITS = 3;
const TYPE_MASK = 0b111;
/** How many bytes of a varint, seven bits each, stay exact in a double. */
const EXACT_BYTES_MAX = 7;
const VARINT_BYTES_MAX = 10;

/** An encoded part of a message. */
export type Encoded = Uint8Array;

/** Joins `parts` into one buffer and leaves `reserve` bytes at the front for the caller to fill. */
export function concat(parts: readonly Encoded[], reserve = 0): Buffer {
  let length = reserve;
  for (const part of parts) length += part.length;
  const whole = Buffer.allocUnsafe(length);
  let at = reserve;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function messageField(field: number, parts: readonly Encoded[]): Encoded {
  let length = 0;
  for (const part of parts) length += part.length;
  const whole = concat(parts, headerLength(field, length));
  writeHeader(whole, field, length);
  return whole;
}

export function bytesField(field: number, bytes: Uint8Array): Encoded {
  return messageField(field, [bytes]);
}

/** A field that holds a text, as UTF-8. */
export function textField(field: number, text: string): Encoded {
  const length = Buffer.byteLength(text);
  const start = headerLength(field, length);
  const whole = Buffer.allocUnsafe(start + length);
  writeHeader(whole, field, length);
  whole.write(text, start);
  return whole;
}

/** A field that holds a whole number from 0 to `Number.MAX_SAFE_INTEGER`. */
export function numberField(field: number, value: number): Encoded {
  const tag = (field << TYPE_BITS) | VARINT;
  const whole = Buffer.allocUnsafe(varintLength(tag) + varintLength(value));
  writeVarint(whole, value, writeVarint(whole, tag, 0));
  return whole;
}

/** The value of a field in a message: a number, or bytes. */
export type FieldValue = bigint | Uint8Array;

/** The fields of a message by number, each with its last value. Throws RangeError when the message is cut off. */
export function fieldsOf(message: Uint8Array): ReadonlyMap<number, FieldValue> {
  const fields = new Map<number, FieldValue>();
  eachField(message, (field, value) => fields.set(field, value));
  return fields;
}

/**
 * Visits every number and byte field of a message in order; a field may occur several times. Throws RangeError when the
 * message is cut off.
 */
export function eachField(message: Uint8Array, visit: (field: number, value: FieldValue) => void): void {
  const reader = { message, at: 0 };
  while (reader.at < message.length) {
    const tag = Number(readVarint(reader));
    const field = tag >>> TYPE_BITS;
    switch (tag & TYPE_MASK) {
      case VARINT:
        visit(field, readVarint(reader));
        break;
      case LENGTH_DELIMITED:
        visit(field, take(reader, Number(readVarint(reader))));
        break;
      case FIXED_64:
        take(reader, 8);
        break;
      case FIXED_32:
        take(reader, 4);
        break;
      default:
        throw new RangeError(`a message holds a field of the unknown kind ${tag & TYPE_MASK}`);
    }
  }
}

/** No bytes: what a field without content holds. */
export const EMPTY = new Uint8Array(0);

/** The bytes of a field; none if it is absent, because empty fields are not sent. */
export function bytesOf(value: FieldValue | undefined): Uint8Array {
  return value instanceof Uint8Array ? value : EMPTY;
}

/** The text of a field that holds UTF-8. */
export function textOf(value: FieldValue | undefined): string {
  const bytes = bytesOf(value);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}

/** The number of a field; 0 if it is absent, because zeros are not sent. */
export function numberOf(value: FieldValue | undefined): number {
  return typeof value === "bigint" ? Number(value) : 0;
}

interface Reader {
  readonly message: Uint8Array;
  at: number;
}

function take(reader: Reader, length: number): Uint8Array {
  const end = reader.at + length;
  if (end > reader.message.length) throw new RangeError("a message is cut off");
  const bytes = reader.message.subarray(reader.at, end);
  reader.at = end;
  return bytes;
}

function readVarint(reader: Reader): bigint {
  let low = 0;
  let high = 0n;
  for (let index = 0; index < VARINT_BYTES_MAX; index += 1) {
    const byte = reader.message[reader.at];
    if (byte === undefined) throw new RangeError("a message is cut off");
    reader.at += 1;
    if (index < EXACT_BYTES_MAX) low += (byte & 0x7f) * 2 ** (7 * index);
    else high |= BigInt(byte & 0x7f) << BigInt(7 * index);
    if (byte < 0x80) return BigInt.asUintN(64, high | BigInt(low));
  }
  throw new RangeError("a message holds a number of more than ten bytes");
}

function headerLength(field: number, length: number): number {
  return varintLength((field << TYPE_BITS) | LENGTH_DELIMITED) + varintLength(length);
}

function writeHeader(into: Uint8Array, field: number, length: number): void {
  writeVarint(into, length, writeVarint(into, (field << TYPE_BITS) | LENGTH_DELIMITED, 0));
}

function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length += 1;
  return length;
}

/** Writes `value` at `at`; returns the offset after it. */
function writeVarint(into: Uint8Array, value: number, at: number): number {
  let rest = value;
  let end = at;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) {
    into[end] = (rest % 0x80) | 0x80;
    end += 1;
  }
  into[end] = rest;
  return end + 1;
}
