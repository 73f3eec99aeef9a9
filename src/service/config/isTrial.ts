import { isLoopback, isLoopbackUrl } from "../../kernel/network/isLoopback.ts";
import type { Config } from "./config.ts";

/**
 * Whether the service is a trial on this machine: it takes requests and mail from nowhere else, and its links lead
 * nowhere else. Only then may a setting have a default that would be dangerous for anybody else.
 */
export function isTrial({
  host,
  baseUrl,
  submission,
  inbound,
}: Pick<Config, "host" | "baseUrl" | "submission" | "inbound">): boolean {
  const hosts = [host, submission?.host ?? host, inbound?.host ?? host];
  return hosts.every(isLoopback) && isLoopbackUrl(baseUrl);
}
