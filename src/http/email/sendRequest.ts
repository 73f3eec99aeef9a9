import type { RequestedAttachment } from "../../commands/email/resolveAttachments.ts";
import type { SendEmail } from "../../commands/email/sendEmail.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import type { JsonObject } from "../../kernel/text/json.ts";
import { codePoints, grouped, isHeaderSafe } from "../../kernel/text/text.ts";
import { type ProblemDetail, refusedFor } from "../server/problem.ts";
import type { SendEmailBody } from "./emailSchemas.ts";

const VARIABLES_CHARACTERS_MAX = 100_000;
const METADATA_KEY_CHARACTERS_MAX = 80;
const METADATA_BYTES_MAX = 16_000;

/** Nothing is wrong. */
const NONE: readonly ProblemDetail[] = [];

/** A body of which nobody has looked at any member yet. */
type Unchecked = { readonly [Member in keyof SendEmailBody]?: unknown };

function fault(pointer: string, message: string): readonly ProblemDetail[] {
  return [{ pointer, message }];
}

function addressFaults(pointer: string, text: unknown): readonly ProblemDetail[] {
  if (typeof text !== "string") return NONE;
  const parsed = parseAddress(text);
  return "invalid" in parsed ? fault(pointer, parsed.invalid) : NONE;
}

/** As {@link addressFaults}, and where the name goes that other services take beside the address. */
function fromFaults(from: unknown): readonly ProblemDetail[] {
  const isNamed = typeof from === "string" && /<[^<>]+>\s*$/.test(from);
  return addressFaults("/from", from).map(({ pointer, message }) => ({
    pointer,
    message: isNamed ? `${message}: the name is the display_name of a sender` : message,
  }));
}

function metadataFaults(metadata: unknown): readonly ProblemDetail[] {
  if (typeof metadata !== "object" || metadata === null) return NONE;
  if (Object.keys(metadata).some((key) => codePoints(key) > METADATA_KEY_CHARACTERS_MAX)) {
    return fault("/metadata", `has a key of more than ${METADATA_KEY_CHARACTERS_MAX} characters`);
  }
  const isWithin = Buffer.byteLength(JSON.stringify(metadata)) <= METADATA_BYTES_MAX;
  return isWithin ? NONE : fault("/metadata", `is over ${grouped(METADATA_BYTES_MAX)} bytes when encoded`);
}

/** The bound of `variables` in a send, and in a preview of one. */
export function variablesFaults(variables: unknown): readonly ProblemDetail[] {
  if (variables === undefined) return NONE;
  if (codePoints(JSON.stringify(variables)) <= VARIABLES_CHARACTERS_MAX) return NONE;
  return fault("/variables", `is over ${grouped(VARIABLES_CHARACTERS_MAX)} characters when encoded`);
}

function subjectFaults({ subject, template_id: templateId }: Unchecked): readonly ProblemDetail[] {
  if (typeof subject === "string" && !isHeaderSafe(subject)) {
    return fault("/subject", "must not contain a line break or NUL");
  }
  const isMissing = subject === undefined && templateId === undefined;
  return isMissing ? fault("/subject", "is required without template_id") : NONE;
}

/** Without a template the content must be there; with one it is checked by the schema and not used. */
function contentFaults(body: Unchecked): readonly ProblemDetail[] {
  const isOwn = body.template_id === undefined;
  const faults: ProblemDetail[] = [...subjectFaults(body)];
  if (isOwn && body.template_version_id !== undefined) {
    faults.push({ pointer: "/template_version_id", message: "needs template_id beside it" });
  }
  if (isOwn && !body.html && !body.text) {
    faults.push({ pointer: "/html", message: "is required without template_id, unless text is given" });
  }
  return faults;
}

/** What the schema cannot say of a send: addresses, rules that span members, and sizes in the units of the contract. */
export function sendFaults(value: unknown): readonly ProblemDetail[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return NONE;
  const body = value as Unchecked;
  return [
    ...fromFaults(body.from),
    ...addressFaults("/to", body.to),
    ...addressFaults("/reply_to", body.reply_to),
    ...memberFaults(body),
  ];
}

/** All but the addresses, which a sound request has parsed already. */
function memberFaults(body: Unchecked): readonly ProblemDetail[] {
  return [...contentFaults(body), ...variablesFaults(body.variables), ...metadataFaults(body.metadata)];
}

/** The rules that span fields, in the units of the contract; what is left is ready for the command. */
export function sendRequest(
  body: SendEmailBody,
): Omit<SendEmail, "workspaceId" | "idempotencyKey" | "context"> {
  const from = parseAddress(body.from);
  const to = parseAddress(body.to);
  const replyTo = body.reply_to === undefined ? null : parseAddress(body.reply_to);
  const isAddressed = !("invalid" in from || "invalid" in to || (replyTo !== null && "invalid" in replyTo));
  if (!isAddressed || memberFaults(body).length > 0) throw refusedFor("INVALID_REQUEST", sendFaults(body));
  const content = {
    from: from.sent,
    to: to.sent,
    subject: body.subject ?? "",
    ...(replyTo ? { replyTo: replyTo.sent } : {}),
    ...(body.html ? { html: body.html } : {}),
    ...(body.text ? { text: body.text } : {}),
    ...(body.variables ? { variables: body.variables } : {}),
    ...(body.metadata ? { metadata: body.metadata } : {}),
  };
  return {
    request: comparable(body),
    from,
    to,
    content,
    template:
      body.template_id === undefined
        ? null
        : {
            id: body.template_id.toLowerCase(),
            versionId: body.template_version_id?.toLowerCase() ?? null,
          },
    attachments: (body.attachments ?? []).map(requestedAttachment),
  };
}

type Attachment = NonNullable<SendEmailBody["attachments"]>[number];

function requestedAttachment(attachment: Attachment): RequestedAttachment {
  if (typeof attachment === "string") return { kind: "upload", id: attachment.toLowerCase() };
  const { filename, content_type: contentType, content } = attachment;
  return { kind: "direct", filename, contentType, content };
}

/** What a retry is compared by: the request as it was sent, with direct files by the digests of their text. */
function comparable({ attachments = [], ...body }: SendEmailBody): JsonObject {
  // No attachments is the same content whether it is said or left out.
  if (attachments.length === 0) return body as unknown as JsonObject;
  const digested = attachments.map((attachment) =>
    typeof attachment === "string"
      ? attachment
      : { ...attachment, content: new Bun.CryptoHasher("sha256").update(attachment.content).digest("hex") },
  );
  return { ...body, attachments: digested } as unknown as JsonObject;
}
