import type { House } from "../house/house.ts";
import type { Fault } from "./fault.ts";
import { LINE_FAULTS } from "./lines.ts";
import { PROCESS_FAULTS } from "./processes.ts";
import { ROW_FAULTS } from "./rows.ts";

const ALL: readonly Fault[] = [...PROCESS_FAULTS, ...LINE_FAULTS, ...ROW_FAULTS];

/** Those that can strike this house. */
export function faultsIn({ database }: House): readonly Fault[] {
  return ALL.filter(({ needs }) => needs === "nothing" || database.daemon !== null);
}
