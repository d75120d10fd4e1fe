// All files that settings name and that a server reads again while it runs, for `rowlock doctor`, which checks them
// without a server. A new kind of file has its own module beside this one, and an entry here.

import { keysFile, policyFile, tokensFile } from "./access-config.ts";
import type { FileGroup } from "./reloaded-files.ts";
import type { SettingKey, SettingValues } from "./settings.ts";
import { tlsFiles } from "./tls-files.ts";
import { metricsTokenFile } from "./token-file.ts";

export type CheckedFiles = Omit<FileGroup<unknown>, "onNew">;

/** The settings that name them. */
export const FILE_KEYS = [
  "tlsCert",
  "tlsKey",
  "tlsClientCa",
  "tlsClientCrl",
  "metricsTokenFile",
  "tokensFile",
  "policyFile",
  "jwtKeys",
] as const satisfies readonly SettingKey[];

export function checkedFiles(values: Partial<SettingValues>): CheckedFiles[] {
  const files = [tlsFiles, metricsTokenFile, tokensFile, policyFile, keysFile].map((of) => of(values));
  return files.filter((each) => each !== null);
}
