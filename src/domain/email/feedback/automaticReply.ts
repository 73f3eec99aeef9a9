import { headerOf, type ReturnedMailParts } from "../../../kernel/mail/returnedMailParts.ts";

const MAILER_NAMES =
  /\b(?:mailer[-_ ]?daemon|mail delivery (?:sub)?system|mail delivery service|mail administrator|mail router|mailsystem)\b/i;
const POSTMASTER = /\bpostmaster\b/i;
/** Subjects of servers' reports. Out-of-office replies have none of these. */
const REPORT_SUBJECT =
  /undeliver|undelivrable|not delivered|non.?deliver|non remis|n'a pas pu|unzustellbar|nicht zugestellt|delivery (?:status|failure|failed|problem|report|has failed|notification|error|delayed|incomplete)|delivery of your|fail(?:ed|ure) (?:notice|delivery|to deliver)|mail (?:failure|error|could not|delivery|not delivered)|returned (?:mail|e-?mail|to sender)|message (?:could not|undeliver|delivery|was not|you sent)|DELIVERY FAILURE|warning: (?:message|could not)|error (?:sending|delivering)|bounce|rejected|can ?not (?:be )?(?:send|deliver)|there was an error|user unknown|problem delivering/i;
const AWAY_SUBJECT =
  /^(?:re:\s*)?(?:auto(?:matic|mated)?[ -]?(?:reply|response|antwort)?\s*:|automatic reply|auto(?:matic|mated)?[ -]?(?:reply|response)|out of (?:the )?office|vacation|away from|abwesen|absence|réponse automatique|respuesta automática|risposta automatica|自動返信|自动回复)/i;
const REPLY_FIELDS = [
  "x-auto-response-suppress",
  "x-apple-action",
  "x-autoreply",
  "x-autorespond",
  "x-autoresponder",
  "x-vacation",
] as const;

/**
 * Whether a mail is a server's delivery report in words. Check this before {@link isAutomaticReply}: many reports, such
 * as Postfix's, also say `Auto-Submitted: auto-replied`.
 */
export function isReportOfDelivery(mail: ReturnedMailParts): boolean {
  if (headerOf(mail, "x-failed-recipients") !== "") return true;
  const from = headerOf(mail, "from");
  const subject = headerOf(mail, "subject");
  if (MAILER_NAMES.test(from)) return true;
  if (AWAY_SUBJECT.test(subject)) return false;
  const isFromServer = POSTMASTER.test(from) || from === "" || /<>/.test(headerOf(mail, "return-path"));
  return isFromServer ? REPORT_SUBJECT.test(subject) : /^(?:DELIVERY FAILURE|Undelivera?ble)/i.test(subject);
}

/** Whether a mail is an automatic reply (RFC 3834) or a read receipt (RFC 8098). */
export function isAutomaticReply(mail: ReturnedMailParts): boolean {
  const submitted = headerOf(mail, "auto-submitted").trim().toLowerCase();
  if (submitted !== "" && submitted !== "no") return true;
  if (mail.parts.some(({ contentType }) => contentType === "message/disposition-notification")) return true;
  if (/disposition-notification/i.test(headerOf(mail, "content-type"))) return true;
  if (REPLY_FIELDS.some((name) => headerOf(mail, name) !== "")) return true;
  if (/\bauto_?reply\b/i.test(headerOf(mail, "precedence"))) return true;
  return AWAY_SUBJECT.test(headerOf(mail, "subject"));
}
