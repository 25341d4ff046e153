// The two ways in: the anywidget (default export), and `mount`, for a page that has the columns itself.

export { type Data, mount } from "./mount";
export { widget as default } from "./widget";
