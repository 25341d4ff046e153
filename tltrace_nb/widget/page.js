// Draws the figure that the page carries and follows the reader's light or dark preference.
"use strict";
const [figure, config] = ["figure", "config"].map((id) => JSON.parse(document.getElementById(id).textContent));
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
Plotly.newPlot("timeline", figure.data, figure.layout, config)
  .then((view) => {
    const repaint = () => Plotly.relayout(view, theme());
    dark.addEventListener("change", repaint);
    return repaint();
  })
  .then((view) => view.setAttribute("data-ready", ""));
