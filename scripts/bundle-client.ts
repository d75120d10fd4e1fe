// Bundles the built client and its two packages into one file, which replaces the client's entry under dist/: a shell
// command spends most of its start on finding and loading some 150 modules. `serve` does not use it.

import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "rolldown";

const folder = join(import.meta.dirname, "../dist/clients/typescript/src");
const entry = join(folder, "index.js");

await build({
  input: entry,
  platform: "node",
  // grpc-js loads this only for a service that nobody uses here.
  external: ["@grpc/proto-loader"],
  output: { file: entry, format: "esm", sourcemap: true },
  logLevel: "warn",
});
for (const name of readdirSync(folder))
  if (!name.startsWith("index.js")) rmSync(join(folder, name), { recursive: true });
