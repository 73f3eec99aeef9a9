import { emailIdOfMessageId } from "../../domain/email/messageId.ts";

export const EMAIL_OPERAND = { name: "id", help: "id of the message, or its Message-ID" };

/** The id of the message that an operand names by its id or Message-ID. */
export function emailIdOperand(text: string): string {
  return emailIdOfMessageId(text) ?? text.toLowerCase();
}
