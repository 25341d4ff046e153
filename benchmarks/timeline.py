"""How fast the timeline draws: first paint, frames of panning and zooming, hover, bytes per event.

    python benchmarks/timeline.py [--events 10000 1000000 10000000] [--lanes 2000]

Makes a trace of ranges, nested ranges and instants, opens it in headless Chromium, and pans and zooms a scripted way at
every scale, with a frame of the browser's own between steps. A frame's time is from the start of its animation callback
to the first task after it: what the main thread spends on script, style, layout and painting. Nothing is rounded up in
the view's favour: frames that build a level of detail count.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import shutil
import threading
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

from tltrace_nb.widget.frames import frames
from tltrace_nb.widget.wire import Wire, encode

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
PAGE = """<!DOCTYPE html><meta charset="utf-8"><div id="t"></div><script type="module">
import { mount } from "./timeline.js";
const header = await (await fetch("header")).text();
const columns = await (await fetch("columns")).arrayBuffer();
const began = performance.now();
const view = await mount(document.getElementById("t"), { header, columns });
view.draw();
const task = () => new Promise((done) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = done;
  port2.postMessage(0);
});
const frame = (step) => new Promise((done) => requestAnimationFrame(async () => {
  const began = performance.now();
  step();
  view.draw();
  await task();
  done(performance.now() - began);
}));
await frame(() => {});
window.first = performance.now() - began;
window.memory = () => (view.scene.events.bytes + view.scene.levels.bytes + view.scene.paint.marks.byteLength);
window.walk = async () => {
  const { scene } = view;
  const times = { pan: [], zoom: [], scroll: [], hover: [] };
  const looked = [];
  for (let width = 1; width > 1e-5; width /= 1.35) {
    const all = scene.axis.all;
    const size = (all.to - all.from) * width;
    const from = all.from + (all.to - all.from - size) * 0.37;
    times.zoom.push(await frame(() => scene.look({ from, to: from + size })));
    for (let n = 0; n < 6; n++) times.pan.push(await frame(() => scene.pan(0.07)));
    times.scroll.push(await frame(() => scene.scrollTo((scene.state.scroll + 1237) % scene.rows.height)));
    const lanes = document.querySelector(".tlt-stage");
    const stage = lanes.getBoundingClientRect();
    for (let n = 0; n < 4; n++) {
      const at = { clientX: stage.left + 300 + 130 * n, clientY: stage.top + 80 + 60 * n, bubbles: true };
      times.hover.push(await frame(() => lanes.dispatchEvent(new PointerEvent("pointermove", at))));
    }
    looked.push(view.spent.looked);
  }
  return { ...times, looked };
};
</script>"""


def synthetic(events: int, lanes: int) -> pd.DataFrame:
    """Per lane a loop of ranges, one in eight nested in the one before, one in sixteen an instant; two lanes a CTA."""
    rng = np.random.default_rng(7)
    per = events // lanes
    length = rng.integers(20, 2000, (lanes, per))
    gap = rng.integers(0, 400, (lanes, per))
    start = np.cumsum(length + gap, axis=1) - length
    nested = np.zeros(per, bool)
    nested[5::8] = True
    start[:, nested] = start[:, np.roll(nested, -1)] + 3
    length[:, nested] = np.maximum(length[:, np.roll(nested, -1)] - 6, 1) // 2
    instant = np.zeros(per, bool)
    instant[11::16] = True
    length[:, instant] = 0
    lane = np.repeat(np.arange(lanes), per)
    name = rng.integers(0, 12, lanes * per)
    cta = lane // 2
    rate = 0.55 + 0.01 * (cta % 5)
    begin = start.ravel()
    duration = length.ravel()
    names = pd.Index([f"stage {n}" for n in range(12)], dtype="str")
    fixed = pd.CategoricalDtype
    return pd.DataFrame(
        {
            "kind": pd.Categorical.from_codes(np.tile(instant, lanes).astype(int), dtype=fixed(["range", "instant"])),
            "name": pd.Categorical.from_codes(name, dtype=fixed(names)),
            "group": pd.Categorical.from_codes(np.zeros(len(name), int), dtype=fixed(["default"])),
            "role": pd.Categorical.from_codes(lane % 2, dtype=fixed(["producer", "consumer"])),
            "lane": pd.Categorical.from_codes(np.zeros(len(name), int), dtype=fixed(["main"])),
            "source": pd.Categorical.from_codes(name, dtype=fixed([f"kernel.py:{n}" for n in range(12)])),
            "cta": cta.astype(np.int32),
            "thread": (lane % 2 * 128).astype(np.int32),
            "sm": (cta % 132).astype(np.int32),
            "start": begin,
            "end": begin + duration,
            "start_ns": begin * rate + cta // 132 * 1000.0,
            "duration_ns": duration * rate,
            "payload": pd.array(np.tile(np.arange(per), lanes), dtype="Int64"),
        }
    )


class _Server(BaseHTTPRequestHandler):
    def __init__(self, wire: Wire, *rest: Any) -> None:
        self.wire = wire
        super().__init__(*rest)

    def do_GET(self) -> None:
        script = files("tltrace_nb").joinpath("widget", "static", "timeline.js").read_bytes()
        bodies = {
            "/": ("text/html", PAGE.encode()),
            "/timeline.js": ("text/javascript", script),
            "/header": ("application/json", self.wire.header.encode()),
            "/columns": ("application/octet-stream", self.wire.columns),
        }
        kind, body = bodies.get(self.path, ("text/plain", b""))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def measure(browser: Any, events: int, lanes: int) -> dict[str, Any]:
    """Everything about one size."""
    source = frames(synthetic(events, lanes))
    began = time.perf_counter()
    wire = encode(source)
    encoding = time.perf_counter() - began
    exported = len(base64.b64encode(gzip.compress(wire.columns, 9))) + len(wire.header)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Server, wire))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    try:
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.wait_for_function("window.first !== undefined", timeout=180_000)
        page.wait_for_timeout(2500)  # the overview is counted in the background
        times = page.evaluate("walk()")
        count = events // lanes * lanes
        result: dict[str, Any] = {
            "events": count,
            "lanes": lanes,
            "encode_s": round(encoding, 3),
            "sent_bytes_per_event": round(len(wire.columns) / count, 2),
            "page_bytes_per_event": round(exported / count, 2),
            "first_paint_s": round(page.evaluate("first") / 1000, 3),
            "browser_bytes_per_event": round(page.evaluate("memory()") / count, 1),
            "most_looked_at": max(times["looked"]),
        }
        for kind in ("pan", "zoom", "scroll", "hover"):
            for share in (50, 95, 100):
                result[f"{kind}_p{share}_ms"] = round(float(np.percentile(times[kind], share)), 2)
        frames_ms = times["pan"] + times["zoom"]
        result["frames_p50_ms"], result["frames_p95_ms"] = (
            round(float(np.percentile(frames_ms, p)), 2) for p in (50, 95)
        )
        return result
    finally:
        page.close()
        server.shutdown()
        server.server_close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, nargs="+", default=[10_000, 1_000_000, 10_000_000])
    parser.add_argument("--lanes", type=int, default=2000)
    arguments = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for events in arguments.events:
            print(json.dumps(measure(browser, events, arguments.lanes), indent=1), flush=True)
        browser.close()


if __name__ == "__main__":
    main()
