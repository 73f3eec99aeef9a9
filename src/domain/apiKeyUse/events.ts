import { Type } from "@sinclair/typebox";
import { makeCodec } from "../../kernel/event/codec.ts";

const schemas = {
  /** It was used in the hour that begins at `hour`. */
  ApiKeyUsed: Type.Object({ keyId: Type.String(), hour: Type.String() }),
};

export const apiKeyUseCodec = makeCodec(schemas);

/** When a key was used: beside the key's own stream, so that whoever asks what a key may do reads none of it. */
export function apiKeyUseStream(id: string): string {
  return `apikeyuse-${id}`;
}
