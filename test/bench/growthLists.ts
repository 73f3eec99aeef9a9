import type { TestProcess } from "../support/service.ts";
import { seededRandom } from "./httpLoad.ts";
import { mailBody } from "./mail.ts";
import { percentile } from "./report.ts";

/** Recipients that were sent one message each, after all others. */
const RECIPIENTS = 50;
const REPEATS = 200;

/** One thing that people look up, and the latency of its answers in ms. */
export interface LookUp {
  readonly name: string;
  readonly p50: number;
  readonly p99: number;
}

const recipient = (number: number) => `looked-up-${number}@example.com`;

/** What is asked for, by the number of the request. Whoever sends in turns sends all to one address. */
const LOOK_UPS: Readonly<Record<string, (number: number) => string>> = {
  "by recipient": (number) => `?to=${recipient(number % RECIPIENTS)}`,
  "by recipient of thousands": () => "?to=you@example.com",
  "by recipient that is not there": (number) => `?to=nobody-${number}@example.com`,
  "that bounced": () => "?status=bounced",
  "by sender": () => "?from=hello@example.com",
  newest: () => "",
};

/** Asks for lists of messages one after another, as somebody does who looks for one. */
export async function measureLookUps(service: TestProcess): Promise<readonly LookUp[]> {
  const random = seededRandom(5);
  for (let number = 0; number < RECIPIENTS; number += 1) {
    const { status } = await service.send(`looked-up-${number}`, mailBody(random, recipient(number)));
    if (status !== 202) throw new Error(`a send was answered by ${status}`);
  }
  const measured: LookUp[] = [];
  for (const [name, queryOf] of Object.entries(LOOK_UPS)) {
    const latencies: number[] = [];
    for (let number = 0; number < REPEATS; number += 1) {
      const startedAt = performance.now();
      const { status } = await service.call("GET", `/api/v1/emails${queryOf(number)}`);
      latencies.push(performance.now() - startedAt);
      if (status !== 200) throw new Error(`the list ${name} was answered by ${status}`);
    }
    latencies.sort((left, right) => left - right);
    measured.push({ name, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) });
  }
  return measured;
}
