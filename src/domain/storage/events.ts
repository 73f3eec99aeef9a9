import { Type } from "@sinclair/typebox";
import { type EventOf, makeCodec } from "../../kernel/event/codec.ts";

/** What one holder has: an upload, or the direct files of one request. */
const Reservation = {
  /** `attachment-<id>` or `email-<id>/<content event id>`. */
  holder: Type.String(),
  bytes: Type.Integer({ minimum: 0 }),
};

const schemas = {
  /** A holder that does not exist by `until` (RFC 3339) never will. */
  StorageReserved: Type.Object({ ...Reservation, until: Type.String() }),
  StorageReleased: Type.Object({ holder: Type.String() }),
  /** These holders were seen to exist: they keep what they have until it is released. */
  StorageConfirmed: Type.Object({ holders: Type.Array(Type.String()) }),
  /**
   * Some of what is held, said once more; `until` is null for what was confirmed. After all that was held at one
   * time was said again, the events before are not needed.
   */
  StorageCounted: Type.Object({
    open: Type.Array(Type.Object({ ...Reservation, until: Type.Union([Type.String(), Type.Null()]) })),
    /** On the last event of a count: whoever was last spoken of below this revision holds nothing. */
    before: Type.Optional(Type.Integer({ minimum: 0 })),
  }),
};

/** The case names are the storage format. */
export type StorageEvent = EventOf<typeof schemas>;
export const storageCodec = makeCodec(schemas);

const PREFIX = "storage-";

export function storageStream(workspaceId: string): string {
  return PREFIX + workspaceId;
}

/** The inverse of {@link storageStream}. */
export function workspaceOfStorage(stream: string): string {
  return stream.slice(PREFIX.length);
}
