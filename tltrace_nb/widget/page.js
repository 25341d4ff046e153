// Draws the figure that the page carries and follows the reader's light or dark preference.
"use strict";
const figure = JSON.parse(document.getElementById("figure").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
function theme() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  return {
    paper_bgcolor: color("--ground"), plot_bgcolor: color("--ground"), "font.color": color("--ink"),
    "title.font.color": color("--ink"), "xaxis.gridcolor": color("--line"), "xaxis.linecolor": color("--line"),
    "yaxis.linecolor": color("--line"), "yaxis.minor.gridcolor": color("--line"),
    "hoverlabel.bgcolor": color("--ground"), "hoverlabel.font.color": color("--ink"),
    "hoverlabel.bordercolor": color("--soft"),
  };
}
Plotly.newPlot("timeline", figure.data, figure.layout, { displaylogo: false, responsive: true })
  .then((view) => {
    const repaint = () => Plotly.relayout(view, theme());
    dark.addEventListener("change", repaint);
    return repaint();
  })
  .then((view) => view.setAttribute("data-ready", ""));
