// Bundles src/ into the one file that the Python package ships, or the tests into build/ (--tests).
// With --stdout the bundle is printed instead: a test compares it with the file that is committed.
import { readdirSync } from "node:fs";
import { build } from "esbuild";

const common = { bundle: true, format: "esm", target: "es2022", charset: "utf8", legalComments: "none" };
const banner =
  "// Built from frontend/src by `npm run bundle`: change that, not this. It is committed so that an install from a\n" +
  "// checkout needs no Node; names are those of the sources, and comments and indentation are left to them.";

if (process.argv.includes("--tests")) {
  const entryPoints = readdirSync("test")
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `test/${name}`);
  await build({ ...common, entryPoints, outdir: "build", platform: "node", outExtension: { ".js": ".mjs" } });
} else {
  const toStdout = process.argv.includes("--stdout");
  const result = await build({
    ...common,
    entryPoints: ["src/index.ts"],
    outfile: "../tltrace_nb/widget/static/timeline.js",
    platform: "browser",
    banner: { js: banner },
    minifyWhitespace: true, // it stands in every page
    lineLimit: 120,
    write: !toStdout,
  });
  if (toStdout) process.stdout.write(result.outputFiles[0].text);
}
