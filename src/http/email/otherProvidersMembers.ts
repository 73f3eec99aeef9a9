import { ONE_RECIPIENT } from "./sendEmailFaults.ts";

/** Members of other services' files that ours do not have. */
export const ATTACHMENT_ADVICE = {
  path: "files are not fetched; give the file's Base64 as content",
  Name: "did you mean filename?",
  inlineContentId: "did you mean content_id?",
  inline_content_id: "did you mean content_id?",
};

/** Members of other services' requests that ours do not have: people who migrate try them first. */
export const SEND_ADVICE = {
  to: ONE_RECIPIENT,
  reply_to: "one address only",
  cc: ONE_RECIPIENT,
  bcc: ONE_RECIPIENT,
  Cc: ONE_RECIPIENT,
  Bcc: ONE_RECIPIENT,
  headers: 'names and values, such as { "X-Order": "4711" }',
  "tags[]": "a tag is a word; names with values go into metadata",
  body: "did you mean text or html?",
  content: "did you mean text or html?",
  message: "did you mean text or html?",
  HtmlBody: "did you mean html?",
  TextBody: "did you mean text?",
  template: "did you mean template_id or template_alias?",
  TemplateAlias: "did you mean template_alias?",
  TemplateModel: "did you mean variables?",
  template_model: "did you mean variables?",
  template_data: "did you mean variables?",
  react: "render it yourself, and give html",
  MessageStream: "a workspace is what comes closest; the API key says which",
  TrackOpens: "opens are not tracked",
  TrackLinks: "clicks are not tracked",
  expires_at: "did you mean deliver_before?",
};
