// Makes a package for Debian and Ubuntu of `build/rowlock`, with completion for bash, zsh and fish, and a service of
// systemd: it needs no Node. Prints the path of the package.

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const folder = join(root, "build");
const tree = join(folder, "deb");
/** What Debian calls the processors for which Node has builds. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
const COMPLETIONS = {
  bash: "bash-completion/completions/rowlock",
  zsh: "zsh/vendor-completions/_rowlock",
  fish: "fish/vendor_completions.d/rowlock.fish",
};

const { version, description } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  version: string;
  description: string;
};
const architecture = ARCHITECTURES[process.arch];
if (process.platform !== "linux" || architecture === undefined)
  throw new Error(`There is no such package for ${process.platform} ${process.arch}.`);

/** Makes the folders above a file of the package, and returns its path. */
function place(path: string): string {
  const file = join(tree, path);
  mkdirSync(join(file, ".."), { recursive: true });
  return file;
}

/** The script that starts a program as bin/rowlock.mjs starts Node: it keeps what Node would lose. */
function command(path: string): string {
  const lines = readFileSync(join(root, "bin/rowlock.mjs"), "utf8");
  const [, kept] = /^(# All its own variables.*^unset \w+\n)/ms.exec(lines) ?? [];
  if (kept === undefined) throw new Error("bin/rowlock.mjs does not have the lines that are needed here.");
  return `#!/bin/sh\n${kept}exec ${path} "$@"\n`;
}

// What the package says of its files must not depend on who builds it.
process.umask(0o022);
rmSync(tree, { recursive: true, force: true });
const program = place("usr/lib/rowlock/rowlock");
cpSync(join(folder, "rowlock"), program);
writeFileSync(place("usr/bin/rowlock"), command("/usr/lib/rowlock/rowlock"), { mode: 0o755 });
for (const [shell, path] of Object.entries(COMPLETIONS))
  writeFileSync(place(`usr/share/${path}`), execFileSync(program, ["completion", shell]));
cpSync(join(root, "deploy/systemd/rowlock.service"), place("usr/lib/systemd/system/rowlock.service"));
const settings = "etc/rowlock/rowlock.env";
cpSync(join(root, "deploy/systemd/rowlock.env"), place(settings));
mkdirSync(join(tree, "etc/rowlock/secrets"), { mode: 0o700 });
cpSync(join(root, "LICENSE"), place("usr/share/doc/rowlock/copyright"));
cpSync(join(root, "CHANGELOG.md"), place("usr/share/doc/rowlock/changelog"));
for (const script of readdirSync(join(root, "deploy/debian"))) {
  const file = place(`DEBIAN/${script}`);
  cpSync(join(root, "deploy/debian", script), file);
  chmodSync(file, 0o755);
}
// An upgrade keeps what was written into it.
writeFileSync(place("DEBIAN/conffiles"), `/${settings}\n`);
writeFileSync(
  place("DEBIAN/control"),
  [
    "Package: rowlock",
    `Version: ${version}`,
    `Architecture: ${architecture}`,
    "Maintainer: The authors of Rowlock",
    "Section: net",
    "Priority: optional",
    // The libraries of the distribution that Node is linked with, and useradd.
    "Depends: libc6 (>= 2.28), libstdc++6, libgcc-s1, libatomic1, passwd",
    `Description: ${description.replace(/\.$/, "")}`,
    " The server, which `systemctl enable --now rowlock` starts, and the commands that call it. It needs no Node.",
    "",
  ].join("\n"),
);
const file = join(folder, `rowlock_${version}_${architecture}.deb`);
// The machine program compresses to a third in seconds; the best compression takes a minute for a tenth more.
execFileSync("dpkg-deb", ["--root-owner-group", "-Zgzip", "-z5", "--build", tree, file], {
  stdio: ["ignore", "ignore", "inherit"],
});
console.log(file);
