// Prints what the image consists of, as CycloneDX: the packages that npm finds in this folder, Node, and the libraries of
// the distribution, whose records are in the folder of the image's system (deploy/image/system.sh). The same commit on
// the same base image gives the same bytes.
//   node scripts/image-sbom.ts SYSTEM_FOLDER

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";

interface Component {
  readonly "bom-ref": string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
}

interface Sbom {
  serialNumber?: string;
  readonly metadata: { timestamp: string; readonly component: { name: string; type: string } };
  readonly components: Component[];
  readonly dependencies: { readonly ref: string; readonly dependsOn: string[] }[];
}

const [system = ""] = process.argv.slice(2);
const { ID: distribution } = parseEnv(readFileSync(join(system, "etc/os-release"), "utf8"));

function library(file: string): Component {
  const record = readFileSync(join(system, "var/lib/dpkg/status.d", file), "utf8");
  const field = (name: string) => {
    const [, value] = new RegExp(`^${name}: (.+)$`, "m").exec(record) ?? [];
    if (value === undefined) throw new Error(`${file} has no ${name}`);
    return value;
  };
  const [name, version] = [field("Package"), field("Version")];
  const purl = `pkg:deb/${distribution}/${name}@${encodeURIComponent(version)}?arch=${field("Architecture")}`;
  return { "bom-ref": purl, type: "library", name, version, purl };
}

const { node: version } = process.versions;
const purl = `pkg:generic/node@${version}`;
const node: Component = { "bom-ref": purl, type: "platform", name: "node", version, purl };
const libraries = readdirSync(join(system, "var/lib/dpkg/status.d")).map(library);

const npm = execFileSync("npm", ["sbom", "--sbom-format=cyclonedx"], {
  encoding: "utf8",
  maxBuffer: 2 ** 26,
});
const sbom = JSON.parse(npm) as Sbom;
// npm says here when it ran and in which folder, and draws a number.
delete sbom.serialNumber;
sbom.metadata.timestamp = new Date(Number(process.env.SOURCE_DATE_EPOCH ?? 0) * 1_000).toISOString();
Object.assign(sbom.metadata.component, { name: "rowlock", type: "application" });
sbom.components.push(node, ...libraries);
// npm lists packages in the order in which it has read their folders.
const inOrder = (a: string, b: string) => (a < b ? -1 : 1);
sbom.components.sort((a, b) => inOrder(a["bom-ref"], b["bom-ref"]));
for (const { dependsOn } of sbom.dependencies) dependsOn.sort();
sbom.dependencies.sort((a, b) => inOrder(a.ref, b.ref));
console.log(JSON.stringify(sbom, null, 2));
