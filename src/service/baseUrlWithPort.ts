/** Replaces port 0 of a base URL with the port that the system chose. */
export function baseUrlWithPort(baseUrl: URL, port: string): URL {
  const url = new URL(baseUrl);
  if (url.port === "0") url.port = port;
  return url;
}
