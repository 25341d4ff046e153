// Unpacks what the page carries, draws it in the place of the still picture, and follows the reader's light or dark
// preference. Where something of it fails, the still picture stays and the reason is written under it.
"use strict";
async function unpack(name) {
  const bytes = Uint8Array.from(atob(document.getElementById(name).textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
const dark = matchMedia("(prefers-color-scheme: dark)");
function theme() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  return {
    paper_bgcolor: color("--ground"), plot_bgcolor: color("--ground"), "font.color": color("--ink"),
    "title.font.color": color("--ink"), "xaxis.gridcolor": color("--line"), "xaxis.linecolor": color("--line"),
    "xaxis.tickcolor": color("--soft"), "yaxis.linecolor": color("--line"), "yaxis.minor.gridcolor": color("--line"),
    "hoverlabel.bgcolor": color("--ground"), "hoverlabel.font.color": color("--ink"),
    "hoverlabel.bordercolor": color("--soft"),
  };
}
async function draw() {
  const engine = document.createElement("script");
  engine.textContent = await unpack("plotly");
  document.head.append(engine);
  const [figure, config] = await Promise.all(["figure", "config"].map(async (name) => JSON.parse(await unpack(name))));
  const place = document.getElementById("timeline");
  place.replaceChildren();
  const view = await Plotly.newPlot(place, figure.data, figure.layout, config);
  const repaint = () => Plotly.relayout(view, theme());
  dark.addEventListener("change", repaint);
  await repaint();
  view.setAttribute("data-ready", "");
}
draw().catch((error) => {
  const note = document.createElement("p");
  note.className = "note";
  note.textContent = `This is a still picture: the interactive one could not be drawn (${error}).`;
  document.getElementById("timeline").after(note);
});
