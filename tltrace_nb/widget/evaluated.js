// The front end is evaluated once in a page, which keeps every module that it has ever evaluated, and cells are run often.
// Whoever has it first, a model or a saved output, hands it to all others under this name.
const EDITION = "$edition";

async function evaluated(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const text = await new Response(stream).text();
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    const module = await import(address);
    module.define(EDITION);
    return module;
  } finally {
    URL.revokeObjectURL(address);
  }
}
