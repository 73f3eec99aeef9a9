/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";

/** A line drawing beside the word that says what it means. */
export const Icon: FC<{ readonly path: string }> = ({ path }) => (
  <svg
    class="icon"
    viewBox="0 0 24 24"
    width="18"
    height="18"
    fill="none"
    stroke="currentColor"
    stroke-width="1.75"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <path d={path} />
  </svg>
);

/** Postledger's logo: a ledger sheet. */
export const Mark: FC = () => (
  <svg class="mark" viewBox="0 0 24 24" width="26" height="26" aria-hidden="true">
    <rect x="1" y="1" width="22" height="22" rx="6" fill="currentColor" />
    <path d="M7 7.5h10M7 12h10M7 16.5h6" stroke-width="2" stroke-linecap="round" fill="none" />
  </svg>
);
