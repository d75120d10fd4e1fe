// The files of the page: read once, and the same for everybody. They contain no data, so they are open to all who reach the
// port. The browser lets nothing else run, load or frame them. `npm run generate` makes them in a checkout, beside the server;
// a build has a copy, and the executable has them in this place.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";

/** Contents by name, such as `index.html`. */
export type Files = ReadonlyMap<string, Buffer>;

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS = [
  // Asked for anew each time, so that a page never mixes the files of two versions.
  ["cache-control", "no-cache"],
  ["vary", "accept-encoding"],
  ["content-security-policy", POLICY],
  ["x-content-type-options", "nosniff"],
  ["referrer-policy", "no-referrer"],
  ["cross-origin-opener-policy", "same-origin"],
  ["cross-origin-resource-policy", "same-origin"],
] as const;

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".txt": "text/plain; charset=utf-8",
};

type Asset = ReturnType<typeof assetOf>;

function assetOf(name: string, content: Buffer) {
  const hash = createHash("sha256").update(content).digest("base64url").slice(0, 22);
  const type = TYPES[extname(name)] ?? "application/octet-stream";
  // Less than half of the content, which a phone notices.
  return { content, compressed: gzipSync(content), type, etag: `"${hash}"` };
}

export class Assets {
  readonly #byPath: ReadonlyMap<string, Asset>;

  constructor(files: Files) {
    const paths = [...files].map(([name, content]): [string, Asset] => [
      name === "index.html" ? "/" : `/page/${name}`,
      assetOf(name, content),
    ]);
    this.#byPath = new Map(paths);
  }

  has(path: string): boolean {
    return this.#byPath.has(path);
  }

  send(path: string, { method, headers }: IncomingMessage, response: ServerResponse): void {
    const { content, compressed, type, etag } = this.#byPath.get(path) as Asset;
    response.setHeader("etag", etag);
    for (const [header, value] of HEADERS) response.setHeader(header, value);
    if (headers["if-none-match"] === etag) {
      response.writeHead(304).end();
      return;
    }
    const isCompressed = /\bgzip\b/.test(String(headers["accept-encoding"]));
    const body = isCompressed ? compressed : content;
    if (isCompressed) response.setHeader("content-encoding", "gzip");
    response.writeHead(200, { "content-type": type, "content-length": body.length });
    response.end(method === "HEAD" ? undefined : body);
  }
}

/** Throws if there are none. */
export function pageFiles(): Files {
  const folder = join(import.meta.dirname, "../../clients/page/dist");
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
}
