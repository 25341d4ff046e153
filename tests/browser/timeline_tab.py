"""A tab with the timeline's front end but no notebook: mounted as a page does it, or behind a mock of a model."""

from __future__ import annotations

import base64
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tltrace_nb.widget.wire import Wire, encode

if TYPE_CHECKING:
    from tltrace_nb.data.frames import TraceLike

HOME = "http://timeline.test/"
PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"></head>
<body style="margin: 10px"><div id="home"></div><script type="module">
import widget, { mount } from "./timeline.js";
const bytes = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
window.open_view = async (header, columns, options) => {
  window.view?.close();
  document.getElementById("home").replaceChildren();
  window.told = { views: [], runs: [] };
  window.view = await mount(document.getElementById("home"), { header, columns: bytes(columns) }, {
    ...options, onView: (view) => told.views.push(view), onSelection: (runs) => told.runs.push([...runs]),
  });
  window.view.draw();
};
// A model as anywidget hands it over, which counts who listens.
window.model_of = (state, answer) => ({
  state, listeners: new Map(), saved: 0, sent: [],
  get(key) { return this.state[key]; },
  set(key, value) { this.state[key] = value; },
  save_changes() { this.saved++; },
  send(content) {
    this.sent.push(content);
    if (answer) setTimeout(() => this.tell("msg:custom", answer[0], answer[1]));
  },
  on(event, handler) { this.listeners.set(event, [...(this.listeners.get(event) ?? []), handler]); },
  off(event, handler) {
    this.listeners.set(event, (this.listeners.get(event) ?? []).filter((each) => each !== handler));
  },
  tell(event, ...values) { for (const handler of this.listeners.get(event) ?? []) handler(...values); },
  get count() { return [...this.listeners.values()].reduce((sum, each) => sum + each.length, 0); },
});
Object.assign(window, { widget, bytes });
document.body.dataset.ready = "";
</script></body></html>"""


class Tab:
    """A page of Chromium with the front end loaded, and what is asked of it."""

    def __init__(self, browser: Any, **how: Any) -> None:
        self.page = browser.new_page(**({"viewport": {"width": 1000, "height": 800}, "reduced_motion": "reduce"} | how))
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.route("**/*", self._serve)
        self.page.goto(HOME)
        self.page.wait_for_selector("body[data-ready]", state="attached")

    def _serve(self, route: Any) -> None:
        address = route.request.url
        if address == HOME:
            route.fulfill(body=PAGE, content_type="text/html")
        elif address == HOME + "timeline.js":
            script = files("tltrace_nb").joinpath("widget", "static", "timeline.js").read_text(encoding="utf-8")
            route.fulfill(body=script, content_type="text/javascript")
        else:
            self.foreign.append(address)
            route.abort()

    def open(self, trace: TraceLike, **options: Any) -> Tab:
        """Mount a view of ``trace``, in place of the one before."""
        return self.open_wire(encode(trace), **options)

    def open_wire(self, wire: Wire, **options: Any) -> Tab:
        """Mount a view of what Python sends, in place of the one before."""
        self.do("([h, c, o]) => open_view(h, c, o)", [wire.header, _base64(wire), options])
        return self

    def do(self, script: str, value: Any = None) -> Any:
        return self.page.evaluate(script, value)

    def scene(self, script: str) -> Any:
        """The value of an expression in ``scene``, ``view`` and ``events``, after it the view being drawn."""
        return self.do(
            f"() => {{ const {{ scene }} = view; const {{ events }} = scene; const value = ({script}); view.draw();"
            " return value === undefined ? null : value; }"
        )

    @property
    def stage(self) -> Any:
        return self.page.locator(".tlt-stage")

    @property
    def tip(self) -> Any:
        return self.page.locator(".tlt-tip")

    def at(self, id: int) -> tuple[float, float]:
        """The middle of an event, by its position in the frame, in pixels of the page."""
        x, y = self.do(WHERE, id)
        return x, y

    def hover(self, id: int) -> str:
        """What is said of an event when the pointer is on it."""
        self.page.mouse.move(*self.at(id))
        self.do("() => view.draw()")
        return str(self.tip.inner_text()) if self.tip.is_visible() else ""

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        mouse = self.page.mouse
        mouse.move(*start)
        mouse.down()
        mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        mouse.move(*end)
        mouse.up()

    def press(self, *keys: str) -> None:
        self.stage.focus()
        for key in keys:
            self.page.keyboard.press(key)

    def selected(self) -> list[int]:
        """Positions in the frame of what is selected."""
        found: list[int] = self.scene(
            "scene.selected ? [...scene.selected].map((i) => events.id[i]).sort((a, b) => a - b) : []"
        )
        return found


def _base64(wire: Wire) -> str:
    return base64.b64encode(wire.columns).decode()


def model_state(wire: Wire, packed: bytes = b"", **more: Any) -> str:
    """JavaScript of the state of a model; ``columns`` is a DataView that begins in the middle of its buffer."""
    data = base64.b64encode(b"xyz" + packed).decode()
    state = {"header": wire.header, "view": {}, "height": None, "theme": "auto", "still": "tltrace-still-1"} | more
    return (
        f"({{ ...{json.dumps(state)}, columns: new DataView(bytes('{data}').buffer, 3),"
        " selected: new DataView(new ArrayBuffer(0)) })"
    )


WHERE = """(id) => {
  const { scene } = view;
  const { events, axis } = scene;
  const i = events.positionOf(id);
  const row = events.rowOf(i);
  const lane = events.lanes[events.rowLane[row]];
  const strip = scene.rows.showing(lane);
  const box = document.querySelector(".tlt-stage").getBoundingClientRect();
  const { width, gutter } = view.frame;
  const share = ((axis.startOf(i) + axis.endOf(i)) / 2 - scene.span.from) / (scene.span.to - scene.span.from);
  const y = 26 + scene.rows.pinnedHeight + strip.top - scene.state.scroll;
  const middle = strip.kind === "lane" ? 2 + (row - lane.row + 0.5) * 18 : strip.body / 2;
  return [box.left + gutter + share * (width - gutter), box.top + y + middle];
}"""
