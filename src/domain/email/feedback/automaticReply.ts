import { headerOf, type ReturnedMailParts } from "../../../kernel/mail/returnedMailParts.ts";

const MAILER_NAMES =
  /\b(?:mailer[-_ ]?daemon|mail delivery (?:sub)?system|mail delivery service|mail administrator|mail router|mailsystem)\b/i;
const POSTMASTER = /\bpostmaster\b/i;
/** Subjects of servers' reports. */
const REPORT_SUBJECT =
  /undeliver|undelivrable|not delivered|non.?deliver|non remis|n'a pas pu|unzustellbar|nicht zugestellt|delivery (?:status|failure|failed|problem|report|has failed|notification|error|delayed|incomplete)|delivery of your|fail(?:ed|ure) (?:notice|delivery|to deliver)|mail (?:failure|error|could not|delivery|not delivered)|returned (?:mail|e-?mail|to sender)|message (?:could not|undeliver|delivery|was not|you sent)|DELIVERY FAILURE|warning: (?:message|could not)|error (?:sending|delivering)|bounce|rejected|can ?not (?:be )?(?:send|deliver)|there was an error|user unknown|problem delivering/i;
/** How a subject quotes another in a reply or a forwarded mail, in the languages of common mail programs. */
const QUOTED_SUBJECT = /(?:^|[\s\]])(?:re|aw|antw|sv|vs|res|rif|odp|ynt|fwd?|wg)\s*(?:\[\d+\]\s*)?[:：]/i;
/** How mail programs begin the subject of an automatic reply, in the languages that they speak. */
const AWAY_SUBJECT = new RegExp(
  `^(?:(?:re|aw):\\s*)?(?:${[
    "auto(?:matic|mated)?[ -]?(?:reply|response|answer|antwort)?\\s*:|auto(?:matic|mated)?[ -]?(?:reply|response)",
    "out of (?:the )?office|ooo\\b|vacation|away from|(?:i am |i'm )?on (?:vacation|holiday|leave)",
    "automatische antwort|abwesen|au(?:ß|ss)er haus|nicht im (?:büro|haus)|urlaub",
    "automatisch antwoord|afwezig|niet aanwezig",
    "automati(?:sk|skt) svar|autosvar|frånvaro|fravær|automaattinen vastaus|poissa",
    "(?:réponse|reponse) automatique|absen(?:ce|te?\\b)",
    "respuesta autom[aá]tica|fuera de (?:la )?oficina|ausen(?:te|cia)",
    "resposta autom[aá]tica|fora do escrit[oó]rio|ausência",
    "risposta automatica|fuori (?:sede|ufficio)|assen(?:te|za)",
    "odpowied[zź] automatyczna|autoodpowied[zź]|poza biurem|automatická odpov[eě][dď]|automatick[áý] odpove[dď]",
    "automatikus válasz|răspuns automat|automatski odgovor|samodejni odgovor|otomatik yanıt|αυτόματη απάντηση",
    "автоматический ответ|автоответ|автоматична відповідь|автоматичен отговор",
    "自動返信|自動応答|自動回覆|自动回复|自动答复|자동 ?(?:회신|응답)|trả lời tự động|balasan otomatis",
    "תשובה אוטומטית|رد تلقائي",
  ].join("|")})`,
  "i",
);
const REPLY_FIELDS = [
  "x-auto-response-suppress",
  "x-apple-action",
  "x-autoreply",
  "x-autorespond",
  "x-autoresponder",
  "x-vacation",
] as const;

/** Whether its sender marked a mail as a reply, as no server marks a report in words. */
function isMarkedAsReply(mail: ReturnedMailParts): boolean {
  if (REPLY_FIELDS.some((name) => headerOf(mail, name) !== "")) return true;
  if (/\bauto_?reply\b/i.test(headerOf(mail, "precedence"))) return true;
  return AWAY_SUBJECT.test(headerOf(mail, "subject"));
}

/** RFC 3834 §5. It alone decides nothing: many servers' reports have it, such as Postfix's. */
function isAutoSubmitted(mail: ReturnedMailParts): boolean {
  const submitted = headerOf(mail, "auto-submitted").trim().toLowerCase();
  return submitted !== "" && submitted !== "no";
}

/** Whether a mail is a read receipt (RFC 8098). It is built like a delivery report, but says nothing of delivery. */
export function isReadReceipt(mail: ReturnedMailParts): boolean {
  if (mail.parts.some(({ contentType }) => contentType === "message/disposition-notification")) return true;
  return /disposition-notification/i.test(headerOf(mail, "content-type"));
}

/** Whether a mail without a status part is an automatic reply (RFC 3834). Check {@link isReportInWords} first. */
export function isAutomaticReply(mail: ReturnedMailParts): boolean {
  return isMarkedAsReply(mail) || isAutoSubmitted(mail);
}

/**
 * Whether a mail without a status part is a server's delivery report in words. Automatic replies may come from a
 * postmaster or without a sender too, and may repeat our own subject, such as `Delivery status of your order`. So a
 * sender and a subject are not enough where the mail may be one: it must also quote a server.
 */
export function isReportInWords(mail: ReturnedMailParts, quotesServer: boolean): boolean {
  if (headerOf(mail, "x-failed-recipients") !== "") return true;
  if (isMarkedAsReply(mail)) return false;
  const from = headerOf(mail, "from");
  const [subject = ""] = headerOf(mail, "subject").split(QUOTED_SUBJECT, 1);
  const isReportSubject = REPORT_SUBJECT.test(subject);
  const isServerName = MAILER_NAMES.test(from);
  const isFromServer = isServerName || (isReportSubject && (POSTMASTER.test(from) || from === ""));
  if (isAutoSubmitted(mail)) return isFromServer && quotesServer;
  if (isFromServer) return true;
  const hasNullSender = /<>/.test(headerOf(mail, "return-path"));
  return (
    quotesServer && (hasNullSender ? isReportSubject : /^(?:DELIVERY FAILURE|Undelivera?ble)/i.test(subject))
  );
}
