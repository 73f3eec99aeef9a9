import { Type } from "@sinclair/typebox";
import { createCodec, type EventOf, orNull } from "../../kernel/event/eventCodec.ts";

/** The reservation of one owner: an upload, or the direct files of one request. */
const Reservation = {
  /** The owner: `attachment-<id>` or `email-<id>/<content event id>`. */
  holder: Type.String(),
  bytes: Type.Integer({ minimum: 0 }),
};

const schemas = {
  /** An owner that does not exist by `until` (RFC 3339) never will. */
  StorageReserved: Type.Object({ ...Reservation, until: Type.String() }),
  StorageReleased: Type.Object({ holder: Type.String() }),
  /** These owners were seen to exist: their reservations last until they are released. */
  StorageConfirmed: Type.Object({ holders: Type.Array(Type.String()) }),
  /**
   * Some of the open reservations, recorded again; `until` is null for confirmed ones. Once all reservations of one time
   * are recorded again, earlier events are not needed.
   */
  StorageCounted: Type.Object({
    open: Type.Array(Type.Object({ ...Reservation, until: orNull(Type.String()) })),
    /** On the last event of a count: an owner whose last event is below this revision has no reservation. */
    before: Type.Optional(Type.Integer({ minimum: 0 })),
  }),
};

/** The names of the types are the storage format. */
export type StorageEvent = EventOf<typeof schemas>;
export const storageCodec = createCodec(schemas);

/** The ledger of a workspace's uploads and live mail; that of its test mail under the id of that mail's owner. */
export function storageStream(accountId: string): string {
  return `storage-${accountId}`;
}
