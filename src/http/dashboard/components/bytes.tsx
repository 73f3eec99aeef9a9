/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { bytesText, grouped } from "../../../kernel/text/readableNumbers.ts";

/** A number of bytes for people, "5 MB", with the exact number on hover. */
export const Bytes: FC<{ readonly bytes: number }> = ({ bytes }) => (
  <span title={`${grouped(bytes)} bytes`}>{bytesText(bytes)}</span>
);
