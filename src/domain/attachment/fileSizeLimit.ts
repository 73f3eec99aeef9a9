/** The largest file, uploaded or direct, in decoded bytes; the limit itself is accepted. */
export const FILE_BYTES_MAX = 5_000_000;
/** Attachments of one message. */
export const ATTACHMENTS_MAX = 10;
/** Of all attachments of a message together, decoded. */
export const ATTACHMENTS_BYTES_MAX = 10_000_000;
