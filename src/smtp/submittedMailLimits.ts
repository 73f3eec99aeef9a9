import { BODY_BYTES_MAX } from "../http/body/bodyLimits.ts";

/** The largest mail accepted over SMTP, in bytes: the same limit as for a request over HTTP. */
export const MAIL_BYTES_MAX = BODY_BYTES_MAX;

/** Recipients of one mail. A client sends another mail to the others (RFC 5321 §4.5.3.1.10). */
export const RECIPIENTS_MAX = 100;
