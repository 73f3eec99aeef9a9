/** The longest encoded request, in bytes on the wire; the limit itself is accepted. */
export const BODY_BYTES_MAX = 16_000_000;

/** A body up to this size, in bytes, is small: most operations take no other, and room is kept for such ones. */
export const SMALL_BODY_BYTES_MAX = 65_536;

/** Room for the largest version of a template, and for the variables of a preview, with every character escaped. */
export const TEMPLATE_BODY_BYTES_MAX = 2_000_000;

/** A message of Amazon SNS has 262,144 bytes at most, in JSON once more. */
export const SNS_BODY_BYTES_MAX = 1_000_000;

/** What a client may send to an operation that has no body, in bytes: white space, or an object without members. */
export const NO_BODY_BYTES_MAX = 4_096;

/** Room for boundaries and headers around a file of the longest length in a multipart body, in bytes. */
export const MULTIPART_FRAME_BYTES_MAX = 65_536;

/** The least bound of all bodies in flight under which one of 16,000,000 bytes has room beside the small ones. */
export const BODY_BYTES_IN_FLIGHT_MIN = 20_000_000;
