import type { SizedDatabase } from "./sized-database.ts";
export async function farTables(_database: SizedDatabase, _seconds: number): Promise<string> {
  return "";
}
