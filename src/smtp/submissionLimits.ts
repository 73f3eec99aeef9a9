import { BODY_BYTES_MAX } from "../http/body/bodyLimits.ts";

/** The longest mail that is taken over SMTP, in bytes: no longer than what is taken over HTTP. */
export const MAIL_BYTES_MAX = BODY_BYTES_MAX;

/** Further recipients of a mail are refused for now, to come with another one, as RFC 5321 §4.5.3.1.10 has it. */
export const RECIPIENTS_MAX = 100;
