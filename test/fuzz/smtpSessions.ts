import { type SmtpClient, smtpClient } from "../support/mail/smtpClient.ts";
import { makeRandom, type Random } from "./random.ts";

interface SmtpSessions {
  readonly port: number;
  readonly sessions: number;
  readonly seed: number;
  /** Sessions under way at once. */
  readonly lanes: number;
}

/** Opens sessions with a port for SMTP, several at once; each gets the same random choices in every run of a seed. */
export async function runSmtpSessions(
  { port, sessions, seed, lanes }: SmtpSessions,
  run: (client: SmtpClient, random: Random) => Promise<void>,
): Promise<void> {
  const lane = async (first: number) => {
    for (let number = first; number < sessions; number += lanes)
      await run(await smtpClient(port), makeRandom(seed * 1_000_003 + number));
  };
  await Promise.all(Array.from({ length: lanes }, (_, first) => lane(first)));
}

/** A command and its reply. What is no reply, or says that the service is at fault, is added to `faults`. */
export async function sayLine(
  client: SmtpClient,
  line: string,
  { ownFault, faults }: { readonly ownFault: string; readonly faults: string[] },
): Promise<string> {
  const reply = await client.command(line);
  const isReply = reply === "" ? client.isClosed() : /^(\d{3}[ -][^\n]*(\n|$))+$/.test(reply);
  if (!isReply) faults.push(`${line.slice(0, 80)} was answered ${JSON.stringify(reply)}`);
  if (reply.startsWith(ownFault)) faults.push(`${line.slice(0, 80)} was answered ${reply}`);
  return reply;
}
