import { BODY_BYTES_MAX } from "../http/body/bodyLimits.ts";

/** The longest mail that is taken over SMTP, in bytes: no longer than what is taken over HTTP. */
export const MAIL_BYTES_MAX = BODY_BYTES_MAX;

/** Recipients of one mail. The client is to send the others with another mail (RFC 5321 §4.5.3.1.10). */
export const RECIPIENTS_MAX = 100;
