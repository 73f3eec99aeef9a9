/** @jsxImportSource hono/jsx */

import type { Dependencies } from "../../../commands/dependencies.ts";
import { openAttachments } from "../../../commands/email/content/storedContent.ts";
import { mailMessage } from "../../../commands/email/mailMessage.ts";
import { type EmailView, folderOf, readEmail } from "../../../commands/email/readEmail.ts";
import { templateIn } from "../../../domain/template/state.ts";
import { isUuid } from "../../../kernel/ids.ts";
import { wholeNumber } from "../../../kernel/text/wholeNumber.ts";
import { redactEmail } from "../../email/redactEmail.ts";
import { fileBytesOf } from "../../email/sendAgain.ts";
import { Problem } from "../../server/problem.ts";
import { withRoomFor } from "../../server/requestContext.ts";
import { downloadResponse } from "../components/downloadResponse.ts";
import { sandboxedHtmlResponse } from "../components/sandboxedHtmlResponse.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext } from "../frame/dashboardRoute.ts";
import { recipientSuppression } from "../suppression/recipientSuppression.ts";
import { EmailPage, endsBadly, isShown, PARTS, type Part } from "./emailPage.tsx";
import { FilesPart, HeadersPart, HtmlPart, TextPart } from "./emailTabPanels.tsx";
import { type InlineImage, referredImages, withInlineImages } from "./inlineImages.ts";
import { Timeline } from "./timeline.tsx";
import { timelineOf } from "./timelineEntries.ts";

/** What a page of one message needs. */
type Options = Pick<DashboardOptions, "deps" | "readModel" | "readWaitingReason" | "buildMime">;

const MESSAGES = { path: "/messages", title: "Messages" };

/** One message: its page and its files. */
export function emailRoutes(options: Options): readonly DashboardRoute[] {
  return [
    get("/messages/:id", "email:status", (context) => showMessage(options, context)),
    get("/messages/:id/timeline", "email:status", (context) => showTimeline(options, context)),
    get("/messages/:id/body.html", "email:read", async (context) => {
      const view = await messageOf(options, context);
      if (view.content?.html === undefined) throw new Problem("NOT_FOUND");
      const { html } = view.content;
      const whole = () => htmlWithImages(options, view, html);
      return sandboxedHtmlResponse(await withRoomFor(context.request, fileBytesOf(view), whole));
    }),
    get("/messages/:id/source.eml", "email:read", async (context) => {
      const view = await messageOf(options, context);
      const mime = await mimeOf(options, context, view);
      if (mime === null)
        throw new Problem("NOT_FOUND", { detail: "the content of the message, or a file of it, is gone" });
      return downloadResponse(mime, `${view.id}.eml`, "message/rfc822");
    }),
    get("/messages/:id/files/:index", "email:read", (context) => fileOf(options, context)),
  ];
}

/** The message in the path. Throws if the workspace has none with this id. */
export async function messageOf({ deps }: Pick<Options, "deps">, context: PageContext): Promise<EmailView> {
  const { id = "" } = context.params;
  const read = (isTest: boolean) =>
    isUuid(id) ? readEmail(deps, { workspaceId, isTest }, id.toLowerCase()) : null;
  const { workspaceId, isTest } = context.principal;
  const view = await read(isTest);
  if (view !== null) return view;
  // A webhook call or a colleague's link may lead to mail that this session does not show at the moment.
  const isElsewhere = context.mail !== "testOnly" && (await read(!isTest)) !== null;
  if (!isElsewhere) throw new Problem("NOT_FOUND");
  const other = isTest ? "live" : "test";
  throw new Problem("NOT_FOUND", { detail: `it is ${other} mail: choose “Show ${other} mail” first` });
}

export function aboveMessage({ principal }: PageContext, view: EmailView) {
  const { id, content } = redactEmail(view, principal);
  return [MESSAGES, { path: `/messages/${id}`, title: content?.subject || "Message" }];
}

/** The alias of the template that the message was made from; null if it has none, or is deleted. */
async function templateAliasOf({ templates }: Dependencies, { email }: EmailView): Promise<string | null> {
  const template = email.templateId === null ? null : await templates.get(email.templateId);
  return templateIn(template, email.workspaceId)?.alias ?? null;
}

async function showMessage(options: Options, context: PageContext): Promise<Page> {
  const view = await messageOf(options, context);
  const shown = redactEmail(view, context.principal);
  const waiting = await options.readWaitingReason(view);
  const suppression =
    waiting === null && endsBadly(shown) ? await recipientSuppression(options.deps, context, view) : null;
  const part = PARTS.find((name) => name === context.query.get("show") && isShown(name, shown)) ?? "timeline";
  return {
    title: shown.content?.subject || "Message",
    above: [MESSAGES],
    body: (
      <EmailPage
        context={context}
        view={shown}
        waiting={waiting}
        suppressedSince={suppression?.createdAt ?? null}
        templateAlias={await templateAliasOf(options.deps, view)}
        now={options.deps.clock.now()}
        part={part}
      >
        {await partBody(options, context, view, part)}
      </EmailPage>
    ),
  };
}

/** A part that the message has, and the key may see. */
async function partBody(options: Options, context: PageContext, view: EmailView, part: Part) {
  const at = context.to(`/messages/${view.id}`);
  const shown = redactEmail(view, context.principal);
  switch (part) {
    case "html":
      return <HtmlPart at={at} isPhoneWide={context.query.get("width") === "phone"} />;
    case "text":
      return <TextPart text={shown.content?.text ?? ""} />;
    case "headers":
      return <HeadersPart mime={await mimeOf(options, context, view)} />;
    case "files":
      return <FilesPart at={at} view={shown} />;
    case "timeline":
      return timelinePart(options, context, view);
  }
}

async function timelinePart({ deps, readModel }: Options, context: PageContext, view: EmailView) {
  const deliveries = context.may("webhook:manage") ? readModel("webhook-deliveries") : null;
  const hasKeyNames = context.may("workspace:manage");
  const entries = await timelineOf(deps, redactEmail(view, context.principal), { deliveries, hasKeyNames });
  const at = context.to(`/messages/${view.id}`);
  const shown = wholeNumber(context.query.get("at") ?? "", { min: 1, max: entries.length }) ?? entries.length;
  return <Timeline entries={entries} shown={shown} pageAt={at} partAt={`${at}/timeline`} />;
}

async function showTimeline(options: Options, context: PageContext): Promise<Page> {
  const view = await messageOf(options, context);
  const body = await timelinePart(options, context, view);
  return { title: "Timeline", above: aboveMessage(context, view), body };
}

/** The mail as a relay gets it; null if the content of the message, or a file of it, is gone. */
async function mimeOf({ deps, buildMime }: Options, { request }: PageContext, view: EmailView) {
  const { id, email, content } = view;
  if (content === null) return null;
  return withRoomFor(request, fileBytesOf(view), async () => {
    const files = await openAttachments(deps.content, folderOf(id, email), content.attachments ?? []);
    return files === null ? null : buildMime(mailMessage(id, email, { ...content, files }));
  });
}

async function htmlWithImages({ deps }: Options, view: EmailView, html: string): Promise<string> {
  const wanted = referredImages(html);
  const folder = folderOf(view.id, view.email);
  const images = new Map<string, InlineImage>();
  for (const { contentId, contentType, sha256 } of view.content?.attachments ?? []) {
    if (contentId === undefined || !wanted.includes(contentId)) continue;
    const bytes = await deps.content.get(folder, sha256);
    if (bytes !== null) images.set(contentId, { contentType, bytes });
  }
  return images.size === 0 ? html : withInlineImages(html, images);
}

async function fileOf({ deps }: Options, context: PageContext): Promise<Response> {
  const view = await messageOf({ deps }, context);
  const { index = "" } = context.params;
  const file = /^\d{1,2}$/.test(index) ? view.content?.attachments?.[Number(index)] : undefined;
  const read = ({ sha256 }: { readonly sha256: string }) =>
    deps.content.get(folderOf(view.id, view.email), sha256);
  const bytes = file === undefined ? null : await withRoomFor(context.request, file.bytes, () => read(file));
  if (file === undefined || bytes === null) throw new Problem("NOT_FOUND", { detail: "the file is gone" });
  return downloadResponse(new Uint8Array(bytes), file.filename, file.contentType);
}
