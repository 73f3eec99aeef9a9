import type { Checks, healthStatus } from "../health/healthRoutes.ts";
import { HOME_STYLE } from "../reference/pageStyles.ts";
import { escapeHtml, pageHeaders } from "../server/html.ts";
import { routes } from "../server/routes.ts";

export const PAGE_HEADERS = pageHeaders(HOME_STYLE);

interface Home {
  readonly version: string;
  readonly url: string;
  readonly status: ReturnType<typeof healthStatus>;
  readonly checks: Checks;
  readonly links: Readonly<Record<"docs" | "openapi" | "live" | "ready", string>>;
}

const STATES: Readonly<Record<Home["status"], string>> = {
  ok: "All is well.",
  degraded: "It works; something beside it is not well.",
  unavailable: "It cannot do its work now.",
};

/** Names of checks as people say them; a name that is not here is shown as it is. */
const CHECK_NAMES: Readonly<Record<string, string>> = {
  store: "Store",
  read_models: "Read models",
  disk: "Disk",
  relay: "Relay",
  delivery: "Delivery",
  seal: "Log",
};

/** The page at the service's own address. Of a check it tells the outcome alone: the detail may name machines. */
export function homePage({ version, url, status, checks, links }: Home): string {
  const rows = Object.entries(checks).map(
    ([name, { ok }]) =>
      `<dt>${escapeHtml(CHECK_NAMES[name] ?? name)}</dt><dd>${ok ? "well" : "<strong>not well</strong>"}</dd>`,
  );
  const link = (to: string, text: string) => `<li><a href="${escapeHtml(to)}">${text}</a></li>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Postledger</title>
<style>${HOME_STYLE}</style>
</head>
<body>
<main>
<h1>Postledger</h1>
<p class="soft">Version ${escapeHtml(version)}: transactional email and webhooks from an append-only log.</p>
<p class="state ${status}">${STATES[status]}</p>
<dl>${rows.join("")}</dl>
<h2>Read on</h2>
<ul>
${link(links.docs, "Reference of the API")}
${link(links.openapi, "The same as OpenAPI 3.1")}
${link(links.ready, "Health: whether it can do its work")}
${link(links.live, "Health: whether it runs")}
</ul>
<h2>Send a first email</h2>
<p>With an API key and a verified sender. A first run verified <code>hello@example.com</code> and wrote a key to
<code>bootstrap.key</code> in its data directory:</p>
<pre>${escapeHtml(firstCurl(url))}</pre>
</main>
</body>
</html>
`;
}

function firstCurl(url: string): string {
  const command = [
    `curl -i ${url}${routes.sendEmail.path}`,
    '  -H "Authorization: Bearer $POSTLEDGER_API_KEY"',
    "  -H 'Idempotency-Key: hello-0001'",
    "  -H 'Content-Type: application/json'",
    `  -d '{"from":"hello@example.com","to":"you@example.com","subject":"Hello","text":"It works."}'`,
  ].join(" \\\n");
  return `export POSTLEDGER_API_KEY=$(cat data/bootstrap.key)    # or a key of your own\n${command}`;
}
