/** Port 0 of a base URL means the port that the system has chosen. */
export function baseUrlWithPort(baseUrl: URL, port: string): URL {
  const url = new URL(baseUrl);
  if (url.port === "0") url.port = port;
  return url;
}
