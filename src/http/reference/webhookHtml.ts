import { escapeHtml, inline } from "../server/html.ts";
import type { DocumentWebhook } from "./openApiTypes.ts";
import { bodies, parameters } from "./operationHtml.ts";
import { type Schemas, sample } from "./schemaFields.ts";

/** One type of event as a section of the reference page. */
export function webhookHtml(type: string, webhook: DocumentWebhook, schemas: Schemas): string {
  const { operationId, summary, requestBody, responses } = webhook;
  const answers = Object.entries(responses).map(
    ([status, { description }]) => `<p><strong>${escapeHtml(status)}</strong> ${inline(description)}</p>`,
  );
  const [{ schema } = { schema: {} }] = Object.values(requestBody.content);
  const example = JSON.stringify(sample(schema, schemas), null, 2);
  return `<section id="${escapeHtml(operationId)}">
<h3><code>${escapeHtml(type)}</code></h3>
<div class="address"><span class="method post">POST</span> <span class="soft">to your endpoint</span></div>
<p>${inline(summary)}.</p>
${parameters(webhook, schemas)}
${bodies(requestBody.content, schemas)}
<details><summary>Your answer</summary>${answers.join("\n")}</details>
<h4>Example</h4><pre>${escapeHtml(example)}</pre>
</section>`;
}
