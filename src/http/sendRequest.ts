import type { RequestedAttachment } from "../commands/resolveAttachments.ts";
import type { SendEmail } from "../commands/sendEmail.ts";
import { type Address, parseAddress } from "../kernel/address.ts";
import type { JsonObject } from "../kernel/json.ts";
import { codePoints, isHeaderSafe } from "../kernel/text.ts";
import type { SendEmailBody } from "./emailSchemas.ts";
import { invalid } from "./problem.ts";

const VARIABLES_CHARACTERS_MAX = 100_000;
const METADATA_KEY_CHARACTERS_MAX = 80;
const METADATA_BYTES_MAX = 16_000;

function address(pointer: string, text: string): Address {
  const parsed = parseAddress(text);
  if ("invalid" in parsed) throw invalid(pointer, parsed.invalid);
  return parsed;
}

function checkMetadata(metadata: SendEmailBody["metadata"]): void {
  if (metadata === undefined) return;
  for (const key of Object.keys(metadata)) {
    if (codePoints(key) > METADATA_KEY_CHARACTERS_MAX) {
      throw invalid("/metadata", `has a key of more than ${METADATA_KEY_CHARACTERS_MAX} characters`);
    }
  }
  if (Buffer.byteLength(JSON.stringify(metadata)) > METADATA_BYTES_MAX) {
    throw invalid("/metadata", `is over ${METADATA_BYTES_MAX} bytes when encoded`);
  }
}

/** The bound of `variables` in a send, and in a preview of one. */
export function checkVariables(variables: SendEmailBody["variables"]): void {
  if (variables === undefined) return;
  if (codePoints(JSON.stringify(variables)) > VARIABLES_CHARACTERS_MAX) {
    throw invalid("/variables", `is over ${VARIABLES_CHARACTERS_MAX} characters when encoded`);
  }
}

/** Without a template the content must be there; with one it is checked by the schema and not used. */
function checkContent(body: SendEmailBody): void {
  if (body.template_version_id !== undefined && body.template_id === undefined) {
    throw invalid("/template_version_id", "needs template_id beside it");
  }
  if (body.subject !== undefined && !isHeaderSafe(body.subject)) {
    throw invalid("/subject", "must not contain a line break or NUL");
  }
  if (body.template_id !== undefined) return;
  if (body.subject === undefined) throw invalid("/subject", "is required without template_id");
  if (!body.html && !body.text) throw invalid("/html", "or text is required without template_id");
}

/** The rules that span fields, in the units of the contract; what is left is ready for the command. */
export function sendRequest(
  body: SendEmailBody,
): Omit<SendEmail, "workspaceId" | "idempotencyKey" | "occasion"> {
  const from = address("/from", body.from);
  const to = address("/to", body.to);
  const replyTo = body.reply_to === undefined ? null : address("/reply_to", body.reply_to);
  checkContent(body);
  checkVariables(body.variables);
  checkMetadata(body.metadata);
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
