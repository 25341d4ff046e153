// The ways in: the anywidget (default export), `mount`, for a page that has the columns itself, and `define`, for the
// elements that a notebook saves; and for a page, that its address is a view.

export { followHash, fromHash } from "./hash";
export { type Data, mount } from "./mount";
export { define } from "./saved";
export { widget as default } from "./widget";
