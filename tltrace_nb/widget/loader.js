// What the model of every timeline brings along. The front end itself comes with the first, as gzip in its trait `script`,
// and is evaluated once in a page: a page keeps every module that it has ever evaluated, and cells are run often.
const EDITION = "tltrace-timeline-$edition";

async function load(model) {
  const stream = new Blob([model.get("script")]).stream().pipeThrough(new DecompressionStream("gzip"));
  const text = await new Response(stream).text();
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return await import(address);
  } finally {
    URL.revokeObjectURL(address);
  }
}

export default {
  async render(context) {
    globalThis[EDITION] ??= load(context.model);
    try {
      const { default: widget } = await globalThis[EDITION];
      return await widget.render(context);
    } catch (error) {
      delete globalThis[EDITION];
      context.el.append("The timeline cannot be shown: " + error.message);
      throw error;
    }
  },
};
