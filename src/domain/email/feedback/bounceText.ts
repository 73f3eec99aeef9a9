import { reasonOfReply } from "../delivery/smtpReplyRules.ts";
import type { RecipientStatus } from "./parseDeliveryStatus.ts";

/** Where the report ends and the returned message begins. */
const ORIGINAL_BELOW =
  /^[ \t>]*(?:[-_=*]{2,} ?(?:Below this line|This is a copy|(?:The )?(?:header|body|beginning|start) of|(?:Original|Undelivered|Unsent|Returned) message|Message (?:header|text|follows)|Full message|Enclosed is|Original e-?mail|Transcript of (?:original|message))|(?:Message|Original|Returned) (?:message )?headers(?: follow)?|(?:A |Below is a )copy of (?:your|the original)|Original message(?: headers)?\s*:?\s*$|(?:The|Your) (?:original|undelivered) message (?:follows|is attached))/im;
/** How much of a report is searched for its reason: more text is not worth reading. */
const TEXT_CHARACTERS_MAX = 20_000;
const PARAGRAPHS_MAX = 100;
const PARAGRAPH_CHARACTERS_MAX = 1_000;

const REPLY =
  /(?<![\d.:])(?:4[2357]\d|5[0-7]\d)[ -]+[^\s\d]|\(?#[45]\.\d{1,3}\.\d{1,3}|(?<![\d.])[45]\.\d{1,3}\.\d{1,3}(?!\.?\d)/;
/** What a server says that is still trying. */
const STILL_TRYING =
  /warning: (?:message|could not send)|has not (?:yet )?been delivered|will (?:continue|keep|be retried|retry|try again|attempt)|delivery (?:is |was |has been |will be |temporarily )?(?:delayed|suspended)|still be(?:ing)? (?:re)?tried|no action is required|this is a warning message only|\(delay\)/i;
const GIVEN_UP =
  /giv(?:en|ing) up|permanent|not going to try again|could not be delivered for|failed after|will not/i;
const OUT_OF_TIME =
  /(?:in|on) (?:the )?queue (?:for )?too long|retry time(?:out)? exceeded|(?:message|delivery|queue)(?: \w+)? (?:time )?(?:expired|timed out)|could not be delivered (?:for|after|within) |(?:too|very) long (?:time )?(?:on|in) (?:the|our) queue|unable to deliver .{0,60}for \d+ (?:hours|days)|(?:connection|operation) timed out|unable to connect|undeliverable for|delivery time.?out/i;

/** The report without the message that it returns. */
function reportText(text: string): string {
  const bounded = text.slice(0, TEXT_CHARACTERS_MAX);
  const end = ORIGINAL_BELOW.exec(bounded)?.index ?? bounded.length;
  return bounded.slice(0, end);
}

function isStillTrying(subject: string, report: string): boolean {
  const whole = `${subject}\n${report}`;
  return STILL_TRYING.test(whole) && !GIVEN_UP.test(whole);
}

/** Whether a report in plain words quotes a server: its reply, or that it is still trying. */
export function quotesServer(subject: string, text: string): boolean {
  const report = reportText(text);
  return REPLY.test(report) || isStillTrying(subject, report);
}

/**
 * Reads a report in plain words. The first paragraph with a server's reply counts, else the first with the words of a
 * refusal, else all of it. Null if it has no words: then not even the failure is certain.
 */
export function bounceText(subject: string, text: string): RecipientStatus | null {
  const report = reportText(text);
  if (isStillTrying(subject, report)) return { action: "delayed", status: "", diagnostic: "" };
  const paragraphs = report
    .split(/\r?\n[ \t]*\r?\n/, PARAGRAPHS_MAX)
    .map((paragraph) => paragraph.replace(/\s+/g, " ").trim().slice(0, PARAGRAPH_CHARACTERS_MAX));
  const found =
    paragraphs.find((paragraph) => REPLY.test(paragraph)) ??
    paragraphs.find((paragraph) => reasonOfReply(550, `550 ${paragraph}`) !== null);
  if (found !== undefined) return { action: "failed", status: "", diagnostic: found };
  if (OUT_OF_TIME.test(report)) return { action: "failed", status: "4.4.7", diagnostic: "" };
  const words = paragraphs.join(" ").trim();
  return words === "" ? null : { action: "failed", status: "", diagnostic: words };
}
