import { escapeHtml, inline } from "../server/html.ts";
import { bodiesHtml, parametersHtml } from "./fieldsHtml.ts";
import type { OpenApiWebhook } from "./openApiTypes.ts";
import { exampleHtml } from "./operationHtml.ts";
import { type Schemas, sample } from "./schemaFields.ts";

/** One type of event as a section of the reference page. */
export function webhookHtml(type: string, webhook: OpenApiWebhook, schemas: Schemas): string {
  const { operationId, summary, requestBody, responses } = webhook;
  const answers = Object.entries(responses).map(
    ([status, { description }]) =>
      `<p><span class="status">${escapeHtml(status)}</span> ${inline(description)}</p>`,
  );
  const [{ schema } = { schema: {} }] = Object.values(requestBody.content);
  return `<section id="${escapeHtml(operationId)}" data-search="${escapeHtml(`${type} ${summary}`)}">
<div class="head">
<h3><a href="#${escapeHtml(operationId)}"><code>${escapeHtml(type)}</code></a></h3>
<div class="address"><span class="method post">POST</span> <span>to your endpoint</span></div>
<p>${inline(summary)}.</p>
</div>
<div class="shown">
${exampleHtml("Body", sample(schema, schemas))}
</div>
<div class="told">
${parametersHtml(webhook, schemas)}
${bodiesHtml(requestBody.content, schemas, "answer")}
<h4>Your answer</h4>
${answers.join("\n")}
</div>
</section>`;
}
