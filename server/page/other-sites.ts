// Refuses what another web site may have sent by the browser of somebody who can reach this server. Browsers send own
// headers to another site only if that site allows it, and this server never does.

import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/** The page's script sends it with each request. */
const OWN_HEADER = "x-rowlock-page";
/** What browsers say of requests by the page itself; older browsers and other programs say nothing. */
const OWN_SITES: readonly unknown[] = [undefined, "same-origin", "none"];

/**
 * Why the request is refused; null: it is not. `asksWhoCalls`: a request needs a token, which another site does not
 * have. Without that, its host must be an address or localhost: whoever owns a name may lead it here while somebody
 * looks at their site.
 */
export function refusalOf(
  { headers }: Pick<IncomingMessage, "headers">,
  asksWhoCalls: boolean,
): string | null {
  const { host = "", origin } = headers;
  if (headers[OWN_HEADER] !== "1") return `Send the header ${OWN_HEADER}: 1, as the page does.`;
  if (!OWN_SITES.includes(headers["sec-fetch-site"])) return "Another web site has sent this request.";
  if (origin !== undefined && !isOriginOf(host, origin))
    return `The request comes from ${origin}, and this is ${host}: a proxy in between must keep the header host.`;
  if (!asksWhoCalls && !isPlainHost(host))
    return (
      `This server asks nobody who calls, so it answers the page only at an IP address or localhost, not at "${host}": ` +
      "use one of these, or set ROWLOCK_TOKENS_FILE."
    );
  return null;
}

/** By the host alone: a proxy may speak TLS with the browser and not with this server. */
function isOriginOf(host: string, origin: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === hostOf(host)?.host;
}

function isPlainHost(host: string): boolean {
  const name = hostOf(host)?.hostname ?? "";
  return name === "localhost" || isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
}

function hostOf(host: string): URL | null {
  const url = `http://${host}/`;
  return URL.canParse(url) ? new URL(url) : null;
}
