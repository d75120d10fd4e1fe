// Keys of the whole page: / for the search, ? for what the keys are.

import { useEffect, useRef } from "preact/hooks";

const KEYS = [
  ["/", "search"],
  ["↑ ↓ PageUp PageDown Home End", "move in the list"],
  ["Enter", "open the lock"],
  ["?", "these keys"],
  ["Esc", "close"],
] as const;

/** Whether somebody writes there, so that a key is a letter. */
function isWriting({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.matches("input, select, textarea, [contenteditable]");
}

export function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (isWriting(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "?") {
        if (dialog.current?.open) dialog.current.close();
        else if (!document.querySelector("dialog[open]")) dialog.current?.showModal();
      } else if (event.key === "/" && !document.querySelector("dialog[open]")) {
        document.querySelector<HTMLInputElement>("main input[type=search]")?.focus();
      } else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
  return (
    <dialog ref={dialog} class="keys" aria-label="Keys">
      <h2>Keys</h2>
      <dl class="facts">
        {KEYS.map(([key, what]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
      <form method="dialog" class="buttons">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
