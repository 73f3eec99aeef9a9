/** The longest encoded request, in bytes on the wire; the limit itself is accepted. */
export const BODY_BYTES_MAX = 16_000_000;

/** A body up to this size, in bytes, is small: most operations accept no larger one, and room is reserved for them. */
export const SMALL_BODY_BYTES_MAX = 65_536;

/** Room for the largest version of a template, or the variables of a preview, with every character escaped. */
export const TEMPLATE_BODY_BYTES_MAX = 2_000_000;

/**
 * A provider's report, in bytes: an Amazon SNS message has at most 262,144, JSON-encoded once more, and SendGrid makes
 * its call when the events for it have 768 kB.
 */
export const REPORT_BODY_BYTES_MAX = 1_000_000;

/** A report that its provider signs, in bytes: room for its event, which names one message. */
export const SIGNED_REPORT_BODY_BYTES_MAX = 262_144;

/** What a client may send to an operation without a body, in bytes: white space, or an empty object. */
export const NO_BODY_BYTES_MAX = 4_096;

/** Room for boundaries and headers around the largest file in a multipart body, in bytes. */
export const MULTIPART_FRAME_BYTES_MAX = 65_536;

/** The lowest limit on all bodies in flight that leaves room for a body of 16,000,000 bytes besides small ones. */
export const BODY_BYTES_IN_FLIGHT_MIN = 20_000_000;
