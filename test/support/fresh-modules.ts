// Files of tests share processes, because to start one and to load the packages takes longer than most files. Each file
// loads our own modules anew, so that it may replace them, and finds in them nothing of the files before it.
import { vi } from "vitest";

vi.resetModules();
