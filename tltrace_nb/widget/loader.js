// What the model of every timeline brings along: it finds the front end. In a page that does not have it yet, it is in the
// model's trait `script`, or Python sends it.
$evaluated
async function packed(model) {
  const own = model.get("script");
  if (own.byteLength) return own;
  return new Promise((resolve) => {
    const had = () => done(null);
    const answer = (content, buffers) => content.kind === "script" && done(buffers[0]);
    const done = (script) => {
      model.off("msg:custom", answer);
      removeEventListener(EDITION, had);
      resolve(script);
    };
    model.on("msg:custom", answer);
    addEventListener(EDITION, had);
    model.send({ kind: "script" });
  });
}

export default {
  async render(context) {
    try {
      if (!globalThis[EDITION]) {
        const script = await packed(context.model);
        globalThis[EDITION] ??= evaluated(script);
      }
      const { default: widget } = await globalThis[EDITION];
      return await widget.render(context);
    } catch (error) {
      delete globalThis[EDITION];
      const said = document.createElement("div");
      said.className = "tlt-error";
      said.append("The timeline cannot be shown: " + error.message);
      context.el.append(said);
      throw error;
    }
  },
};
