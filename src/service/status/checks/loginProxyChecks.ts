import { isClientIn } from "../../../kernel/network/clientIp.ts";
import type { Config } from "../../config/config.ts";
import { type Check, warning } from "./check.ts";

const LOOPBACK = ["127.0.0.1", "::1"];

/** Whether any program of this machine could log in as any person. Only if there is something to say. */
export function loginProxyChecks({ loginProxy }: Pick<Config, "loginProxy">): readonly Check[] {
  if (loginProxy === null || loginProxy.secret !== null) return [];
  if (!LOOPBACK.some((address) => isClientIn(address, loginProxy.ranges))) return [];
  return [
    warning(
      "login proxy",
      "LOGIN_PROXIES names this machine, so every program on it can log in to the dashboard as anybody",
      "set LOGIN_PROXY_SECRET, and have the proxy send it",
    ),
  ];
}
