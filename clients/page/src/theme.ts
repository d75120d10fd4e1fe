// Light or dark: as the system has it, or as somebody has chosen for this browser.

import { Store } from "./store.ts";

export type Theme = "auto" | "light" | "dark";
const THEMES: readonly Theme[] = ["auto", "light", "dark"];
const KEY = "rowlock-theme";

export const theme = new Store<Theme>(THEMES.find((each) => each === localStorage.getItem(KEY)) ?? "auto");
/** Rises with each change of the colours, also by the system. */
export const colours = new Store(0);

export function nextTheme(): void {
  theme.set(THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] as Theme);
  localStorage.setItem(KEY, theme.value);
  apply();
}

export function apply(): void {
  document.documentElement.dataset.theme = theme.value;
  colours.set(colours.value + 1);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => colours.set(colours.value + 1));
