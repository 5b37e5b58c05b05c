// One script without imports, readable, so that a change of it can be read in review. Its first
// line has the digest of its sources: a test of the report crate compares it with the files.
import { readdirSync, readFileSync } from "node:fs";

function digest() {
  let hash = 0xcbf29ce484222325n;
  for (const name of readdirSync("src").sort()) {
    for (const byte of readFileSync(`src/${name}`))
      hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  }
  return hash.toString(16).padStart(16, "0");
}

export default {
  plugins: [
    {
      name: "digest",
      generateBundle(_, bundle) {
        for (const chunk of Object.values(bundle))
          chunk.code = `// Made of ui/src ${digest()} by make ui.\n${chunk.code}`;
      },
    },
  ],
  build: {
    target: "es2020",
    minify: false,
    emptyOutDir: true,
    outDir: "dist",
    lib: { entry: "src/report.ts", formats: ["iife"], name: "steadfast", fileName: () => "report.js" },
  },
};
