import { Type } from "@sinclair/typebox";
import { createCodec } from "../../kernel/event/eventCodec.ts";

const schemas = {
  /** The key was used in the hour that begins at `hour`. */
  ApiKeyUsed: Type.Object({ keyId: Type.String(), hour: Type.String() }),
};

export const apiKeyUseCodec = createCodec(schemas);

/** When a key was used. Not in the key's own stream, so checking what a key may do reads none of it. */
export function apiKeyUseStream(id: string): string {
  return `apikeyuse-${id}`;
}
