import { headerFaults } from "../../domain/email/callerHeaders.ts";
import {
  METADATA_BYTES_MAX,
  METADATA_KEY_CHARACTERS_MAX,
  NAME_CHARACTERS_MAX,
  VARIABLES_CHARACTERS_MAX,
} from "../../domain/email/contentLimits.ts";
import { isObject } from "../../kernel/text/json.ts";
import { grouped } from "../../kernel/text/readableNumbers.ts";
import { codePoints } from "../../kernel/text/textLength.ts";
import { parseDateTime } from "../../kernel/time.ts";
import {
  displayNameFaults,
  fault,
  headerTextFaults,
  mailboxFaults,
  NO_FAULTS,
  type UncheckedMembers,
} from "../body/commonFaults.ts";
import { dateTimeFault } from "../body/dateTimeText.ts";
import { pointerTo } from "../body/jsonLimits.ts";
import type { ProblemDetail } from "../server/problem.ts";

function nameFaults(body: UncheckedMembers): readonly ProblemDetail[] {
  const faults = ["from_name", "to_name", "reply_to_name"].flatMap((member) =>
    displayNameFaults(`/${member}`, body[member], NAME_CHARACTERS_MAX),
  );
  if (body.reply_to_name === undefined || body.reply_to !== undefined) return faults;
  return [...faults, ...fault("/reply_to_name", "requires reply_to")];
}

function metadataFaults(metadata: unknown): readonly ProblemDetail[] {
  if (typeof metadata !== "object" || metadata === null) return NO_FAULTS;
  if (Object.keys(metadata).some((key) => codePoints(key) > METADATA_KEY_CHARACTERS_MAX)) {
    return fault("/metadata", `has a key of more than ${METADATA_KEY_CHARACTERS_MAX} characters`);
  }
  const isWithin = Buffer.byteLength(JSON.stringify(metadata)) <= METADATA_BYTES_MAX;
  return isWithin
    ? NO_FAULTS
    : fault("/metadata", `is over ${grouped(METADATA_BYTES_MAX)} bytes when encoded`);
}

/** The size limit of `variables`, in a send and in a preview. */
export function variablesFaults(variables: unknown): readonly ProblemDetail[] {
  if (variables === undefined) return NO_FAULTS;
  if (codePoints(JSON.stringify(variables)) <= VARIABLES_CHARACTERS_MAX) return NO_FAULTS;
  return fault("/variables", `is over ${grouped(VARIABLES_CHARACTERS_MAX)} characters when encoded`);
}

/** Checks the string values among the headers; the schema refuses other types. */
function callerHeaderFaults(headers: unknown): readonly ProblemDetail[] {
  if (!isObject(headers)) return NO_FAULTS;
  const texts = Object.entries(headers).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return headerFaults(Object.fromEntries(texts)).map(({ name, message }) => ({
    pointer: name === "" ? "/headers" : pointerTo("/headers", name),
    message,
  }));
}

/** What no mail over SMTP has. */
export const UNLESS_TEMPLATE = " without template_id or template_alias";
const WITHOUT_TEMPLATE = `is required${UNLESS_TEMPLATE}`;

/** Whether a send names a template. */
export function hasTemplate({ template_id: id, template_alias: alias }: UncheckedMembers): boolean {
  return id !== undefined || alias !== undefined;
}

function subjectFaults(body: UncheckedMembers): readonly ProblemDetail[] {
  const isMissing = body.subject === undefined && !hasTemplate(body);
  return isMissing ? fault("/subject", WITHOUT_TEMPLATE) : headerTextFaults("/subject", body.subject);
}

/** Without a template the content is required; with one it is only checked by the schema, and not used. */
function contentFaults(body: UncheckedMembers): readonly ProblemDetail[] {
  const isOwn = !hasTemplate(body);
  const faults: ProblemDetail[] = [...subjectFaults(body)];
  if (body.template_id !== undefined && body.template_alias !== undefined) {
    faults.push({ pointer: "/template_alias", message: "cannot be given together with template_id" });
  }
  if (isOwn && body.template_version_id !== undefined) {
    faults.push({ pointer: "/template_version_id", message: "requires template_id or template_alias" });
  }
  if (isOwn && !body.html && !body.text) {
    faults.push({ pointer: "/html", message: `${WITHOUT_TEMPLATE}, unless text is given` });
  }
  return faults;
}

/** The html could not tell two files with the same id apart. */
function attachmentFaults(attachments: unknown): readonly ProblemDetail[] {
  if (!Array.isArray(attachments)) return NO_FAULTS;
  const used = new Set<unknown>();
  const index = attachments.findIndex((one: UncheckedMembers | string | null) => {
    const id = typeof one === "object" ? one?.content_id : undefined;
    const isRepeated = id !== undefined && used.has(id);
    used.add(id);
    return isRepeated;
  });
  return index < 0 ? NO_FAULTS : fault(`/attachments/${index}/content_id`, "is already used by another file");
}

/** What a caller who names several recipients should do. */
export const ONE_RECIPIENT =
  "a message has one recipient. Send each person a message of their own: up to 100 fit into a batch";

/** Whether a separator stands between two @: a text of any length is only scanned. */
function listsAddresses(text: string): boolean {
  return /[,;]/.test(text.slice(text.indexOf("@") + 1, Math.max(0, text.lastIndexOf("@"))));
}

/** Faults of the recipient, with a hint if the text lists several addresses. */
function recipientFaults(to: unknown): readonly ProblemDetail[] {
  return typeof to === "string" && listsAddresses(to)
    ? fault("/to", `must be one bare address such as ana@example.com: ${ONE_RECIPIENT}`)
    : mailboxFaults("/to", to, "to_name");
}

/** The checks of a send that the schema cannot express: addresses, rules that span members, and sizes. */
export function sendFaults(body: UncheckedMembers): readonly ProblemDetail[] {
  return [
    ...mailboxFaults("/from", body.from, "from_name"),
    ...recipientFaults(body.to),
    ...mailboxFaults("/reply_to", body.reply_to, "reply_to_name"),
    ...memberFaults(body),
  ];
}

function tagFaults(tags: unknown): readonly ProblemDetail[] {
  if (!Array.isArray(tags)) return NO_FAULTS;
  const seen = new Set<unknown>();
  return tags.flatMap((tag, index) => {
    const isRepeated = seen.has(tag);
    seen.add(tag);
    if (typeof tag === "string" && (/\p{Cc}/u.test(tag) || tag.trim() === ""))
      return fault(`/tags/${index}`, "must have visible characters, and no control characters");
    return isRepeated ? fault(`/tags/${index}`, "is there twice") : NO_FAULTS;
  });
}

/** Whether the text is a time; how far ahead it may be depends on the clock. */
function timeFaults(pointer: string, text: unknown): readonly ProblemDetail[] {
  if (typeof text !== "string" || parseDateTime(text) !== null) return NO_FAULTS;
  return fault(pointer, dateTimeFault(text));
}

/** All checks except those of addresses, which a valid request has already parsed. */
export function memberFaults(body: UncheckedMembers): readonly ProblemDetail[] {
  return [
    ...nameFaults(body),
    ...contentFaults(body),
    ...variablesFaults(body.variables),
    ...metadataFaults(body.metadata),
    ...attachmentFaults(body.attachments),
    ...callerHeaderFaults(body.headers),
    ...timeFaults("/scheduled_at", body.scheduled_at),
    ...timeFaults("/deliver_before", body.deliver_before),
    ...tagFaults(body.tags),
  ];
}
