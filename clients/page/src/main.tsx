// Starts the page.

import { render } from "preact";
import { App } from "./app.tsx";
import { keepLooking } from "./connection.ts";
import { apply } from "./theme.ts";

apply();
keepLooking();
render(<App />, document.getElementById("page") as HTMLElement);
