// Finds server binaries on this machine, and on Debian installs MariaDB's from the distribution if there are none.
import { spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["mariadbd", "mysqld"];
/** Where distributions put servers; not on every user's path. */
const SYSTEM_FOLDERS = ["/usr/sbin", "/usr/local/sbin", "/usr/local/mysql/bin", "/opt/homebrew/bin"];
/** The server alone: unlike mariadb-server it starts no service on the machine. */
const DEBIAN_PACKAGES = ["mariadb-server-core", "mariadb-client-core"];

/** The binaries found, each once, however many names lead to it. */
export function localBinaries(): string[] {
  const folders = [...(process.env.PATH ?? "").split(delimiter).filter(Boolean), ...SYSTEM_FOLDERS];
  const paths = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [...new Set(paths.filter((path) => existsSync(path)).map((path) => realpathSync(path)))];
}

/** Installs MariaDB from Debian's packages; returns false, without doing anything, if that is not possible. */
export function installMariadbOnDebian(): boolean {
  if (!existsSync("/etc/debian_version") || process.getuid?.() !== 0) return false;
  console.error(
    `test databases: none found, installing ${DEBIAN_PACKAGES.join(" and ")} from Debian's packages`,
  );
  const apt = (...args: string[]) =>
    spawnSync("apt-get", ["-q", ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      stdio: ["ignore", "ignore", "inherit"],
    }).status === 0;
  return apt("update") && apt("install", "-y", "--no-install-recommends", ...DEBIAN_PACKAGES);
}
