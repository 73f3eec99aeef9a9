import type { VerificationRequester } from "../../commands/sender/verificationRequester.ts";
import type { LinkStatus } from "../../domain/sender/verificationLink.ts";

const STYLE =
  "body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem;color:#222}" +
  "button{font:inherit;padding:.5rem 1.25rem}";
const STYLE_HASH = new Bun.CryptoHasher("sha256").update(STYLE).digest("base64");

/** Allows no script and no outgoing request. The link is a secret: it must not get into a cache or a Referer. */
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; base-uri 'none'; ` +
    "frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "x-robots-tag": "noindex",
};

const FORM = '<form method="post"><button type="submit">Confirm this address</button></form>';

const PAGES = {
  open: {
    status: 200,
    title: "Confirm your sending address",
    text: "Somebody has asked to send email from the address that this link was mailed to. If that was not you, or you were shown another code than this one where you asked, close this page.",
  },
  verified: {
    status: 200,
    title: "The address is confirmed",
    text: "Email can now be sent from it. You can close this page.",
  },
  used: { status: 410, title: "This link was used", text: "The address is confirmed already." },
  expired: {
    status: 410,
    title: "This link has expired",
    text: "Ask for a new one where you added the address.",
  },
  unknown: {
    status: 404,
    title: "This link does not work",
    text: "It may have been cut. Copy it whole from the email that brought it.",
  },
} as const;

function requesterHtml({ workspaceName, workspaceId, code }: VerificationRequester): string {
  const name = workspaceName === "" ? "" : `<dt>Workspace</dt><dd>${Bun.escapeHTML(workspaceName)}</dd>`;
  return `<dl>${name}<dt>Workspace id</dt><dd>${Bun.escapeHTML(workspaceId)}</dd><dt>Code</dt><dd><strong>${Bun.escapeHTML(code)}</strong></dd></dl>`;
}

/** The page of a verification link. It contains nothing that a caller sent. */
export function verificationLinkPage(
  of: LinkStatus | "verified",
  requestId: string,
  requester: VerificationRequester | null = null,
): Response {
  const { status, title, text } = PAGES[of];
  const asked = requester === null ? "" : requesterHtml(requester);
  const body =
    '<!doctype html><html lang="en"><head><meta charset="utf-8">' +
    '<meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<title>${title}</title><style>${STYLE}</style></head>` +
    `<body><main><h1>${title}</h1><p>${text}</p>${asked}${of === "open" ? FORM : ""}</main></body></html>\n`;
  return new Response(body, { status, headers: { ...HEADERS, "x-request-id": requestId } });
}
