// Makes one file of the built client and its two packages, in place of the client's entry under dist/: a command of the shell
// spends most of its start in finding and loading some 150 modules. `serve` does not use it.

import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "rolldown";

const folder = join(import.meta.dirname, "../dist/clients/typescript/src");
const entry = join(folder, "index.js");

await build({
  input: entry,
  platform: "node",
  // Loaded by grpc-js only for a service that nobody uses here.
  external: ["@grpc/proto-loader"],
  output: { file: entry, format: "esm", sourcemap: true },
  logLevel: "warn",
});
for (const name of readdirSync(folder))
  if (!name.startsWith("index.js")) rmSync(join(folder, name), { recursive: true });
