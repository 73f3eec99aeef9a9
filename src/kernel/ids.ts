import { customAlphabet } from "nanoid";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const REQUEST_ID_CHARACTERS = 20;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

export function uuidOfHex(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** A fresh id for an event, a workspace or an endpoint (UUIDv7, RFC 9562: later ids sort later). */
export function newId(): string {
  return Bun.randomUUIDv7();
}

/** The same id every time for a name in a namespace, which is a uuid (UUIDv5, RFC 9562). */
export function derivedId(namespace: string, name: string): string {
  return Bun.randomUUIDv5(name, namespace);
}

/** The id of the delivery of an event to an endpoint (UUIDv5, RFC 9562). */
export function webhookDeliveryId(eventId: string, endpointId: string): string {
  return Bun.randomUUIDv5(endpointId, eventId);
}

/** The id of the placeholder for an event that is missing in a log: the same in every attempt to import that log. */
export function eventErasedId(logId: string, stream: string, revision: number): string {
  return Bun.randomUUIDv5(`${revision}@${stream}`, logId);
}

/** A new id for a request, which appears in its response, log lines and events. */
export const newRequestId = customAlphabet("0123456789abcdefghjkmnpqrstvwxyz", REQUEST_ID_CHARACTERS);
